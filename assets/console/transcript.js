// What was said in one session, drawn from its events. Foreign text enters as text, never as markup.

import { element, setText } from './dom.js'
import { count } from './format.js'
import { texts, turnEnds } from './texts.js'

export class Transcript {
  #log
  #answer // of the turn under way: {node, words, thought}

  constructor(log) {
    this.#log = log
  }

  clear() {
    this.#log.replaceChildren()
    this.#answer = undefined
  }

  // add takes events in their order. Who reads at the end stays there; who has scrolled up is left alone.
  add(events) {
    const log = this.#log
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40
    for (const event of events) this.#take(event.type, event.payload ?? {})
    if (atEnd) log.scrollTop = log.scrollHeight
  }

  #take(type, payload) {
    switch (type) {
      case 'turn.started':
      case 'turn.steered':
        this.#say('user', texts.you, payload.text, payload.images?.length)
        this.#answer = undefined
        break
      case 'message.delta':
        this.#current().words.append(payload.text ?? '')
        break
      case 'message.reasoning':
        this.#thought().append(payload.text ?? '')
        break
      case 'session.error':
        this.#end('bad', payload.hint ? `${payload.message} · ${payload.hint}` : payload.message)
        break
      case 'turn.completed':
        this.#complete(payload)
        break
    }
  }

  #say(who, name, text, images) {
    const node = element('div', 'said')
    node.dataset.who = who
    const by = element('p', 'who')
    setText(by, images ? `${name} · ${texts.images(images)}` : name)
    const words = element('p', 'words')
    words.textContent = text ?? ''
    node.append(by, words)
    this.#log.append(node)
    return { node, words }
  }

  #current() {
    this.#answer ??= this.#say('model', texts.model, '')
    return this.#answer
  }

  #thought() {
    const answer = this.#current()
    if (!answer.thought) {
      const details = element('details')
      const summary = element('summary')
      summary.textContent = texts.reasoning
      answer.thought = element('p')
      details.append(summary, answer.thought)
      answer.words.before(details)
    }
    return answer.thought
  }

  #end(tone, text) {
    const node = element('p', 'end')
    node.dataset.tone = tone
    node.textContent = text
    this.#current().node.append(node)
  }

  #complete({ reason, usage, model }) {
    const end = turnEnds[reason] ?? { word: reason, tone: 'warn' }
    const parts = [end.word, model, usage && texts.usage(count(usage.input_tokens), count(usage.output_tokens))]
    this.#end(end.tone, parts.filter(Boolean).join(' · '))
    this.#answer = undefined
  }
}
