// The calls of the last minutes, as the drawings want them: oldest first by when they ended, each once.

import { parseTime } from './format.js'
import { verdicts, verdictUnknown } from './texts.js'

export const reachBack = 15 * 60_000 // ms that are kept
export const replayed = 200 // calls that a new event stream begins with, at most
const most = 20_000 // calls: 15 minutes of 20 a second, and some

export class Recent {
	points = [] // {id, call, begun, end, took, tone}
	#byId = new Map()

	clear() {
		this.points = []
		this.#byId.clear()
	}

	// add takes calls in any order; those that end before what is there are sorted in.
	add(calls, now = Date.now()) {
		let last = this.points.at(-1)?.end ?? -Infinity
		let sorted = true
		for (const call of calls) {
			const known = this.#byId.get(call.id)
			const point = pointOf(call)
			if (!point || point.end < now - reachBack) continue
			if (known) {
				Object.assign(known, point)
				continue
			}
			sorted &&= point.end >= last
			last = point.end
			this.#byId.set(call.id, point)
			this.points.push(point)
		}
		if (!sorted) this.points.sort((a, b) => a.end - b.end)
		this.#forget(now)
	}

	has(id) {
		return this.#byId.has(id)
	}

	// from is the index of the first point that ended at or after time.
	from(time) {
		let low = 0
		for (let high = this.points.length; low < high; ) {
			const middle = (low + high) >> 1
			if (this.points[middle].end < time) low = middle + 1
			else high = middle
		}
		return low
	}

	// Forgetting moves the whole list: it waits until much of it is old.
	#forget(now) {
		const old = Math.max(this.from(now - reachBack), this.points.length - most)
		if (old < 512 && old < this.points.length / 4) return
		for (const { id } of this.points.splice(0, old)) this.#byId.delete(id)
	}
}

function pointOf(call) {
	const begun = parseTime(call.timestamp)?.getTime()
	if (begun === undefined) return null
	const tone = (verdicts[call.verdict] ?? verdictUnknown).tone
	return { id: call.id, call, begun, end: begun + call.latencyMs, took: Math.max(call.latencyMs, 1), tone }
}
