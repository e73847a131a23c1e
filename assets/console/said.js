import { h } from './dom.js'
import { texts } from './texts.js'

// turn is what one side said in a conversation: words that grow, perhaps thoughts above them, and how it ended below. Who
// reads at the end stays there; who has scrolled up is left alone. Foreign text enters as text, never as markup.
export function turn(box, who, name) {
	const words = h('p.words')
	const node = h('div.said', { 'data-who': who }, h('p.who', name), words)
	box.append(node)
	box.scrollTop = box.scrollHeight
	let thoughts
	const stay = (change) => {
		const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40
		change()
		if (atEnd) box.scrollTop = box.scrollHeight
	}
	return {
		words,
		say: (text) => stay(() => words.append(text)),
		think: (text) => stay(() => {
			if (!thoughts) {
				thoughts = h('p')
				words.before(h('details', h('summary', texts.reasoning), thoughts))
			}
			thoughts.append(text)
		}),
		end: (text, tone) => stay(() => node.append(h('p.end', { 'data-tone': tone }, text))),
	}
}
