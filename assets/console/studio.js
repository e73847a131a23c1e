// Studio: the offline copy that this machine serves, how a newer one comes, and the way back to the one before.

import { act, read } from './actions.js'
import { byId, h, panel, setText, setValue, show } from './dom.js'
import { bytes, parseTime, wholeTime } from './format.js'
import { studio, studioTexts } from './texts.js'

export class Room {
	#version = null
	#asked
	#busy = false

	constructor(page) {
		const fact = (id, name) => h('div', h('dt', name), h('dd', { id }))
		page.append(panel('studio', studioTexts.title, [h('a#studio-open', { href: '/', hidden: true }, studio.open.word)],
			h('p.lead#studio-lead'),
			h('div.progress#studio-progress', { hidden: true },
				h('progress#studio-bar', { max: 1, 'aria-labelledby': 'studio-stage' }), h('p.muted#studio-stage')),
			h('dl.pairs.roomy#studio-facts', fact('studio-version', studioTexts.version), fact('studio-installed', studioTexts.installed), fact('studio-source', studioTexts.source),
				fact('studio-sha', studioTexts.sha), fact('studio-available', studioTexts.available), fact('studio-previous', studioTexts.previous), fact('studio-checked', studioTexts.checked)),
			h('p.foot#studio-error', { role: 'alert', hidden: true }),
			h('div.bar.foot#studio-actions',
				h('button.primary.wide#studio-update', { onclick: () => this.#do('studio-update') }, studioTexts.look),
				h('button.wide#studio-cancel', { hidden: true, onclick: () => this.#do('studio-cancel') }, studioTexts.cancel),
				h('button.wide#studio-rollback', { hidden: true, onclick: () => this.#do('studio-rollback') }, studioTexts.none))))
	}

	open() {
		this.#asked = undefined
	}

	status(status) {
		const kept = status.studio
		const here = status.ui.source !== 'console'
		setText('studio-lead', kept ? (kept.version ? studioTexts.serves(kept.version) : studioTexts.nothing) : status.ui.source === 'folder' ? studio.folderHint : studioTexts.notKept)
		show('studio-open', here)
		show('studio-facts', kept)
		show('studio-actions', kept)
		if (!kept) return
		if (this.#asked !== (kept.version ?? '')) this.#details(kept.version ?? '')
		this.#showFacts(kept)
		this.#showProgress(kept)
		const error = kept.error ? [kept.error, kept.hint].filter(Boolean).join(' · ') : ''
		if (!this.#busy) this.#refused(error)
	}

	// details asks what is known of the copy that is served, once for each.
	async #details(version) {
		this.#asked = version
		try {
			this.#version = version ? await read('/studio/version') : null
		} catch {
			this.#version = null
		}
		this.#showVersion()
	}

	#showVersion() {
		const known = this.#version
		const installed = parseTime(known?.installedAt)
		setValue('studio-installed', installed && wholeTime(installed))
		setValue('studio-source', known && (studioTexts.sources[known.source] ?? known.source))
		setValue('studio-sha', known?.sha256)
	}

	#showFacts(kept) {
		const checked = parseTime(kept.checkedAt)
		const newer = kept.available && kept.available !== kept.version ? kept.available : null
		setText('studio-version', kept.version || studioTexts.none)
		setText('studio-available', newer ? (kept.held === newer ? studioTexts.held(newer) : newer) : checked ? studioTexts.upToDate : studioTexts.notAsked)
		setText('studio-previous', kept.previous || studioTexts.none)
		setText('studio-checked', checked ? wholeTime(checked) : studioTexts.never)
		const idle = kept.stage === 'idle'
		setText('studio-update', newer ? studioTexts.updateTo(newer) : kept.version ? studioTexts.look : studioTexts.get)
		show('studio-update', idle)
		show('studio-cancel', !idle)
		show('studio-rollback', idle && kept.previous)
		setText('studio-rollback', studioTexts.rollbackTo(kept.previous ?? ''))
	}

	#showProgress({ stage, bytes: got = 0, total = 0, rate = 0 }) {
		show('studio-progress', stage !== 'idle')
		const bar = byId('studio-bar')
		if (stage === 'downloading' && total > 0) bar.value = got / total
		else bar.removeAttribute('value')
		const parts = [studioTexts.stages[stage] ?? stage]
		if (stage === 'downloading') parts.push(total > 0 ? studioTexts.of(bytes(got), bytes(total)) : bytes(got), rate > 0 && studioTexts.rate(bytes(rate)))
		setText('studio-stage', parts.filter(Boolean).join(' · '))
	}

	async #do(action) {
		this.#busy = false
		this.#refused('')
		try {
			await act(action)
		} catch (refusal) {
			this.#busy = true // what was refused stays until the next click
			this.#refused(refusal.text)
		}
	}

	#refused(text) {
		setText('studio-error', text)
		show('studio-error', text)
	}
}
