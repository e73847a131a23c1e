// Which model server calls go to, which others there are, and the way to change it.

import { act, read } from './actions.js'
import { byId, h, panel, setText, show, showMark } from './dom.js'
import { reaches, upstreamTexts } from './texts.js'

export class Upstreams {
	#app
	#changed
	#known = null // the last answer
	#shown = ''
	#asking = false
	#current = ''

	constructor(page, app, changed) {
		this.#app = app
		this.#changed = changed
		page.append(panel('upstreams', upstreamTexts.title,
			[h('button.wide#upstreams-look', { onclick: () => this.#do('look-again', {}) }, upstreamTexts.look)],
			h('ul.choices#upstreams-list'),
			h('p.muted.foot#upstreams-why', { hidden: true }),
			h('p.foot#upstreams-error', { role: 'alert', hidden: true })))
	}

	// refresh asks once; detection itself runs only when somebody wishes it.
	async refresh() {
		if (this.#asking) return
		this.#asking = true
		try {
			this.#known = await read('/console/upstreams')
		} catch {
			// that nobody answers is said above
		}
		this.#asking = false
		this.#show()
	}

	status({ upstream }) {
		const now = `${upstream.baseURL} ${upstream.reach}`
		if (now === this.#current) return
		const first = this.#current === ''
		this.#current = now
		if (first) this.#show()
		else this.refresh().then(() => this.#changed())
	}

	async #do(action, body) {
		show('upstreams-error', false)
		byId('upstreams-look').disabled = true
		try {
			await act(action, body)
		} catch (refusal) {
			setText('upstreams-error', refusal.text)
			show('upstreams-error', true)
		}
		byId('upstreams-look').disabled = false
		await this.refresh()
		this.#changed()
	}

	#show() {
		const { upstream } = this.#app.status ?? {}
		if (!upstream) return
		const entries = entriesOf(this.#known ?? {}, upstream)
		setText('upstreams-why', this.#known?.why ? upstreamTexts.why(upstream.name, this.#known.why) : '')
		show('upstreams-why', this.#known?.why)
		const shown = JSON.stringify(entries)
		if (shown === this.#shown) return
		this.#shown = shown
		const focused = document.activeElement?.dataset?.use
		byId('upstreams-list').replaceChildren(...entries.map((entry) => this.#row(entry)))
		if (focused) byId('upstreams-list').querySelector(`[data-use="${CSS.escape(focused)}"]`)?.focus()
	}

	#row({ name, about, reach, use, active }) {
		const button = h('button', { label: upstreamTexts.useOne(name), 'data-use': use, onclick: () => this.#do('use-upstream', { upstream: use }) }, upstreamTexts.use)
		const state = active ? showMark(upstreamTexts.inUse) : button
		const known = h('span.reach')
		if (reach) known.append(showMark(reaches[reach] ?? reaches.unknown))
		const row = h('li', h('span.who', h('span.name', name), h('span.muted.clip', { title: about }, about)), known, h('span.do', state))
		if (active) row.setAttribute('aria-current', 'true')
		return row
	}
}

// entriesOf joins what was found with what has a name: one server is one line, and the built-in model is always there.
function entriesOf({ found = [], named = [], active = '' }, upstream) {
	const byURL = new Map()
	const same = (url) => (url ?? '').replace(/\/+$/, '').replace('127.0.0.1', 'localhost')
	for (const one of found ?? []) {
		byURL.set(same(one.baseURL), { name: one.name, about: [one.baseURL, one.version].filter(Boolean).join(' · '), reach: one.reach, use: one.baseURL })
	}
	for (const one of named ?? []) {
		const server = byURL.get(same(one.baseURL))
		const about = [one.baseURL, one.model, one.hasKey && upstreamTexts.key, server?.name].filter(Boolean).join(' · ')
		byURL.set(same(one.baseURL), { name: one.name, about, reach: server?.reach, use: one.name, active: one.active })
	}
	if (!upstream.demo && upstream.baseURL && !byURL.has(same(upstream.baseURL))) {
		byURL.set(same(upstream.baseURL), { name: upstream.name, about: upstream.baseURL, use: upstream.baseURL })
	}
	const current = byURL.get(same(upstream.baseURL))
	if (current && !upstream.demo) Object.assign(current, { active: true, reach: upstream.reach })
	byURL.set('demo', { name: upstreamTexts.demo, about: upstreamTexts.demoAbout, use: 'demo', active: Boolean(upstream.demo) })
	return [...byURL.values()].map((entry) => ({ ...entry, active: upstream.demo ? entry.use === 'demo' : Boolean(entry.active && entry === current) }))
}
