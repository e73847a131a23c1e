// The few ways in which this page changes: each writes only what differs, so that a screen reader, a text selection
// and the layout are left alone while numbers tick. Foreign text enters through here as text, never as markup.

import { dash, texts } from './texts.js'

export const byId = (id) => document.getElementById(id)

export function element(name, className, role) {
  const node = document.createElement(name)
  if (className) node.className = className
  if (role) node.setAttribute('role', role)
  return node
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

export function setTitle(node, text) {
  if (node.title !== text) node.title = text
}

// setValue shows text, or that it is unknown: a dash to the eye, the word to a screen reader.
export function setValue(node, text) {
  const unknown = text === null || text === undefined || text === ''
  if (!unknown) return setText(node, text)
  if (node.firstElementChild?.className === 'unknown') return
  const eye = element('span', 'unknown')
  eye.setAttribute('aria-hidden', 'true')
  eye.textContent = dash
  const ear = element('span', 'unseen')
  ear.textContent = texts.unknown
  node.replaceChildren(eye, ear)
}

// setMark shows one of the words of texts.js with its shape and tone. Its node holds a .shape and a .word.
export function setMark(node, { word, shape, tone, why = '' }) {
  const drawn = node.querySelector('.shape')
  if (drawn.dataset.shape !== shape) drawn.dataset.shape = shape
  if (node.dataset.tone !== tone) node.dataset.tone = tone
  setText(node.querySelector('.word'), word)
  setTitle(node, why)
}

export function mark(className) {
  const node = element('span', className)
  const shape = element('i', 'shape')
  shape.setAttribute('aria-hidden', 'true')
  node.append(shape, element('span', 'word'))
  return node
}

// label fills in the words that index.html names.
export function label(root) {
  for (const node of root.querySelectorAll('[data-text]')) node.textContent = texts[node.dataset.text]
  for (const node of root.querySelectorAll('[data-label]')) node.setAttribute('aria-label', texts[node.dataset.label])
}
