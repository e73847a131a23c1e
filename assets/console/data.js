// Data state: one query at a time on a holder, a database that is configured by name; read-only, whatever is written.

import { byId, h, mark, option, panel, setMark, setOptions, setText, setTitle, show } from './dom.js'
import { read } from './actions.js'
import { dataExamples } from './examples.js'
import { dataTexts, dataVerdicts, holderReaches, holderText, rowsText, texts } from './texts.js'

const counted = (type) => type.endsWith('RowCount')
const keep = 'data-query' // what was written survives a reload of the tab, and no longer

// An Exact is a number with the digits that the companion sent: 1.50, and integers beyond 2^53.
class Exact {
	constructor(digits) {
		this.digits = digits
	}
	toJSON() {
		return JSON.rawJSON ? JSON.rawJSON(this.digits) : Number(this.digits)
	}
}

// Without the source of a number it is the nearest one.
const exact = (_, value, context) => (typeof value === 'number' && context?.source ? new Exact(context.source) : value)

export class Room {
	#holders = []
	#running

	constructor(page) {
		page.append(...parts())
		this.#fillChoices()
		byId('data-run').onclick = () => this.#run()
		byId('data-query').onkeydown = (event) => {
			if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
				event.preventDefault()
				this.#run()
			}
		}
		byId('data-query').oninput = () => this.#written()
		byId('data-expect').onchange = () => this.#written()
		byId('data-example').onchange = ({ target }) => {
			byId('data-query').value = dataExamples[target.value].query
			byId('data-params').value = dataExamples[target.value].params ?? ''
			target.value = ''
			this.#written()
			byId('data-query').focus()
		}
		byId('data-holder').onchange = () => this.#showReach()
		byId('data-query').value = sessionStorage.getItem(keep) ?? dataExamples[0].query
		this.#written()
	}

	open() {
		this.refresh()
	}

	// reset: each run of the companion has holders of its own.
	reset() {
		this.refresh()
	}

	// refresh is done after a query as well: it may have found a holder gone.
	async refresh() {
		try {
			this.#showHolders((await read('/datastate/holders'))?.holders ?? [])
		} catch {
			// said above
		}
	}

	#fillChoices() {
		for (const [i, { name }] of dataExamples.entries()) byId('data-example').append(option(String(i), name))
		setOptions(byId('data-expect'), Object.entries(dataTexts.expectations))
		byId('data-verdict').append(mark())
		setMark(byId('data-verdict').firstElementChild, dataVerdicts.notYet)
	}

	#showHolders(holders) {
		this.#holders = holders
		show('data-none', holders.length === 0)
		show('data-ask', holders.length > 0)
		// Only where there is somebody to ask is there something to announce.
		if (holders.length > 0) byId('data-verdict').setAttribute('role', 'status')
		setOptions(byId('data-holder'), holders.map(({ name, kind }) => [name, holderText(name, kind)]))
		this.#showReach()
	}

	#showReach() {
		const holder = this.#holders.find(({ name }) => name === byId('data-holder').value)
		if (!holder) return
		setMark('data-reach', holderReaches[holder.reach] ?? holderReaches.unknown)
		setText('data-reach-detail', holder.detail ?? '')
		show('data-reach-detail', holder.detail)
	}

	// written follows what the query needs: values for its params, a number for an expectation that counts.
	#written() {
		const query = byId('data-query').value
		sessionStorage.setItem(keep, query)
		show('data-params-field', /\bparam\b/.test(query))
		show('data-count', counted(byId('data-expect').value))
	}

	#request() {
		const query = byId('data-query').value
		const request = { holder: byId('data-holder').value, query, evidence: true, keepOrder: true }
		const params = byId('data-params').value.trim()
		if (params && !byId('data-params-field').hidden) {
			try {
				request.params = JSON.parse(params, exact)
			} catch {
				throw new Error(dataTexts.badParams)
			}
			if (Object.getPrototypeOf(request.params ?? 0) !== Object.prototype) throw new Error(dataTexts.badParams)
		}
		const type = byId('data-expect').value
		if (type !== 'none') request.expectations = [counted(type) ? { type, count: byId('data-count').valueAsNumber || 0 } : { type }]
		return request
	}

	async #run() {
		this.#running?.abort()
		const mine = new AbortController()
		this.#running = mine
		byId('data-run').setAttribute('aria-busy', 'true')
		let answer
		try {
			answer = await ask(this.#request(), mine.signal)
		} catch (error) {
			if (mine.signal.aborted) return // a later click overtook this one
			answer = { verdict: 'none', rows: null, detail: error.message }
		}
		byId('data-run').removeAttribute('aria-busy')
		showAnswer(answer)
		this.refresh()
	}
}

async function ask(request, signal) {
	let response, text
	try {
		response = await fetch('/datastate/query', {
			method: 'POST',
			headers: { 'Content-Type': 'application/json' },
			body: JSON.stringify(request),
			signal,
		})
		text = await response.text()
	} catch {
		throw new Error(texts.noAnswer)
	}
	const answer = JSON.parse(text, exact)
	if (!response.ok) throw new Error(answer.error)
	return answer
}

function showAnswer({ verdict, rows, detail, evidence }) {
	setMark(byId('data-verdict').firstElementChild, dataVerdicts[verdict] ?? dataVerdicts.none)
	setText('data-detail', detail)
	show('data-detail', detail)
	const total = Number(evidence?.totalRows?.digits ?? rows?.length ?? 0)
	setText('data-rows-count', rows ? rowsText(rows.length, total, evidence?.collation) : '')
	showRows(rows ?? [])
}

function showRows(rows) {
	const names = [...new Set(rows.flatMap(Object.keys))].sort()
	const numbers = new Set(names.filter((name) => rows.every((row) => (row[name] ?? null) === null || row[name] instanceof Exact || typeof row[name] === 'number')))
	const table = byId('data-rows')
	const cell = (tag, name) => h(numbers.has(name) ? `${tag}.number` : tag)
	table.tHead.rows[0].replaceChildren(...names.map((name) => Object.assign(cell('th', name), { scope: 'col', textContent: name })))
	table.tBodies[0].replaceChildren(...rows.map((row) => h('tr', ...names.map((name) => showValue(cell('td', name), row[name])))))
	show('data-table', rows.length > 0)
}

function showValue(cell, value) {
	if (value === undefined) return cell // this row has no such column
	if (value === null || typeof value === 'boolean') cell.classList.add('literal')
	const text = typeof value === 'string' ? value : value instanceof Exact ? value.digits : JSON.stringify(value)
	cell.textContent = text
	setTitle(cell, text)
	return cell
}

function parts() {
	const field = (text, node, className = '') => h(`label${className}`, h('span.muted', text), node)
	const reach = mark()
	reach.id = 'data-reach'
	const example = h('select#data-example', h('option', { value: '', disabled: true, selected: true, hidden: true }, texts.dataChoose))
	const query = h('textarea#data-query', { rows: 10, spellcheck: false, autocapitalize: 'off', autocomplete: 'off', wrap: 'off', label: texts.dataQuery })
	const params = field(texts.dataParams, h('input#data-params', { type: 'text', spellcheck: false, autocomplete: 'off' }), '.field')
	Object.assign(params, { id: 'data-params-field', hidden: true })
	const table = h('table.rows#data-rows', h('thead', h('tr')), h('tbody'))
	return [panel('data', texts.data, [h('span.muted', texts.dataHint)],
		h('div.empty#data-none', { hidden: true }, h('p', texts.dataNone), h('div.try', h('pre', texts.dataNoneCommand))),
		h('div.ask#data-ask', { hidden: true },
			h('div.bar', field(texts.dataHolder, h('select#data-holder')), reach, field(texts.dataExample, example, '.end')),
			h('p.muted.detail#data-reach-detail', { hidden: true }), query, params,
			h('div.bar', field(texts.dataExpect, h('select#data-expect')),
				h('input#data-count', { type: 'number', min: '0', step: '1', value: '1', label: texts.dataCount, hidden: true }),
				h('span.end.muted.keys', texts.dataRunKeys), h('button.primary#data-run', texts.dataRun)),
			h('div.result', h('div.bar', h('span#data-verdict'), h('span.muted#data-rows-count')),
				h('p.detail#data-detail', { hidden: true }),
				h('div.scroll#data-table', { hidden: true, role: 'region', tabIndex: 0, label: texts.dataRows }, table))))]
}
