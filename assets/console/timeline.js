// The timeline: each call is a bar from its begin to its end, as high as it took long (a logarithmic scale). What did not
// end well has a mark besides its colour. It is drawn only when something changed: a page is often left open.

import { clockOf, duration, minutesOf } from './format.js'
import { pixelOf, Raster, spriteOf } from './raster.js'

const spans = [15 * 60_000, 10 * 60_000, 5 * 60_000, 2 * 60_000, 60_000, 30_000] // ms, from the whole to the closest
const lines = [10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000] // ms that have a line and a word
const low = Math.log(lines[0])
const tones = ['good', 'calm', 'warn', 'bad'] // the worse is drawn over the better
const pad = { left: 52, right: 12, top: 10, bottom: 22 }
const bar = 5 // px
const near = 14 // px within which a call is meant
const slowest = 250 // ms between two drawings of a line that only moves on

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
	#scale = 1
	#raster = null
	#top = lines[3] // ms at the upper edge
	#perLog = 0 // px
	#frame = 0
	#timer = 0
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
	}

	// changed: there may be more calls.
	changed() {
		this.#soon()
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
		this.#canvas.onpointerdown = (event) => {
			from = { x: event.offsetX, right: this.#right() }
			this.#canvas.setPointerCapture(event.pointerId)
		}
		this.#canvas.onpointermove = (event) => {
			const x = event.offsetX
			if (from && Math.abs(x - from.x) > 4) {
				const moved = from.right - ((x - from.x) / this.#inner()) * this.span
				this.#fixed = Math.min(Date.now(), moved)
				this.#onPick(this.#picked, false)
				this.#soon()
				return
			}
			this.#pick(this.#nearest(x, event.offsetY))
		}
		this.#canvas.onpointerup = () => (from = null)
		this.#canvas.onpointercancel = () => (from = null)
		this.#canvas.onpointerleave = () => this.#pick(null)
		this.#canvas.onwheel = (event) => {
			if (!event.ctrlKey && !event.metaKey) return // scrolling the page is the commoner wish
			event.preventDefault()
			this.zoom(event.deltaY < 0 ? 1 : -1)
			this.#onPick(this.#picked, false)
		}
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

	#y(took) {
		return this.#height - pad.bottom - (Math.log(Math.min(Math.max(took, lines[0]), this.#top)) - low) * this.#perLog
	}

	#resize() {
		const { clientWidth, clientHeight } = this.#canvas
		if (clientWidth === 0) return
		this.#scale = Math.min(devicePixelRatio || 1, 2)
		this.#width = clientWidth
		this.#height = clientHeight
		this.#canvas.width = Math.round(clientWidth * this.#scale)
		this.#canvas.height = Math.round(clientHeight * this.#scale)
		this.#raster = new Raster(this.#canvas.width, this.#canvas.height)
		this.#colours = null // their marks are as large as the pixels are many
		this.#soon()
	}

	#soon() {
		this.#frame ||= requestAnimationFrame(() => {
			this.#frame = 0
			this.draw()
		})
	}

	draw() {
		if (!this.#open || this.#width === 0) return
		const pen = this.#pen
		const right = this.#right()
		const seen = this.#recent.from(right - this.span)
		this.#colours ??= coloursOf(this.#canvas, this.#scale)
		this.#setTop(seen)
		this.#plot(seen, right)
		pen.setTransform(1, 0, 0, 1, 0, 0)
		pen.clearRect(0, 0, this.#canvas.width, this.#canvas.height)
		pen.scale(this.#scale, this.#scale)
		this.#drawGrid(right)
		pen.drawImage(this.#raster.canvas, 0, 0, this.#width, this.#height)
		if (this.#picked) this.#drawPicked(right)
		clearTimeout(this.#timer)
		// What moves by less than a pixel need not be drawn again.
		if (!this.paused) this.#timer = setTimeout(() => this.#soon(), Math.max(slowest, this.span / this.#inner()))
	}

	#setTop(seen) {
		let most = lines[3]
		const { points } = this.#recent
		for (let i = seen; i < points.length; i++) if (points[i].took > most) most = points[i].took
		this.#top = lines.find((line) => line >= most) ?? most
		this.#perLog = (this.#height - pad.bottom - pad.top) / (Math.log(this.#top) - low)
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

	// The worse is put over the better, and behind them all a stem under the highest of each column.
	#plot(seen, right) {
		const { points } = this.#recent
		const raster = this.#raster
		const scale = this.#scale
		const left = (pad.left * scale) | 0
		const thick = (bar * scale) | 0
		raster.clear()
		for (const tone of tones) {
			const { pixel, sprite } = this.#colours.marks[tone]
			const marks = []
			for (let i = seen; i < points.length; i++) {
				const point = points[i]
				if (point.end > right) break
				if (point.tone !== tone) continue
				const x = this.#x(point.end, right)
				const end = (x * scale) | 0
				const y = (this.#y(point.took) * scale) | 0
				const length = Math.max(4, ((point.end - point.begun) / this.span) * this.#inner())
				raster.fill(Math.max(left, ((x - length) * scale) | 0), y - (thick >> 1), end, y - (thick >> 1) + thick, pixel)
				raster.stem(end - 1, y, pixel)
				if (sprite) marks.push(end, y)
			}
			for (let i = 0; i < marks.length; i += 2) raster.stamp(sprite, marks[i], marks[i + 1])
		}
		raster.finish(((this.#height - pad.bottom) * scale) | 0)
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
		const length = Math.min(x - pad.left, Math.max(4, x - this.#x(this.#picked.begun, right)))
		pen.lineWidth = 2
		pen.strokeRect(x - length - 2, y - bar / 2 - 2, length + 4, bar + 4)
	}
}

// The shape of a tone besides its colour: a triangle, a cross, a ring.
const shapes = {
	warn(pen, colour, panel) {
		pen.moveTo(0, -5)
		pen.lineTo(5, 4)
		pen.lineTo(-5, 4)
		pen.closePath()
		pen.fillStyle = colour
		pen.strokeStyle = panel
		pen.fill()
	},
	bad(pen) {
		pen.moveTo(-4, -4)
		pen.lineTo(4, 4)
		pen.moveTo(-4, 4)
		pen.lineTo(4, -4)
		pen.lineWidth = 2.5
	},
	calm(pen, colour, panel) {
		pen.arc(0, 0, 4, 0, 2 * Math.PI)
		pen.fillStyle = panel
		pen.fill()
		pen.lineWidth = 2
	},
}

function coloursOf(canvas, scale) {
	const style = getComputedStyle(canvas)
	const colour = (name) => style.getPropertyValue(`--${name}`).trim()
	const marks = Object.fromEntries(tones.map((tone) => [tone, {
		pixel: pixelOf(colour(tone)),
		sprite: shapes[tone] && spriteOf(Math.ceil(13 * scale), (pen) => {
			pen.scale(scale, scale)
			pen.strokeStyle = colour(tone)
			shapes[tone](pen, colour(tone), colour('panel'))
			pen.stroke()
		}),
	}]))
	return { font: `11px ${colour('sans')}`, ink: colour('ink'), line: colour('line'), muted: colour('muted'), marks }
}

// stepOf is how far times are written apart: none touches the next.
function stepOf(span, width) {
	const fits = Math.max(2, Math.floor(width / 90))
	return [5, 10, 15, 30, 60, 120, 300, 600].map((seconds) => seconds * 1000).find((step) => span / step <= fits) ?? span
}
