// Sessions: what is said in the live conversations, while this room can be seen. It changes nothing.

import { read } from './actions.js'
import { byId, h, mark, setMark, setText, setTitle, show } from './dom.js'
import { sessionStates, texts } from './texts.js'
import { Transcript } from './transcript.js'

const pause = 1000 // ms between two looks

export class Room {
	#transcript
	#rows = new Map() // id -> {row, link, title, state, about}
	#wanted = '' // the session that the address names
	#shown // id of the session whose words are shown
	#next = 1
	#timer
	#open = false
	#looking = false
	#again = false // somebody asked for a look while one was under way

	constructor(page) {
		page.append(
			h('p.panel.empty-sessions', { id: 'none', hidden: true }, texts.noSessions),
			h('div.sessions#sessions', { hidden: true },
				h('section.panel', { label: texts.sessions }, h('ul#list')),
				h('section.panel.transcript', { 'aria-labelledby': 'title' },
					h('div.head', h('h2#title'), h('span.muted#about')),
					h('div.talk#transcript', { role: 'log', tabIndex: 0, label: texts.transcript }),
					h('p.muted.foot#take-part'))))
		this.#transcript = new Transcript(byId('transcript'))
		document.addEventListener('visibilitychange', () => this.#look())
	}

	open(id) {
		this.#open = true
		this.#wanted = id
		this.#look()
	}

	close() {
		this.#open = false
		clearTimeout(this.#timer)
	}

	// look brings the room up to date, one look at a time.
	async #look() {
		if (!this.#open || document.visibilityState === 'hidden') return
		if (this.#looking) {
			this.#again = true
			return
		}
		this.#looking = true
		try {
			this.#showList((await read('/console/api/sessions'))?.sessions ?? [])
			await this.#readOn()
		} catch (refusal) {
			if (refusal.status === 403) { // that nobody answers is said above
				setText('none', refusal.text)
				show('none', true)
			}
		}
		this.#looking = false
		clearTimeout(this.#timer)
		if (this.#open) this.#timer = setTimeout(() => this.#look(), this.#again ? 0 : pause)
		this.#again = false
	}

	#showList(list) {
		show('none', list.length === 0)
		show('sessions', list.length > 0)
		const there = new Set(list.map((one) => one.id))
		for (const [id, { row }] of this.#rows) {
			if (there.has(id)) continue
			this.#rows.delete(id)
			row.remove()
		}
		list.forEach((one, index) => this.#fill(this.#rowOf(one.id, index), one))
		const wanted = this.#wanted
		this.#choose(there.has(wanted) ? wanted : there.has(this.#shown) ? this.#shown : list[0]?.id)
		const now = list.find((one) => one.id === this.#shown)
		if (now) {
			setText('title', titleOf(now))
			setText('about', aboutOf(now))
			setText('take-part', texts.readOnly(now.id))
		}
	}

	#rowOf(id, index) {
		let known = this.#rows.get(id)
		if (!known) {
			const title = h('span.clip')
			const state = mark()
			const about = h('span.muted.clip')
			const link = h('a', { href: `#/sessions/${encodeURIComponent(id)}` }, h('span.line', title, state), about)
			known = { row: h('li', link), link, title, state, about }
			this.#rows.set(id, known)
		}
		const list = byId('list')
		if (list.children[index] !== known.row) list.insertBefore(known.row, list.children[index] ?? null)
		return known
	}

	#fill({ link, title, state, about }, one) {
		setText(title, titleOf(one))
		setTitle(title, titleOf(one))
		setMark(state, sessionStates[one.state] ?? { word: one.state, shape: 'ring', tone: 'calm' })
		setText(about, aboutOf(one))
		setTitle(about, one.workspace)
		link.setAttribute('aria-current', String(one.id === this.#shown))
	}

	#choose(id) {
		if (id === this.#shown) return
		this.#shown = id
		this.#next = 1
		this.#transcript.clear()
		for (const [other, { link }] of this.#rows) link.setAttribute('aria-current', String(other === id))
	}

	// readOn reads what the shown session has said since. Another may be chosen meanwhile: then its answer counts for
	// nothing.
	async #readOn() {
		const id = this.#shown
		while (id && id === this.#shown) {
			const page = await read(`/console/api/sessions/events?id=${encodeURIComponent(id)}&from=${this.#next}`)
			if (!page?.events.length || id !== this.#shown) return
			this.#transcript.add(page.events)
			this.#next = page.next
		}
	}
}

const titleOf = (one) => one.title || texts.untitled
const aboutOf = (one) => [one.upstream, one.model, one.workspace].filter(Boolean).join(' · ')
