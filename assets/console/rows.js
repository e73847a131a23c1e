// A list of which only those rows are in the page that can be seen.

import { h } from './dom.js'

const spare = 6 // rows above and below the screen, so that scrolling meets no hole

export class Rows {
	#box
	#all = h('div.all', { role: 'rowgroup' })
	#window = h('div.window', { role: 'presentation' })
	#source
	#rows = []
	#frame = 0
	#length = 0
	#size = 0
	#active = -1
	#first = 0

	// box scrolls. The source is {length(), make() -> node, fill(node, index), near(), picked(index)}.
	constructor(box, source) {
		this.#box = box
		this.#source = source
		this.#all.append(this.#window)
		box.append(this.#all)
		box.addEventListener('scroll', () => this.#soon(), { passive: true })
		new ResizeObserver(() => this.#soon()).observe(box)
		box.onkeydown = (event) => this.#key(event)
		this.#window.onclick = (event) => {
			const row = this.#rows.indexOf(event.target.closest('[role="row"]'))
			if (row >= 0) this.pick(this.#first + row)
		}
	}

	get active() {
		return this.#active
	}

	// changed: rows came or changed, above many of them on top.
	changed(above = 0) {
		if (above > 0) {
			if (this.#active >= 0) this.#active += above
			// Who reads further down keeps the lines under the eye.
			if (this.#box.scrollTop > 0 && this.#size > 0) {
				this.#resize()
				this.#box.scrollTop += above * this.#size
			}
		}
		this.#soon()
	}

	begin() {
		this.#active = -1
		this.#box.scrollTop = 0
		this.#soon()
	}

	pick(index) {
		if (index < 0 || index >= this.#source.length()) return
		this.#active = index
		this.#resize() // it may be picked before anything was drawn
		this.#show(index)
		this.draw()
		this.#source.picked(index)
	}

	#show(index) {
		const { scrollTop, clientHeight } = this.#box
		const top = index * this.#size
		const room = clientHeight - this.#all.offsetTop
		if (top < scrollTop) this.#box.scrollTop = top
		else if (top + this.#size > scrollTop + room) this.#box.scrollTop = top + this.#size - room
	}

	#key(event) {
		if (event.target !== this.#box || event.ctrlKey || event.metaKey || event.altKey) return
		const last = this.#source.length() - 1
		const page = Math.max(1, Math.floor(this.#box.clientHeight / (this.#size || 1)) - 2)
		const to = {
			ArrowDown: this.#active + 1,
			ArrowUp: Math.max(0, this.#active - 1),
			PageDown: Math.min(last, Math.max(0, this.#active) + page),
			PageUp: Math.max(0, this.#active - page),
			Home: 0,
			End: last,
		}[event.key]
		if (to === undefined) return
		event.preventDefault()
		this.pick(Math.min(to, last))
	}

	#soon() {
		this.#frame ||= requestAnimationFrame(() => {
			this.#frame = 0
			this.draw()
		})
	}

	#resize() {
		const length = this.#source.length()
		// The height of a row is one of the style sheet's: it changes with the width of the window.
		const size = parseFloat(getComputedStyle(this.#box).getPropertyValue('--row'))
		if (length === this.#length && size === this.#size) return
		this.#length = length
		this.#size = size
		this.#all.style.setProperty('height', `${length * size}px`)
		this.#box.setAttribute('aria-rowcount', String(length + 1))
	}

	draw() {
		if (this.#box.clientHeight === 0) return // not to be seen
		this.#resize()
		const { scrollTop, clientHeight } = this.#box
		const first = Math.max(0, Math.floor(scrollTop / this.#size) - spare)
		const end = Math.min(this.#length, Math.ceil((scrollTop + clientHeight) / this.#size) + spare)
		while (this.#rows.length < end - first) this.#rows.push(this.#source.make())
		const shown = this.#rows.slice(0, Math.max(0, end - first))
		if (this.#window.childElementCount !== shown.length) this.#window.replaceChildren(...shown)
		this.#first = first
		this.#window.style.setProperty('transform', `translateY(${first * this.#size}px)`)
		shown.forEach((row, i) => this.#fill(row, first + i))
		const active = shown[this.#active - first]
		if (active) this.#box.setAttribute('aria-activedescendant', active.id)
		else this.#box.removeAttribute('aria-activedescendant')
		if (end > this.#length - 50) this.#source.near()
	}

	#fill(row, index) {
		row.id = `row-${index}`
		row.setAttribute('aria-rowindex', String(index + 2))
		row.setAttribute('aria-selected', String(index === this.#active))
		this.#source.fill(row, index)
	}
}
