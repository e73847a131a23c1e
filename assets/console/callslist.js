// The calls of the table: those that ended while the page was open, and below them the pages of the history so far. A
// call that comes twice changes its row and adds none.

import { read } from './actions.js'

const mostCalls = 100_000
const bound = 2_000 // live calls, before they are put on top of the others

export class CallsList {
	version = 0 // counts changes of calls that were there already
	failed = null // why the last page could not be had
	#live = [] // oldest first, so that one more costs nothing
	#old = [] // newest first
	#byId = new Map()
	#filter
	#next = ''
	#asked = false // the first page came, or was given up
	#asking = null
	#told

	// told hears of changes: how many calls came on top.
	constructor(told) {
		this.#told = told
	}

	get length() {
		return this.#live.length + this.#old.length
	}

	// whole: there is nothing more to ask for.
	get whole() {
		return this.#asked && !this.#next && !this.#asking
	}

	get loading() {
		return Boolean(this.#asking)
	}

	at(index) {
		const { length } = this.#live
		return index < length ? this.#live[length - 1 - index] : this.#old[index - length]
	}

	find(id) {
		return this.#byId.get(id)
	}

	indexOf(id) {
		const live = this.#live.findLastIndex((call) => call.id === id)
		if (live >= 0) return this.#live.length - 1 - live
		const old = this.#old.findIndex((call) => call.id === id)
		return old < 0 ? -1 : this.#live.length + old
	}

	begin(filter) {
		this.#asking?.abort()
		this.#asking = null
		this.#filter = filter
		this.#live = []
		this.#old = []
		this.#byId.clear()
		this.#next = ''
		this.#asked = false
		this.failed = null
		this.version++
		this.#told(0)
		return this.more()
	}

	add(calls) {
		let came = 0
		for (const call of calls) {
			const known = this.#byId.get(call.id)
			if (known) {
				for (const key of Object.keys(known)) delete known[key]
				Object.assign(known, call)
				this.version++
			} else if (passes(call, this.#filter)) {
				this.#byId.set(call.id, call)
				this.#live.push(call)
				came++
			}
		}
		if (this.#live.length > bound) this.#settle()
		this.#told(came)
	}

	#settle() {
		this.#old = this.#live.reverse().concat(this.#old)
		this.#live = []
		for (const call of this.#old.splice(mostCalls)) this.#byId.delete(call.id)
	}

	async more() {
		if (this.#asking || (this.#asked && !this.#next) || this.length >= mostCalls) return
		const mine = new AbortController()
		this.#asking = mine
		this.failed = null
		try {
			this.#take(await read(`/console/calls?${queryOf(this.#filter, this.#next)}`, mine.signal))
		} catch (error) {
			if (mine.signal.aborted) return // another filter overtook this one
			this.failed = error
			this.#next = ''
		}
		this.#asking = null
		this.#asked = true
		this.#told(0)
	}

	#take(page) {
		for (const call of page?.calls ?? []) {
			if (this.#byId.has(call.id)) continue
			this.#byId.set(call.id, call)
			this.#old.push(call)
		}
		this.#next = page?.next ?? ''
	}
}

function queryOf(filter, before) {
	const query = new URLSearchParams({ limit: before ? '2000' : '500' })
	for (const [key, value] of Object.entries(filter)) if (value) query.set(key, value)
	if (before) query.set('before', before)
	return query
}

// passes says of a call that just ended what the companion says of those in the history.
function passes(call, { model, status, verdict, text }) {
	if (model && call.model !== model && call.requestModel !== model) return false
	if (status && (status === 'error') !== failed(call)) return false
	if (verdict && call.verdict !== verdict) return false
	if (!text) return true
	const wanted = text.toLowerCase()
	return [call.model, call.requestModel, call.error, call.finishReason, call.upstream, call.id].some((part) => part?.toLowerCase().includes(wanted))
}

// as the figures count: a caller who left, and a model that is loading, are no errors
const failed = (call) => ['unreachable', 'upstream-error', 'stream-error', 'truncated'].includes(call.verdict)
