import { h } from './dom.js'
import { texts } from './texts.js'

// turn is what one side said in a conversation: words that grow, perhaps thoughts above them, and how it ended below. Who
// reads at the end stays there; who has scrolled up is left alone. Foreign text enters as text, never as markup.
export function turn(box, who, name) {
	const words = h('p.words')
	const node = h('div.said', h('p.who', name), words)
	node.dataset.who = who
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
		end: (text, tone) => stay(() => {
			const end = h('p.end', text)
			end.dataset.tone = tone
			node.append(end)
		}),
	}
}
