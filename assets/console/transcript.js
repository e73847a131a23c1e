// What was said in one session, drawn from its events.

import { count } from './format.js'
import { turn } from './said.js'
import { texts, turnEnds } from './texts.js'

export class Transcript {
	#log
	#answer // of the turn under way

	constructor(log) {
		this.#log = log
	}

	clear() {
		this.#log.replaceChildren()
		this.#answer = undefined
	}

	// add takes events in their order.
	add(events) {
		for (const event of events) this.#take(event.type, event.payload ?? {})
	}

	#take(type, payload) {
		switch (type) {
			case 'turn.started':
			case 'turn.steered': {
				const images = payload.images?.length
				turn(this.#log, 'user', images ? `${texts.you} · ${texts.images(images)}` : texts.you).say(payload.text ?? '')
				this.#answer = undefined
				break
			}
			case 'message.delta':
				this.#current().say(payload.text ?? '')
				break
			case 'message.reasoning':
				this.#current().think(payload.text ?? '')
				break
			case 'session.error':
				this.#current().end(payload.hint ? `${payload.message} · ${payload.hint}` : payload.message, 'bad')
				break
			case 'turn.completed':
				this.#complete(payload)
				break
		}
	}

	#current() {
		this.#answer ??= turn(this.#log, 'model', texts.model)
		return this.#answer
	}

	#complete({ reason, usage, model }) {
		const end = turnEnds[reason] ?? { word: reason, tone: 'warn' }
		const parts = [end.word, model, usage && texts.usage(count(usage.input_tokens), count(usage.output_tokens))]
		this.#current().end(parts.filter(Boolean).join(' · '), end.tone)
		this.#answer = undefined
	}
}
