// All that is known of one call and, where messages were being kept, what was said.

import { read, save } from './actions.js'
import { copyButton } from './copy.js'
import { byId, h, setText, setValue, showMark } from './dom.js'
import { baseURL, bytes, duration, grouped, microseconds, parseTime, speed, wholeTime } from './format.js'
import { callsTexts, captureTexts, curlOf, detailTexts, neverReached, texts, verdictUnknown, verdicts } from './texts.js'

export class Detail {
	#pane
	#app
	#close
	#call = null
	#asked = '' // the call whose messages were asked for

	constructor(pane, app, close) {
		this.#pane = pane
		this.#app = app
		this.#close = close
	}

	show(call) {
		if (call === this.#call && call) return
		this.#call = call
		this.#asked = ''
		if (!call) return
		const close = h('button.square', { label: detailTexts.close, title: detailTexts.close, onclick: this.#close }, '×')
		this.#pane.replaceChildren(
			h('div.head', h('h2.clip', { title: call.model ?? '' }, call.model || texts.unknown), h('div.beside', close)),
			h('div.detail-body', { tabIndex: 0, role: 'group', label: callsTexts.detail },
				h('p', showMark(verdicts[call.verdict] ?? verdictUnknown)),
				verdicts[call.verdict]?.why ? h('p.muted', verdicts[call.verdict].why) : null,
				call.error ? h('p.error-text', call.error) : null,
				...timings(call), facts(call), h('div.said-pair', { id: 'call-content' })))
		this.captured()
	}

	// captured asks for the messages once it is known that some are kept.
	captured() {
		const call = this.#call
		const box = byId('call-content')
		if (!call || !box) return
		const { mode = 'off', kept = 0 } = this.#app.capture.state ?? {}
		if (kept === 0) { // or no longer
			this.#asked = ''
			box.replaceChildren(h('p.muted', mode === 'off' ? captureTexts.notKept : captureTexts.notOfThis))
		}
		if (kept === 0 || this.#asked === call.id) return
		this.#asked = call.id
		this.#content(call, box)
	}

	async #content(call, box) {
		const path = `/console/capture/${encodeURIComponent(call.id)}`
		let content
		try {
			content = await read(path)
		} catch (error) {
			content = error
		}
		if (this.#call !== call || !this.#asked) return // another was picked meanwhile, or all was forgotten
		if (content instanceof Error) {
			box.replaceChildren(h('p.muted', content.text))
			return
		}
		if (!content) {
			box.replaceChildren(h('p.muted', captureTexts.notOfThis))
			return
		}
		const windows = /Windows/.test(navigator.userAgent)
		const trouble = h('span.error-text', { role: 'alert' })
		const download = () => save(`${path}/cassette`).catch(({ text = texts.noAnswer }) => setText(trouble, text))
		const curl = h('span.unseen#call-curl', { 'aria-hidden': 'true' }, curlOf(baseURL(this.#app.status.addr), content.request, windows))
		box.replaceChildren(
			said('request', captureTexts.request, content.request, content.requestTruncated), said('answer', captureTexts.answer, content.answer, content.answerTruncated),
			h('div.bar', copyButton('call-curl', captureTexts.curl, captureTexts.curl), h('button.wide', { onclick: download }, captureTexts.cassette), trouble), curl)
	}
}

function said(id, title, text, cut) {
	return h('div.said-part',
		h('div.bar', h('h3', cut ? captureTexts.cut(title) : title), copyButton(`call-${id}`, captureTexts.copyOne(title))),
		h(`pre#call-${id}`, { tabIndex: 0, role: 'group', label: title }, pretty(text)))
}

// What is JSON is set out to be read; anything else is shown as it came.
function pretty(text = '') {
	try {
		return JSON.stringify(JSON.parse(text), null, 2)
	} catch {
		return text
	}
}

// Without a first token the time is one stretch.
function partsOf(call) {
	const first = call.firstTokenMs
	const queue = call.queueMs
	return {
		queue: queue ?? null,
		first: first === undefined ? null : first - (queue ?? 0),
		writing: first === undefined ? null : Math.max(0, call.latencyMs - first),
		overhead: call.overheadUs ?? null,
	}
}

function pair(value, why, ...name) {
	const dd = h('dd', { title: why })
	setValue(dd, value)
	return h('div', h('dt', ...name), dd)
}

function timings(call) {
	const parts = partsOf(call)
	const shown = { queue: duration(parts.queue), first: duration(parts.first), writing: duration(parts.writing), overhead: microseconds(parts.overhead) }
	const bar = h('div.stretch', { 'aria-hidden': 'true' })
	for (const name of ['queue', 'first', 'writing']) {
		if (!(parts[name] > 0)) continue
		const part = h(`span.${name}`)
		part.style.setProperty('flex-grow', String(parts[name]))
		bar.append(part)
	}
	if (bar.childElementCount === 0) bar.append(h('span.whole'))
	const list = h('dl.pairs#call-timings')
	for (const [name, value] of Object.entries(shown)) {
		list.append(pair(value, value === null ? detailTexts.unknown[name] : '', h(`i.swatch.${name}`, { 'aria-hidden': 'true' }), detailTexts.timings[name]))
	}
	return [h('h3', detailTexts.took(duration(call.latencyMs))), bar, list]
}

function facts(call) {
	const time = parseTime(call.timestamp)
	const known = call.usageKnown
	const values = {
		begun: time && wholeTime(time),
		asked: call.requestModel && call.requestModel !== call.model ? call.requestModel : undefined,
		status: call.status ? String(call.status) : neverReached,
		prompt: known ? grouped(call.promptTokens ?? 0) : null,
		completion: known ? grouped(call.completionTokens ?? 0) : null,
		speed: speed(call.tokensPerSecond),
		finish: call.finishReason || null,
		format: call.responseFormat || undefined,
		streamed: call.streamed ? detailTexts.yes : detailTexts.no,
		sizes: detailTexts.sizes(bytes(call.bytesIn ?? 0), bytes(call.bytesOut ?? 0)),
		upstream: call.upstream || null,
		id: call.id,
	}
	const list = h('dl.pairs#call-facts')
	for (const [name, value] of Object.entries(values)) {
		if (value !== undefined) list.append(pair(value, '', detailTexts.facts[name])) // else it says nothing about this call
	}
	return list
}
