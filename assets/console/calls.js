// Calls: every call that is kept, newest first, to be narrowed down, and all that is known of one of them.

import { CallsList } from './callslist.js'
import { Detail } from './detail.js'
import { byId, h, mark, option, setMark, setOptions, setText, setTitle, setValue, show } from './dom.js'
import { clockTime, count, duration, grouped, parseTime, sameDay, speed, wholeTime } from './format.js'
import { replayed } from './recent.js'
import { Rows } from './rows.js'
import { callsTexts, captureTexts, columns, neverReached, texts, tokensOf, verdictUnknown, verdicts } from './texts.js'

const typing = 200 // ms after the last key before a text is looked for

export class Room {
	#app
	#list
	#rows
	#detail
	#day = new Date()
	#begun = false
	#wanted = '' // a call that the address names and that did not come yet

	constructor(page, app) {
		this.#app = app
		page.classList.add('wide')
		page.append(filters(), this.#table(), captureBar())
		this.#list = new CallsList((above) => this.#changed(above))
		this.#detail = new Detail(byId('call-detail'), app, () => this.#close())
		this.#rows = new Rows(byId('calls-grid'), {
			length: () => this.#list.length,
			make: newRow,
			fill: (row, index) => this.#fill(row, this.#list.at(index)),
			near: () => this.#list.more(),
			picked: (index) => this.#pick(index),
		})
		this.#wire(page)
	}

	open(id) {
		if (!this.#begun) this.#begin()
		this.captured()
		if (id) this.#look(id)
		else this.#show(null)
		this.#rows.changed()
	}

	reset() {
		if (this.#begun) this.#begin()
	}

	status({ metrics, history }) {
		const names = new Set([...(metrics.models ?? []), ...(history?.week.models ?? [])].map(({ model }) => model).filter(Boolean))
		setOptions(byId('filter-model'), [['', callsTexts.any], ...[...names].sort().map((name) => [name, name])])
		if (!sameDay(new Date(), this.#day)) {
			this.#day = new Date() // a time of another day is shown with its date
			this.#list.version++
			this.#rows.changed()
		}
	}

	calls(calls) {
		if (!this.#begun) return
		// As many as are replayed, and none known: there may be others between.
		if (calls.length >= replayed && !calls.some(({ id }) => this.#list.find(id))) this.#begin()
		else this.#list.add(calls)
	}

	captured() {
		const { mode = 'off', kept = 0 } = this.#app.capture.state ?? {}
		byId('capture-mode').value = mode
		setText('capture-about', this.#app.capture.error || captureTexts.about(mode, kept))
		show('capture-forget', kept)
		byId('capture-about').dataset.tone = this.#app.capture.error ? 'bad' : 'plain'
		this.#detail.captured()
	}

	#begin() {
		this.#begun = true
		const model = byId('filter-model').value
		const [status, verdict, text] = ['status', 'verdict', 'text'].map((name) => byId(`filter-${name}`).value.trim())
		show('filter-none', model || status || verdict || text)
		this.#rows.begin()
		this.#list.begin({ model, status, verdict, text })
	}

	#changed(above) {
		this.#rows.changed(above)
		const { length, whole, loading, failed } = this.#list
		const narrowed = !byId('filter-none').hidden
		setText('calls-count', failed && length === 0 ? failed.message : callsTexts.count(grouped(length), length, whole || length === 0, loading))
		show('calls-none', length === 0 && whole && !failed)
		setText('calls-none', narrowed ? callsTexts.noneSuch : callsTexts.none)
		if (this.#wanted) this.#look(this.#wanted)
	}

	#table() {
		const head = h('div.call.heads', { role: 'row', 'aria-rowindex': '1' },
			...Object.entries(columns).map(([name, text]) => h(`span.${name}`, { role: 'columnheader' }, text)))
		return h('div.split', null,
			h('section.panel.list', { label: texts.calls },
				h('div.grid#calls-grid', { tabIndex: 0, role: 'grid', label: callsTexts.grid, 'aria-colcount': String(Object.keys(columns).length) },
					h('div.heads-group', { role: 'rowgroup' }, head)),
				h('p.foot.muted#calls-none', { hidden: true })),
			h('aside.panel.detail-pane', { id: 'call-detail', label: callsTexts.detail, tabIndex: -1, hidden: true }))
	}

	#wire(page) {
		let timer
		const now = () => {
			clearTimeout(timer)
			this.#begin()
		}
		for (const name of ['model', 'status', 'verdict']) byId(`filter-${name}`).onchange = now
		byId('filter-text').oninput = () => {
			clearTimeout(timer)
			timer = setTimeout(now, typing)
		}
		byId('filter-none').onclick = () => {
			for (const name of ['model', 'status', 'verdict', 'text']) byId(`filter-${name}`).value = ''
			now()
			byId('filter-text').focus()
		}
		byId('capture-mode').onchange = ({ target }) => this.#app.capture.set(target.value)
		byId('capture-forget').onclick = () => this.#app.capture.set(byId('capture-mode').value, true)
		page.onkeydown = (event) => {
			if (event.key === 'Escape' && !byId('call-detail').hidden) this.#close()
			if (event.key === 'Enter' && event.target === byId('calls-grid') && this.#rows.active >= 0) byId('call-detail').focus()
		}
	}

	#pick(index) {
		const call = this.#list.at(index)
		// The address names the call; arrow keys leave no trail of them.
		history.replaceState(null, '', `#/calls/${encodeURIComponent(call.id)}`)
		this.#show(call)
	}

	// look shows the call that the address names, as soon as it is there.
	#look(id) {
		const index = this.#list.indexOf(id)
		this.#wanted = index < 0 && !this.#list.whole ? id : ''
		if (index >= 0) {
			this.#rows.pick(index)
		} else if (!this.#wanted) {
			this.#show(null)
			setText('calls-count', callsTexts.gone)
		} else if (!this.#list.loading) {
			this.#list.more()
		}
	}

	#show(call) {
		show('call-detail', call)
		byId('call-detail').parentNode.classList.toggle('open', Boolean(call))
		this.#detail.show(call)
		this.#rows.changed()
	}

	#close() {
		history.replaceState(null, '', '#/calls')
		this.#show(null)
		byId('calls-grid').focus()
	}

	#fill(row, call) {
		if (row.call === call && row.version === this.#list.version) return
		row.call = call
		row.version = this.#list.version
		fill(row.cells, call, this.#day)
	}
}

function filters() {
	const field = (id, text, node) => h('label', h('span.muted', text), Object.assign(node, { id }))
	return h('div.bar.filters', { role: 'search', label: callsTexts.filters },
		field('filter-text', callsTexts.text, h('input', { type: 'search', placeholder: callsTexts.textHint, autocomplete: 'off', spellcheck: false })),
		field('filter-model', callsTexts.model, h('select', option('', callsTexts.any))),
		field('filter-status', callsTexts.status, h('select', ...Object.entries(callsTexts.statuses).map(([value, text]) => option(value, text)))),
		field('filter-verdict', callsTexts.verdict, h('select', option('', callsTexts.any), ...Object.entries(verdicts).map(([value, { word }]) => option(value, word)))),
		h('button.wide#filter-none', { hidden: true }, callsTexts.all),
		h('span.end.muted#calls-count', { role: 'status' }))
}

function captureBar() {
	return h('section.panel.bar.capture', { label: captureTexts.title },
		h('label', h('span', captureTexts.title), h('select#capture-mode',
			...Object.entries(captureTexts.modes).map(([value, text]) => option(value, text)))),
		h('span.muted#capture-about'), h('button.wide.end#capture-forget', { hidden: true }, captureTexts.forget))
}

function newRow() {
	const row = h('div.call', { role: 'row' })
	row.cells = {}
	for (const [name, text] of Object.entries(columns)) {
		row.cells[name] = h(`span.${name}`, { role: 'gridcell', 'data-head': text }) // on narrow screens the figure carries its own heading
		row.append(row.cells[name])
	}
	row.cells.time.append(h('time'))
	row.cells.verdict.append(mark())
	return row
}

function fill(cells, call, now) {
	const time = parseTime(call.timestamp)
	const shown = cells.time.firstElementChild
	setValue(shown, time && clockTime(time, now))
	if (time) {
		shown.dateTime = call.timestamp
		setTitle(shown, wholeTime(time))
	}
	setForeign(cells.model, call.model)
	setValue(cells.status, call.status ? String(call.status) : null)
	setTitle(cells.status, call.status ? '' : neverReached)
	const verdict = verdicts[call.verdict] ?? { ...verdictUnknown, why: call.verdict }
	setMark(cells.verdict.firstElementChild, verdict)
	setValue(cells.latency, duration(call.latencyMs))
	setValue(cells.firstToken, duration(call.firstTokenMs))
	fillTokens(cells.tokens, call)
	setValue(cells.speed, speed(call.tokensPerSecond))
	setForeign(cells.finish, call.finishReason)
	setText(cells.error, call.error ?? '')
	setTitle(cells.error, call.error ?? '')
	cells.error.dataset.tone = verdict.tone // a model that is loading, say, is no error
}

// Counts of zero are left out on the wire: usageKnown tells none from unknown.
function fillTokens(cell, call) {
	const answer = call.usageKnown ? (call.completionTokens ?? 0) : null
	setValue(cell, count(answer))
	setTitle(cell, call.usageKnown ? tokensOf(answer, call.promptTokens ?? 0) : '')
}

// A foreign name may be cut by the layout; the tooltip has it whole.
function setForeign(cell, text) {
	setValue(cell, text)
	setTitle(cell, text ?? '')
}
