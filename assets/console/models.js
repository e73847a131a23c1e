// The models of the upstream: whether they are ready, on what they run, and how their calls went.

import { read } from './actions.js'
import { drawing, histogram, sparkline } from './charts.js'
import { byId, h, mark, panel, setMark, setText, setTitle, setValue, show, table } from './dom.js'
import { bytes, count, duration, grouped, speed } from './format.js'
import { modelColumns, modelStates, modelTexts } from './texts.js'

const most = 8 // shown until somebody asks for all
const pace = 1000 // ms between two drawings of the small charts
const again = 10_000 // ms between two questions, which only calls bring about

export class Models {
	#app
	#list = []
	#rows = new Map()
	#all = false
	#timer
	#askedAt = -Infinity
	#asking = false

	constructor(page, app) {
		this.#app = app
		page.append(panel('models-panel', modelTexts.title, [h('span.muted#models-about', modelTexts.about)],
			table('models', modelColumns),
			h('p.foot.muted#models-none', modelTexts.none),
			h('div.foot#models-more', { hidden: true }, h('button.wide#models-all', { onclick: () => this.#showAll() }))))
	}

	async refresh(now = false) {
		if (this.#asking || (!now && performance.now() - this.#askedAt < again)) return
		this.#asking = true
		this.#askedAt = performance.now()
		try {
			this.#list = (await read('/console/models'))?.models ?? []
		} catch {
			this.#list = []
		}
		this.#asking = false
		this.#show()
	}

	status() {
		this.#soon()
	}

	calls() {
		this.#soon()
		this.refresh()
	}

	#showAll() {
		this.#all = !this.#all
		this.#show()
	}

	#soon() {
		this.#timer ??= setTimeout(() => {
			this.#timer = undefined
			this.#show()
		}, pace)
	}

	#show() {
		if (byId('page-overview')?.hidden !== false) return
		const recent = byModel(this.#app.recent.points)
		const all = merge(this.#list, this.#app.status?.metrics.models ?? [], recent)
		const shown = this.#all ? all : all.slice(0, most)
		for (const [id, { row }] of this.#rows) {
			if (shown.some((one) => one.id === id)) continue
			row.remove()
			this.#rows.delete(id)
		}
		const body = byId('models').tBodies[0]
		shown.forEach((one, index) => {
			let known = this.#rows.get(one.id)
			if (!known) {
				known = newRow()
				this.#rows.set(one.id, known)
			}
			if (body.children[index] !== known.row) body.insertBefore(known.row, body.children[index] ?? null)
			fill(known.cells, one)
		})
		show('models', all.length > 0)
		show('models-none', all.length === 0)
		show('models-more', all.length > most)
		setText('models-all', this.#all ? modelTexts.fewer : modelTexts.all(all.length))
	}
}

function byModel(points) {
	const models = new Map()
	for (const { call } of points) {
		const id = call.requestModel || call.model || ''
		let one = models.get(id)
		if (!one) models.set(id, (one = { took: [], speeds: [] }))
		if (call.verdict === 'complete' || call.verdict === 'no-done') one.took.push(call.latencyMs)
		if (call.tokensPerSecond > 0) one.speeds.push(call.tokensPerSecond)
	}
	return models
}

// merge lists the models that were called first, then those that are ready, then the rest by name.
function merge(offered, measured, recent) {
	const models = new Map()
	for (const one of measured) models.set(one.model, { id: one.model, metrics: one })
	for (const one of offered) models.set(one.id, { ...models.get(one.id), id: one.id, offered: one })
	for (const [id, one] of recent) models.set(id, { ...models.get(id), id, recent: one })
	const rank = ({ metrics, recent: lately, offered: there }) => (metrics || lately ? 0 : there?.state === 'loaded' || there?.state === 'loading' ? 1 : 2)
	return [...models.values()].sort((a, b) => rank(a) - rank(b) || (b.metrics?.calls ?? 0) - (a.metrics?.calls ?? 0) || a.id.localeCompare(b.id))
}

function newRow() {
	const cells = {}
	const row = h('tr', { role: 'row' })
	for (const [name, text] of Object.entries(modelColumns)) {
		cells[name] = h(`td.${name}`, { role: 'cell', 'data-head': text })
		row.append(cells[name])
	}
	cells.state.append(mark())
	cells.latency.append(h('span.figure'), drawing('histogram'))
	cells.speed.append(h('span.figure'), drawing('sparkline'))
	return { row, cells }
}

function fill(cells, { id, offered, metrics, recent }) {
	setValue(cells.model, id)
	setTitle(cells.model, id)
	setMark(cells.state.firstElementChild, modelStates[offered?.state] ?? modelStates.unknown)
	setValue(cells.size, offered?.sizeBytes > 0 ? bytes(offered.sizeBytes) : null)
	setValue(cells.where, modelTexts.where(offered))
	setText(cells.calls, metrics ? count(metrics.calls) : '0')
	const [latency, shape] = cells.latency.children
	const took = recent?.took ?? []
	setValue(latency, duration(metrics?.latencyP50Ms))
	const longest = took.reduce((most, value) => Math.max(most, value), 0)
	histogram(shape, took, took.length === 0 ? modelTexts.noLatencies : modelTexts.latencies(grouped(took.length), duration(longest)))
	const [fast, line] = cells.speed.children
	const speeds = (recent?.speeds ?? []).slice(-60)
	setValue(fast, speed(metrics?.tokensPerSecond))
	sparkline(line, speeds, speeds.length === 0 ? modelTexts.noSpeeds : modelTexts.speeds(speeds.length, speed(Math.min(...speeds)), speed(Math.max(...speeds))))
}
