// The few ways in which this page changes: each writes only what differs, so that a screen reader, a text selection
// and the layout are left alone while numbers tick. Foreign text enters through here as text, never as markup.

import { dash, texts } from './texts.js'

export const byId = (id) => document.getElementById(id)

// A node is given as one, or by its id.
const nodeOf = (node) => (typeof node === 'string' ? byId(node) : node)

export function show(of, shown) {
	const node = nodeOf(of)
	if (node.hidden !== !shown) node.hidden = !shown
}

export function setText(of, text) {
	const node = nodeOf(of)
	if (node.textContent !== text) node.textContent = text
}

export function setTitle(of, text) {
	const node = nodeOf(of)
	if (node.title !== text) node.title = text
}

// setValue shows text, or that it is unknown: a dash to the eye, the word to a screen reader.
export function setValue(of, text) {
	const node = nodeOf(of)
	const unknown = text === null || text === undefined || text === ''
	if (!unknown) return setText(node, text)
	if (node.firstElementChild?.className === 'unknown') return
	node.replaceChildren(h('span.unknown', { 'aria-hidden': 'true' }, dash), h('span.unseen', texts.unknown))
}

// setMark shows one of the words of texts.js with its shape and tone. Its node holds a .shape and a .word.
export function setMark(of, { word, shape, tone, why = '' }) {
	const node = nodeOf(of)
	const drawn = node.querySelector('.shape')
	if (drawn.dataset.shape !== shape) drawn.dataset.shape = shape
	if (node.dataset.tone !== tone) node.dataset.tone = tone
	setText(node.querySelector('.word'), word)
	setTitle(node, why)
}

export function mark() {
	return h('span.mark', h('i.shape', { 'aria-hidden': 'true' }), h('span.word'))
}

// label fills in the words that index.html names.
export function label(root) {
	for (const node of root.querySelectorAll('[data-text]')) node.textContent = texts[node.dataset.text]
	for (const node of root.querySelectorAll('[data-label]')) node.setAttribute('aria-label', texts[node.dataset.label])
}

// h makes an element and what is in it: h('p.muted#why', { title: 'x' }, 'text', node). A property is set as one where
// the element has it, else as an attribute; text enters as text.
export function h(name, props, ...children) {
	const [, tag, classes, id] = /^(\w+)((?:\.[\w-]+)*)(?:#(.+))?$/.exec(name)
	const node = document.createElement(tag)
	if (classes) node.className = classes.slice(1).replaceAll('.', ' ')
	if (id) node.id = id
	if (tag === 'button') node.type = 'button'
	if (Object.getPrototypeOf(props ?? 0) !== Object.prototype) children.unshift(props)
	else for (const [key, value] of Object.entries(props)) {
		if (key === 'label') node.setAttribute('aria-label', value)
		else if (key in node && key !== 'role') node[key] = value
		else node.setAttribute(key, value)
	}
	node.append(...children.flat().filter((child) => child !== null && child !== undefined))
	return node
}

export function showMark(drawn) {
	const node = mark()
	setMark(node, drawn)
	return node
}

export function option(value, text) {
	return h('option', { value }, text)
}

// setOptions keeps what was chosen.
export function setOptions(select, wanted) {
	if (select.options.length === wanted.length && wanted.every(([value, text], i) => select.options[i].value === value && select.options[i].text === text)) return
	const chosen = select.value
	select.replaceChildren(...wanted.map(([value, text]) => option(value, text)))
	if (wanted.some(([value]) => value === chosen)) select.value = chosen
}

// table stands in the panel of its name, each column under its text. The roles hold where it is laid out as cards.
export function table(name, columns) {
	const heads = Object.entries(columns).map(([column, text]) => h(`th.${column}`, { scope: 'col', role: 'columnheader' }, text))
	return h(`table.${name}#${name}`, { role: 'table', hidden: true, 'aria-labelledby': `${name}-panel-title` },
		h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ...heads)), h('tbody', { role: 'rowgroup' }))
}

// panel is one card: a heading, what stands beside it, and the rest.
export function panel(id, title, beside, ...children) {
	const heading = h('h2', { id: `${id}-title` }, title)
	return h('section.panel', { id, 'aria-labelledby': heading.id }, h('div.head', heading, h('div.beside', beside ?? [])), ...children)
}
