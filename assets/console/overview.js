// Overview: where the companion is reached, what calls go to, what they cost, and how they went.

import { read } from './actions.js'
import { copyButton } from './copy.js'
import { byId, h, mark, panel, setMark, setText, setTitle, setValue, show, showMark } from './dom.js'
import { baseURL, clockOf, count, duration, grouped, parseTime, share, shortTime, speed, wholeTime } from './format.js'
import { Models } from './models.js'
import { modelToTry } from './sample.js'
import { curlCommand, reaches, since, studio, texts, tiles, tileTexts, timelineTexts, verdictUnknown, verdicts } from './texts.js'
import { Timeline } from './timeline.js'
import { Upstreams } from './upstreams.js'
import { reachBack } from './recent.js'

const pageSize = 2000
const mostPages = 10

export class Room {
	#app
	#latest
	#timeline
	#models
	#upstreams
	#said = 0
	#read = false // the last minutes
	#reading = false

	constructor(page, app) {
		this.#app = app
		page.append(facts(), figures(), this.#timelinePanel(), this.#empty())
		this.#upstreams = new Upstreams(page, app, () => this.#models.refresh(true))
		this.#models = new Models(page, app)
		this.#timeline = new Timeline(byId('timeline'), app.recent, (point, changed) => this.#picked(point, changed))
		this.#wire()
	}

	open() {
		this.#timeline.open()
		this.#upstreams.refresh()
		this.#models.refresh()
		if (!this.#read) this.#readBack()
	}

	close() {
		this.#timeline.close()
	}

	reset() {
		this.#upstreams.refresh()
		this.#readBack()
	}

	// missed: there may be calls from while nobody looked that the stream did not replay.
	missed() {
		this.#readBack()
	}

	status(status) {
		setText('address', baseURL(status.addr))
		this.#upstreams.status(status)
		showUpstream(status.upstream)
		showUI(status.ui, status.studio)
		showTiles(status)
		this.#timeline.changed()
		this.#models.status(status)
		this.#showEmpty(status)
		this.#summary()
	}

	calls(calls, open) {
		if (open) this.#models.calls()
	}

	// readBack asks for the calls that ended before the page looked.
	async #readBack() {
		if (this.#reading) return
		this.#reading = true
		try {
			for (let i = 0, before = ''; i < mostPages; i++) {
				const page = await read(`/console/calls?limit=${pageSize}${before && `&before=${encodeURIComponent(before)}`}`)
				if (!page) break
				this.#app.recent.add(page.calls)
				this.#timeline.changed()
				this.#models.calls()
				before = page.next
				const oldest = parseTime(page.calls.at(-1)?.timestamp)
				if (!before || !oldest || oldest.getTime() < Date.now() - reachBack) break
			}
			this.#read = true
		} catch {
			// said above; it is asked again when somebody comes back
		}
		this.#reading = false
	}

	#timelinePanel() {
		const tools = [
			h('button#timeline-pause', timelineTexts.pause),
			h('button.square#timeline-out', { label: timelineTexts.out, title: timelineTexts.out }, '−'),
			h('span.muted#timeline-span'),
			h('button.square#timeline-in', { label: timelineTexts.closer, title: timelineTexts.closer }, '+'),
		]
		const drawing = h('canvas#timeline', { role: 'img', label: timelineTexts.title })
		const area = h('div.timeline#timeline-area', { tabIndex: 0, role: 'group', label: timelineTexts.keys, title: '' }, drawing)
		const legend = h('ul.legend#timeline-legend', ...timelineTexts.legend.map((drawn) => h('li', showMark(drawn))))
		return panel('timeline-panel', timelineTexts.title, tools, area, h('div.readout', legend, h('p#timeline-call', { hidden: true })))
	}

	#empty() {
		return h('section.panel.empty#empty', { hidden: true, label: texts.emptyLabel },
			h('p', texts.empty),
			h('div.try', h('pre#curl', { tabIndex: 0, label: texts.curl, role: 'group' }), copyButton('curl', texts.copyCurl)))
	}

	#wire() {
		const line = this.#timeline
		const area = byId('timeline-area')
		byId('timeline-pause').onclick = () => this.#turn(() => line.pause())
		byId('timeline-in').onclick = () => this.#turn(() => line.zoom(1))
		byId('timeline-out').onclick = () => this.#turn(() => line.zoom(-1))
		area.onkeydown = (event) => {
			const does = {
				ArrowLeft: () => line.step(-1), ArrowRight: () => line.step(1),
				'+': () => line.zoom(1), '=': () => line.zoom(1), '-': () => line.zoom(-1), ' ': () => line.pause(),
				Enter: () => this.#goTo(line.picked),
			}[event.key]
			if (!does || event.ctrlKey || event.metaKey || event.altKey) return
			event.preventDefault()
			this.#turn(does)
		}
		area.onclick = () => this.#goTo(line.picked)
		this.#turn(() => {})
	}

	#goTo(point) {
		if (point) location.hash = `#/calls/${encodeURIComponent(point.id)}`
	}

	#turn(does) {
		does()
		const line = this.#timeline
		setText('timeline-pause', line.paused ? timelineTexts.resume : timelineTexts.pause)
		byId('timeline-in').disabled = !line.can(1)
		byId('timeline-out').disabled = !line.can(-1)
		setText('timeline-span', timelineTexts.span(duration(line.span), line.paused))
	}

	#picked(point, changed) {
		if (!changed) return this.#turn(() => {})
		const line = byId('timeline-call')
		show(line, point)
		show('timeline-legend', !point)
		byId('timeline-area').classList.toggle('over', Boolean(point))
		if (!point) return
		const { call } = point
		line.replaceChildren(showMark(verdicts[call.verdict] ?? verdictUnknown), timelineTexts.call(clockOf(new Date(point.end)), call.model || texts.unknown,
			[duration(call.latencyMs), call.firstTokenMs === undefined ? null : timelineTexts.first(duration(call.firstTokenMs)),
				call.usageKnown ? timelineTexts.tokens(call.completionTokens ?? 0) : null, speed(call.tokensPerSecond), call.error].filter(Boolean)))
		// Only what the arrow keys picked is read out.
		line.setAttribute('aria-live', document.activeElement === byId('timeline-area') ? 'polite' : 'off')
	}

	#summary() {
		if (performance.now() - this.#said < 2000) return
		this.#said = performance.now()
		const { points } = this.#app.recent
		const seen = points.slice(this.#app.recent.from(Date.now() - reachBack))
		const bad = seen.filter(({ tone }) => tone === 'bad').length
		byId('timeline').setAttribute('aria-label', timelineTexts.summary(grouped(seen.length), grouped(bad)))
	}

	// It is empty for sure when none was counted, neither in this run nor in those before.
	async #showEmpty(status) {
		const empty = this.#app.recent.points.length === 0 && status.metrics.calls === 0 && !(status.history?.week.calls > 0)
		show('empty', empty)
		if (!empty) return
		this.#latest = status
		const model = await modelToTry(status.upstream)
		if (status !== this.#latest) return // a newer status overtook the answer
		setText('curl', curlCommand(baseURL(status.addr), model, /Windows/.test(navigator.userAgent)))
	}
}

function facts() {
	const reach = mark()
	reach.id = 'reach'
	const fact = (name, ...children) => h('div', h('dt', name), h('dd', ...children))
	return h('section.panel', { label: texts.overview }, h('dl.facts', null,
		fact(texts.address, h('span.copyable', h('code#address'), copyButton('address', texts.copyAddress)), h('span.muted', texts.addressHint)),
		fact(texts.upstream, h('span.pair', h('span.clip#upstream'), reach), h('span.muted#upstream-detail')),
		fact(texts.studio, h('span.pair', h('span#ui'), h('a#ui-link')), h('span.muted#ui-hint'))))
}

function showUpstream(upstream) {
	setText('upstream', upstream.name || texts.noUpstream)
	setTitle('upstream', upstream.name)
	setMark('reach', reaches[upstream.reach] ?? reaches.unknown)
	show('reach', upstream.name)
	setText('upstream-detail', upstream.detail || (upstream.demo ? texts.demo : upstream.baseURL))
}

// kept is the state of the offline copy, where one is kept.
function showUI(ui, kept) {
	const here = ui.source !== 'console'
	const doing = kept ? studio.doing(kept, here) : ''
	const link = byId('ui-link')
	const target = here ? studio.open : studio.hosted
	const hint = byId('ui-hint')
	const shown = [ui.source, ui.version, Boolean(kept), doing].join(' ')
	if (hint.dataset.shown === shown) return
	hint.dataset.shown = shown

	link.textContent = target.word
	link.href = target.href
	link.rel = 'noreferrer'
	if (here) {
		setText('ui', ui.source === 'folder' ? studio.folder : studio.copy(ui.version))
		hint.textContent = doing || (ui.source === 'folder' ? studio.folderHint : studio.copyHint)
		byId('ui').after(link)
		return
	}
	setText('ui', studio.none)
	if (doing) {
		hint.replaceChildren(doing + studio.meanwhile, link)
		return
	}
	const [before, flag, between] = kept ? studio.keptHint : studio.noneHint
	hint.replaceChildren(before, h('code', flag), between, link)
}

function figures() {
	const list = h('dl.tiles#tiles')
	for (const [name, { label }] of Object.entries(tiles)) {
		const value = h('dd.value')
		setValue(value, null)
		list.append(h(`div.${name}`, h('dt', label), value, h('dd.muted')))
	}
	return h('section.panel', { label: texts.figures }, list)
}

function showTile(name, value, figure) {
	const [shown, under] = byId('tiles').querySelectorAll(`.${name} > dd`)
	const { caption } = tiles[name]
	setValue(shown, value)
	setText(under, typeof caption === 'function' ? caption(figure) : caption)
	return under
}

// Counts are of today where a history is kept, else since the companion started.
function showTiles({ metrics, history, startedAt }) {
	const started = parseTime(startedAt)
	const sums = history?.today ?? metrics
	const under = showTile('calls', count(sums.calls), history ? tileTexts.today : started && since(shortTime(started, new Date())))
	setTitle(under, started ? tileTexts.run(grouped(metrics.calls), wholeTime(started)) : '')
	showTile('inFlight', count(metrics.inFlight))
	showTile('errors', count(sums.errors), share(sums.errors, sums.calls))
	byId('tiles').querySelector('.errors').dataset.tone = sums.errors > 0 ? 'bad' : 'plain'
	showTile('p50', duration(metrics.latencyP50Ms))
	showTile('p95', duration(metrics.latencyP95Ms))
	showTile('firstToken', duration(metrics.firstTokenP50Ms))
	showTile('speed', speed(metrics.tokensPerSecond))
	// Calls without a single token are calls whose usage nobody told.
	const told = sums.calls === 0 || sums.completionTokens + sums.promptTokens > 0
	showTile('tokens', told ? count(sums.completionTokens) : null, told ? count(sums.promptTokens) : null)
}
