// Buttons that copy the text of another element, named by data-copy; data-word is what they say instead of “Copy”.

import { byId, h, setText } from './dom.js'
import { texts } from './texts.js'

const shownFor = 1500 // ms that a button says what became of the click

export function copyButton(of, label, word) {
	const button = h(word ? 'button.wide' : 'button', { label })
	button.dataset.copy = of
	if (word) button.dataset.word = word
	return button
}

export function enableCopying(root) {
	for (const button of root.querySelectorAll('button[data-copy]')) {
		if (button.dataset.ready) continue
		button.dataset.ready = 'true'
		const word = button.dataset.word ?? texts.copy
		let timer
		button.textContent = word
		button.addEventListener('click', async () => {
			const done = await copy(byId(button.dataset.copy))
			setText(button, done ? texts.copied : texts.notCopied)
			clearTimeout(timer)
			timer = setTimeout(() => setText(button, word), shownFor)
		})
	}
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
