// The timeline: each call is a bar from its begin to its end, as high as it took long (a logarithmic scale). What did not
// end well has a mark besides its colour. It is drawn only when something changed: a page is often left open.

import { clockOf, duration, minutesOf } from './format.js'

const spans = [15 * 60_000, 10 * 60_000, 5 * 60_000, 2 * 60_000, 60_000, 30_000] // ms, from the whole to the closest
const lines = [10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000] // ms that have a line and a word
const tones = ['good', 'calm', 'warn', 'bad'] // the worse is drawn over the better
const pad = { left: 52, right: 12, top: 10, bottom: 22 }
const bar = 5 // px
const near = 14 // px within which a call is meant
const pace = 250 // ms between two drawings that nobody waits for

export class Timeline {
	#canvas
	#pen
	#recent
	#onPick
	#zoom = 0
	#fixed = null // the time at the right edge while it is paused
	#picked = null
	#colours = null
	#width = 0
	#height = 0
	#stamps = new Uint8Array(0)
	#stems = new Float32Array(0)
	#frame = 0
	#timer = 0
	#drawnAt = 0
	#open = false

	// onPick is told of the call under the pointer or the arrow keys, or of null.
	constructor(canvas, recent, onPick) {
		this.#canvas = canvas
		this.#pen = canvas.getContext('2d')
		this.#recent = recent
		this.#onPick = onPick
		new ResizeObserver(() => this.#resize()).observe(canvas)
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
			this.#colours = null
			this.#soon()
		})
		this.#listen()
	}

	open() {
		this.#open = true
		this.#soon()
	}

	close() {
		this.#open = false
		clearTimeout(this.#timer)
		this.#timer = 0
	}

	// changed: there are more calls; a burst is drawn once.
	changed() {
		this.#later(Math.max(0, this.#drawnAt + pace - performance.now()))
	}

	get paused() {
		return this.#fixed !== null
	}

	get span() {
		return spans[this.#zoom]
	}

	get picked() {
		return this.#picked
	}

	pause(on = !this.paused) {
		this.#fixed = on ? (this.#fixed ?? Date.now()) : null
		this.#soon()
	}

	// zoom steps closer (1) or further away (-1); can says whether there is such a step.
	zoom(by) {
		this.#zoom = Math.min(spans.length - 1, Math.max(0, this.#zoom + by))
		this.#soon()
	}

	can(by) {
		return spans[this.#zoom + by] !== undefined
	}

	// step picks the call before or after the picked one; without one, the last.
	step(by) {
		const { points } = this.#recent
		const at = points.indexOf(this.#picked)
		this.#pick(at < 0 ? (points.at(-1) ?? null) : (points[at + by] ?? this.#picked))
		if (!this.#picked) return
		if (this.#picked.end < this.#right() - this.span || this.#picked.end > this.#right()) {
			this.#fixed = Math.min(Date.now(), this.#picked.end + this.span / 2)
			this.#soon()
		}
	}

	#right() {
		return this.#fixed ?? Date.now()
	}

	#listen() {
		let from = null // where a drag began: {x, right}
		const place = (event) => event.clientX - this.#canvas.getBoundingClientRect().left
		this.#canvas.addEventListener('pointerdown', (event) => {
			from = { x: place(event), right: this.#right() }
			this.#canvas.setPointerCapture(event.pointerId)
		})
		this.#canvas.addEventListener('pointermove', (event) => {
			const x = place(event)
			if (from && Math.abs(x - from.x) > 4) {
				const moved = from.right - ((x - from.x) / this.#inner()) * this.span
				this.#fixed = Math.min(Date.now(), moved)
				this.#onPick(this.#picked, false)
				this.#soon()
				return
			}
			this.#pick(this.#nearest(x, event.clientY - this.#canvas.getBoundingClientRect().top))
		})
		this.#canvas.addEventListener('pointerup', () => (from = null))
		this.#canvas.addEventListener('pointercancel', () => (from = null))
		this.#canvas.addEventListener('pointerleave', () => this.#pick(null))
		this.#canvas.addEventListener('wheel', (event) => {
			if (!event.ctrlKey && !event.metaKey) return // scrolling the page is the commoner wish
			event.preventDefault()
			this.zoom(event.deltaY < 0 ? 1 : -1)
			this.#onPick(this.#picked, false)
		}, { passive: false })
	}

	#pick(point) {
		if (point === this.#picked) return
		this.#picked = point
		this.#onPick(point, true)
		this.#soon()
	}

	#nearest(x, y) {
		const right = this.#right()
		const perPx = this.span / this.#inner()
		const { points } = this.#recent
		let best = null
		let least = near * near
		for (let i = this.#recent.from(right - this.span); i < points.length; i++) {
			const point = points[i]
			const x1 = this.#x(point.end, right)
			const x0 = Math.min(x1 - 4, this.#x(point.begun, right))
			if (x0 - near > x) {
				if (point.end - right > this.span || perPx > 200) break // those after it begin later still
				continue
			}
			const dx = x < x0 ? x0 - x : x > x1 ? x - x1 : 0
			const dy = y - this.#y(point.took)
			// The stem counts as well.
			const away = Math.min(dx * dx + dy * dy, dy < 0 ? Infinity : 9 * (x - x1) * (x - x1) + 16)
			if (away <= least) {
				least = away
				best = point
			}
		}
		return best
	}

	#inner() {
		return Math.max(1, this.#width - pad.left - pad.right)
	}

	#x(time, right) {
		return this.#width - pad.right - ((right - time) / this.span) * this.#inner()
	}

	#top = lines[3]

	#y(took) {
		const low = Math.log(lines[0])
		const share = (Math.log(Math.min(Math.max(took, lines[0]), this.#top)) - low) / (Math.log(this.#top) - low)
		return this.#height - pad.bottom - share * (this.#height - pad.bottom - pad.top)
	}

	#resize() {
		const { clientWidth, clientHeight } = this.#canvas
		if (clientWidth === 0) return
		const scale = Math.min(devicePixelRatio || 1, 2)
		this.#width = clientWidth
		this.#height = clientHeight
		this.#canvas.width = Math.round(clientWidth * scale)
		this.#canvas.height = Math.round(clientHeight * scale)
		this.#pen.setTransform(scale, 0, 0, scale, 0, 0)
		this.#stamps = new Uint8Array(tones.length * (clientWidth + 1) * (clientHeight + 1))
		this.#stems = new Float32Array(clientWidth + 1)
		this.#soon()
	}

	#soon() {
		this.#frame ||= requestAnimationFrame(() => {
			this.#frame = 0
			this.draw()
		})
	}

	#later(wait) {
		if (this.#timer || !this.#open || document.visibilityState === 'hidden') return
		this.#timer = setTimeout(() => {
			this.#timer = 0
			this.#soon()
		}, wait)
	}

	draw() {
		if (!this.#open || this.#width === 0) return
		const pen = this.#pen
		const right = this.#right()
		const seen = this.#recent.from(right - this.span)
		this.#colours ??= coloursOf(this.#canvas)
		this.#setTop(seen)
		pen.clearRect(0, 0, this.#width, this.#height)
		this.#drawGrid(right)
		pen.save()
		pen.beginPath()
		pen.rect(pad.left, 0, this.#inner() + pad.right, this.#height)
		pen.clip()
		this.#stamps.fill(0)
		tones.forEach((tone, level) => this.#drawTone(tone, level, seen, right))
		if (this.#picked) this.#drawPicked(right)
		pen.restore()
		this.#drawnAt = performance.now()
		// What moves by less than a pixel need not be drawn again.
		if (!this.paused) this.#later(Math.max(pace, this.span / this.#inner()))
	}

	#setTop(seen) {
		let most = lines[3]
		const { points } = this.#recent
		for (let i = seen; i < points.length; i++) if (points[i].took > most) most = points[i].took
		this.#top = lines.find((line) => line >= most) ?? most
	}

	#drawGrid(right) {
		const pen = this.#pen
		const { line, muted, font } = this.#colours
		pen.lineWidth = 1
		pen.strokeStyle = line
		pen.fillStyle = muted
		pen.font = font
		pen.textAlign = 'right'
		pen.textBaseline = 'middle'
		pen.beginPath()
		for (const value of lines) {
			if (value > this.#top) break
			const y = Math.round(this.#y(value)) + 0.5
			pen.moveTo(pad.left, y)
			pen.lineTo(this.#width - pad.right, y)
			pen.fillText(duration(value).replace('.0', ''), pad.left - 8, y)
		}
		pen.stroke()
		const step = stepOf(this.span, this.#inner())
		pen.textBaseline = 'alphabetic'
		pen.textAlign = 'center'
		for (let time = Math.ceil((right - this.span) / step) * step; time <= right; time += step) {
			const x = this.#x(time, right)
			if (x < pad.left + 20 || x > this.#width - 24) continue
			pen.fillText((step < 60_000 ? clockOf : minutesOf)(new Date(time)), x, this.#height - 6)
		}
	}

	// Calls that would cover one another exactly are drawn once: that is most of ten thousand.
	#drawTone(tone, level, seen, right) {
		const { points } = this.#recent
		const pen = this.#pen
		const base = this.#height - pad.bottom
		const plane = level * (this.#width + 1) * (this.#height + 1)
		const marks = []
		pen.fillStyle = this.#colours[tone]
		this.#stems.fill(base)
		for (let i = seen; i < points.length; i++) {
			const point = points[i]
			if (point.tone !== tone) continue
			const end = this.#x(point.end, right)
			if (end > this.#width + 8) break
			const y = this.#y(point.took)
			const column = Math.max(0, Math.min(this.#width, end | 0))
			const stamp = plane + column * (this.#height + 1) + (y | 0)
			if (this.#stamps[stamp]) continue
			this.#stamps[stamp] = 1
			if (y < this.#stems[column]) this.#stems[column] = y
			const length = Math.max(4, ((point.end - point.begun) / this.span) * this.#inner())
			pen.fillRect(end - length, y - bar / 2, length, bar)
			if (tone !== 'good') marks.push(end, y)
		}
		pen.globalAlpha = 0.28
		for (let x = 0; x <= this.#width; x++) {
			if (this.#stems[x] < base) pen.fillRect(x - 1, this.#stems[x], 1, base - this.#stems[x])
		}
		pen.globalAlpha = 1
		if (marks.length > 0) drawMarks(pen, tone, marks, this.#colours)
	}

	#drawPicked(right) {
		const pen = this.#pen
		const x = this.#x(this.#picked.end, right)
		const y = this.#y(this.#picked.took)
		pen.strokeStyle = this.#colours.ink
		pen.lineWidth = 1
		pen.beginPath()
		pen.moveTo(Math.round(x) - 0.5, y)
		pen.lineTo(Math.round(x) - 0.5, this.#height - pad.bottom)
		pen.stroke()
		const length = Math.max(4, x - this.#x(this.#picked.begun, right))
		pen.lineWidth = 2
		pen.strokeRect(x - length - 2, y - bar / 2 - 2, length + 4, bar + 4)
	}
}

function drawMarks(pen, tone, marks, { panel }) {
	const r = 4
	pen.beginPath()
	for (let i = 0; i < marks.length; i += 2) {
		const x = marks[i]
		const y = marks[i + 1]
		if (tone === 'warn') {
			pen.moveTo(x, y - r - 1)
			pen.lineTo(x + r + 1, y + r)
			pen.lineTo(x - r - 1, y + r)
			pen.closePath()
		} else if (tone === 'bad') {
			pen.moveTo(x - r, y - r)
			pen.lineTo(x + r, y + r)
			pen.moveTo(x + r, y - r)
			pen.lineTo(x - r, y + r)
		} else {
			pen.moveTo(x + r, y)
			pen.arc(x, y, r, 0, 2 * Math.PI)
		}
	}
	const colour = pen.fillStyle
	if (tone === 'calm') {
		pen.fillStyle = panel
		pen.fill()
		pen.fillStyle = colour
	}
	if (tone === 'warn') pen.fill()
	pen.strokeStyle = tone === 'warn' ? panel : colour
	pen.lineWidth = tone === 'bad' ? 2.5 : tone === 'warn' ? 1 : 2
	pen.stroke()
}

function coloursOf(canvas) {
	const style = getComputedStyle(canvas)
	const colours = { font: `11px ${style.getPropertyValue('--sans')}` }
	for (const name of ['ink', 'panel', 'line', 'muted', 'good', 'warn', 'bad', 'calm']) colours[name] = style.getPropertyValue(`--${name}`).trim()
	return colours
}

// stepOf is how far times are written apart: none touches the next.
function stepOf(span, width) {
	const fits = Math.max(2, Math.floor(width / 90))
	return [5, 10, 15, 30, 60, 120, 300, 600].map((seconds) => seconds * 1000).find((step) => span / step <= fits) ?? span
}
