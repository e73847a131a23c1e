// The small drawings beside a model. They are SVG, so the colours of the page reach them.

import { setTitle } from './dom.js'

const space = 'http://www.w3.org/2000/svg'
const width = 160
const height = 36

// The upper ends of the histogram's columns, in ms; the last column has none.
export const columns = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]

export function drawing(className) {
	const svg = document.createElementNS(space, 'svg')
	svg.setAttribute('class', `chart ${className}`)
	svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
	svg.setAttribute('preserveAspectRatio', 'none')
	svg.setAttribute('role', 'img')
	svg.append(document.createElementNS(space, 'path'), document.createElementNS(space, 'path'))
	return svg
}

function show(svg, first, second, label) {
	const [a, b] = svg.querySelectorAll('path')
	if (a.getAttribute('d') !== first) a.setAttribute('d', first)
	if (b.getAttribute('d') !== second) b.setAttribute('d', second)
	if (svg.getAttribute('aria-label') === label) return
	svg.setAttribute('aria-label', label)
	setTitle(svg.parentNode, label)
}

export function histogram(svg, durations, label) {
	const counts = new Array(columns.length + 1).fill(0)
	for (const took of durations) {
		const at = columns.findIndex((end) => took <= end)
		counts[at < 0 ? columns.length : at]++
	}
	const most = Math.max(...counts, 1)
	const step = width / counts.length
	const bars = counts.map((count, i) => {
		const tall = count === 0 ? 0 : Math.max(2, (count / most) * (height - 2))
		return `M${i * step + 1} ${height - 1}v${-tall.toFixed(1)}h${step - 2}v${tall.toFixed(1)}z`
	})
	show(svg, `M0 ${height - 0.5}h${width}`, bars.join(''), label)
}

export function sparkline(svg, values, label) {
	const most = Math.max(...values, 1)
	const points = values.map((value, i) => {
		const x = values.length === 1 ? width : (i / (values.length - 1)) * (width - 4) + 2
		return `${x.toFixed(1)} ${(height - 3 - (value / most) * (height - 6)).toFixed(1)}`
	})
	const line = points.length === 0 ? '' : points.length === 1 ? `M2 ${points[0].split(' ')[1]}H${width - 2}` : `M${points.join('L')}`
	show(svg, `M0 ${height - 0.5}h${width}`, line, label)
}
