// What stands above every room: the phase, the notices, the way to the rooms, and that messages are being kept.

import { act, read } from './actions.js'
import { byId, h, setMark, setText, setTitle, show } from './dom.js'
import { bytes, parseTime, shortTime, wholeTime } from './format.js'
import { captureTexts, phases, since, texts } from './texts.js'

let phase = { word: texts.connecting, shape: 'ring', tone: 'calm' }
let room = ''

export function showPhase(drawn) {
	phase = drawn
	setMark('phase', drawn)
	showTitle()
}

export function showRoom(name) {
	room = name === 'overview' ? '' : texts[name === 'try' ? 'tryIt' : name]
	for (const link of document.querySelectorAll('nav a')) {
		if (link.hash === `#/${name}`) link.setAttribute('aria-current', 'page')
		else link.removeAttribute('aria-current')
	}
	showTitle()
}

function showTitle() {
	const title = texts.title(room, phase.word)
	if (document.title !== title) document.title = title
}

export function showAbove(status) {
	showPhase(phases[status.phase] ?? { word: texts.unknown, shape: 'ring', tone: 'calm' })
	setText('version', status.version)
	showLine(byId('detail'), status.detail)
	showSessions(status.sessions)
	showNotices(status.notices ?? [])
}

function showLine(node, text) {
	setText(node, text ?? '')
	show(node, text)
}

function showSessions(sessions) {
	const link = byId('sessions-link')
	show(link, sessions)
	if (sessions) setTitle(link, texts.liveSessions(sessions.live, sessions.running))
}

// Notices are keyed by their cause, as the companion keeps at most one for each.
function showNotices(notices) {
	const list = byId('notices')
	const kept = new Map(Array.from(list.children, (node) => [node.dataset.cause, node]))
	const nodes = notices.map((notice) => {
		const node = kept.get(notice.cause) ?? newNotice(notice.cause)
		const [text, way] = node.querySelectorAll('p')
		setText(text, notice.text)
		showLine(way, notice.hint)
		const time = parseTime(notice.since)
		const shown = node.querySelector('time')
		setText(shown, time ? since(shortTime(time, new Date())) : '')
		setTitle(shown, time ? wholeTime(time) : '')
		return node
	})
	if (nodes.length !== list.children.length || nodes.some((node, i) => node !== list.children[i])) {
		list.replaceChildren(...nodes)
	}
	show(list, nodes.length > 0)
}

function newNotice(cause) {
	return h('li.notice', { 'data-cause': cause, 'data-tone': 'warn' },
		h('i.shape', { 'data-shape': 'triangle', 'aria-hidden': 'true' }), h('div', h('p'), h('p.muted')), h('time.muted'))
}

// Capture is what is known of the kept messages; tell hears of each answer.
export class Capture {
	state = null // {mode, kept, bytes, limitBytes}
	#tell
	#error = ''
	#timer

	constructor(tell) {
		this.#tell = tell
		byId('capturing-off').onclick = () => this.set('off')
	}

	async refresh() {
		clearTimeout(this.#timer)
		this.#timer = undefined
		try {
			this.state = await read('/console/capture')
		} catch {
			return // that nobody answers is said elsewhere
		}
		this.#show()
	}

	// more: calls ended, which may have been kept.
	more() {
		if (this.state?.mode !== 'off') this.#timer ??= setTimeout(() => this.refresh(), 1000)
	}

	async set(mode, forget = false) {
		this.#error = ''
		try {
			await act('capture', { mode, forget })
		} catch (refusal) {
			this.#error = refusal.text
		}
		await this.refresh()
	}

	get error() {
		return this.#error
	}

	#show() {
		const { mode = 'off', kept = 0, bytes: used = 0, limitBytes = 0 } = this.state ?? {}
		show('capturing', mode !== 'off')
		if (mode !== 'off') setText('capturing-text', captureTexts.banner(mode, kept, bytes(used), bytes(limitBytes)) + (this.#error && ` (${this.#error})`))
		this.#tell()
	}
}
