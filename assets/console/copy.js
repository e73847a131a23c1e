// A button that copies the text of another element. It says “Copy”, or the word that it is given.

import { byId, h, setText } from './dom.js'
import { texts } from './texts.js'

const shownFor = 1500 // ms that a button says what became of the click

export function copyButton(of, label, word = texts.copy) {
	let timer
	const button = h(word === texts.copy ? 'button' : 'button.wide', {
		label,
		async onclick() {
			const done = await copy(byId(of))
			setText(button, done ? texts.copied : texts.notCopied)
			clearTimeout(timer)
			timer = setTimeout(() => setText(button, word), shownFor)
		},
	}, word)
	return button
}

async function copy(node) {
	try {
		await navigator.clipboard.writeText(node.textContent)
		return true
	} catch {
		// Browsers keep the clipboard from pages that were reached by a plain name over HTTP, and from those the user
		// refused it. The old command may still work; if not, the text stays selected, one key away.
		getSelection().selectAllChildren(node)
		return document.execCommand('copy')
	}
}
