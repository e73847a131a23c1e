// Try it: a small chat with the current upstream, by calls like any other.

import { read, Refusal, refusalOf } from './actions.js'
import { byId, h, panel, setOptions, setText, show } from './dom.js'
import { duration, speed } from './format.js'
import { turn } from './said.js'
import { texts, timelineTexts, tryTexts } from './texts.js'

export class Room {
	#messages = [] // what goes up: {role, content}
	#running = null
	#asked = '' // the upstream whose models are listed

	constructor(page) {
		page.append(panel('try', tryTexts.title,
			[h('label', h('span.muted', tryTexts.model), h('select#try-model')),
				h('button.wide#try-clear', { disabled: true }, tryTexts.clear)],
			h('div.talk#try-talk', { role: 'log', tabIndex: 0, label: tryTexts.talk }, h('p.muted#try-hint', tryTexts.hint)),
			h('div.ask', null,
				h('textarea#try-text', { rows: 3, placeholder: tryTexts.placeholder, label: tryTexts.message }),
				h('div.bar', null,
					h('label', h('input#try-json', { type: 'checkbox' }), h('span', tryTexts.json)),
					h('span.end.muted.keys', tryTexts.keys),
					h('button.primary#try-send', tryTexts.send)),
				h('label.schema#try-schema-field', { hidden: true }, h('span.muted', tryTexts.schema),
					h('textarea#try-schema', { rows: 9, spellcheck: false, wrap: 'off' }, tryTexts.schemaExample)))))
		this.#wire()
	}

	open() {
		this.#asked = ''
		this.#models()
		byId('try-text').focus({ preventScroll: true })
	}

	status({ upstream }) {
		if (this.#asked !== `${upstream.baseURL} ${upstream.reach}`) this.#models(`${upstream.baseURL} ${upstream.reach}`)
	}

	async #models(of = this.#asked) {
		this.#asked = of
		let models = []
		try {
			models = (await read('/console/models'))?.models ?? []
		} catch {
			// the list stays empty, and the answer to a message says why
		}
		const chats = models.filter(({ id }) => !/embed/i.test(id))
		const ready = [...chats].sort((a, b) => (b.state === 'loaded') - (a.state === 'loaded'))
		setOptions(byId('try-model'), ready.length > 0 ? ready.map(({ id }) => [id, id]) : [['', tryTexts.noModels]])
	}

	#wire() {
		byId('try-send').onclick = () => (this.#running ? this.#running.abort() : this.#send())
		byId('try-clear').onclick = () => this.#clear()
		byId('try-json').onchange = ({ target }) => show('try-schema-field', target.checked)
		byId('try-text').onkeydown = (event) => {
			if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
			event.preventDefault()
			if (!this.#running) this.#send()
		}
	}

	#clear() {
		this.#running?.abort()
		this.#messages = []
		byId('try-talk').replaceChildren(h('p.muted#try-hint', tryTexts.hint))
		byId('try-clear').disabled = true
		byId('try-text').focus()
	}

	async #send() {
		const text = byId('try-text').value.trim()
		if (!text) return byId('try-text').focus()
		const box = byId('try-talk')
		byId('try-hint')?.remove()
		byId('try-clear').disabled = false
		const asked = turn(box, 'user', texts.you)
		asked.words.textContent = text
		const answer = turn(box, 'model', byId('try-model').value || texts.model)
		const mine = new AbortController()
		this.#running = mine
		setText('try-send', tryTexts.stop)
		byId('try-text').value = ''
		const messages = [...this.#messages, { role: 'user', content: text }]
		try {
			const said = await ask(this.#request(messages), mine.signal, answer)
			if (this.#running === mine) this.#messages = [...messages, { role: 'assistant', content: said }]
		} catch (error) {
			if (mine.signal.aborted) answer.end(tryTexts.stopped, 'calm')
			else answer.end(error.text ?? error.message, 'bad')
			// What got no answer is given back, to be sent again.
			if (!mine.signal.aborted && !byId('try-text').value.trim()) byId('try-text').value = text
		}
		if (this.#running !== mine) return
		this.#running = null
		setText('try-send', tryTexts.send)
	}

	#request(messages) {
		const request = { model: byId('try-model').value, messages, stream: true, stream_options: { include_usage: true } }
		if (byId('try-json').checked) {
			let schema
			try {
				schema = JSON.parse(byId('try-schema').value)
			} catch (error) {
				throw new Refusal(tryTexts.badSchema(error.message))
			}
			request.response_format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
		}
		return request
	}
}

async function ask(request, signal, answer) {
	const begun = performance.now()
	let response
	try {
		response = await fetch('/v1/chat/completions', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request), signal })
	} catch (error) {
		if (signal.aborted) throw error
		throw new Refusal(texts.noAnswer)
	}
	if (!response.ok) throw await refusalOf(response)
	let first, usage, finish
	let said = ''
	for await (const chunk of chunksOf(response)) {
		if (chunk.error) throw new Refusal(chunk.error.message ?? String(chunk.error))
		usage = chunk.usage ?? usage
		const choice = chunk.choices?.[0]
		finish = choice?.finish_reason ?? finish
		const { content, reasoning_content: thought, reasoning } = choice?.delta ?? choice?.message ?? {}
		if (content || thought || reasoning) first ??= performance.now()
		if (thought || reasoning) answer.think(thought || reasoning)
		if (content) {
			said += content
			answer.say(content)
		}
	}
	conclude(answer, request, { said, usage, finish, took: performance.now() - begun, first: first && first - begun })
	return said
}

function conclude(answer, request, { said, usage, finish, took, first }) {
	if (request.response_format) {
		try {
			answer.words.textContent = JSON.stringify(JSON.parse(said), null, 2)
			answer.words.classList.add('mono')
			answer.end(tryTexts.isJSON, 'good')
		} catch {
			answer.end(tryTexts.noJSON, 'warn')
		}
	}
	const tokens = usage?.completion_tokens
	const rate = tokens > 0 && first !== undefined && took > first ? speed((1000 * tokens) / (took - first)) : null
	answer.end([duration(took), first !== undefined && timelineTexts.first(duration(first)), tokens !== undefined && timelineTexts.tokens(tokens), rate,
		finish && finish !== 'stop' && tryTexts.finish(finish)].filter(Boolean).join(' · '), 'plain')
}

// chunksOf reads an event stream, or one answer in a piece from a server that does not stream.
async function* chunksOf(response) {
	if (!/event-stream/.test(response.headers.get('Content-Type') ?? '')) {
		yield response.json()
		return
	}
	let rest = ''
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
	for (;;) {
		const { done, value } = await reader.read()
		rest += done ? '\n' : value
		const lines = rest.split(/\r\n|\n|\r/)
		rest = lines.pop()
		for (const line of lines) {
			if (!line.startsWith('data:')) continue
			const data = line.slice(5).trim()
			if (data === '[DONE]') return
			if (data) yield JSON.parse(data)
		}
		if (done) return
	}
}
