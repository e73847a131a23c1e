// What the page asks of the companion: reading, and the few things that it may do. It brings along the token that came
// with the page, which no other page can read.

import { texts } from './texts.js'

const headers = { 'Content-Type': 'application/json', 'X-Chatwright-Token': document.querySelector('[name=chatwright-token]').content }

// A Refusal says what a person should read, and what to do about it.
export class Refusal extends Error {
	constructor(message, hint, status) {
		super(message)
		this.hint = hint
		this.status = status
	}

	get text() {
		return [this.message, this.hint].filter(Boolean).join(' · ')
	}
}

// read answers with what a route says, or null where there is no such route or thing.
export async function read(path, signal) {
	const answer = await reach(path, { signal })
	if (answer.status === 404) return null
	try {
		return await answer.json()
	} catch {
		throw new Refusal(texts.refused(answer.status))
	}
}

export async function act(name, body = {}) {
	await reach(`/console/actions/${name}`, { method: 'POST', body: JSON.stringify(body) })
}

// save downloads a file, which a link could not: it brings no token.
export async function save(path) {
	const answer = await reach(path, { method: 'GET' })
	const link = document.createElement('a')
	link.href = URL.createObjectURL(await answer.blob())
	link.download = answer.headers.get('Content-Disposition').split('"')[1]
	link.click()
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

async function reach(path, request) {
	let answer
	try {
		answer = await fetch(path, { ...request, headers })
	} catch (error) {
		if (error.name === 'AbortError') throw error
		throw new Refusal(texts.noAnswer)
	}
	if (answer.ok || (answer.status === 404 && !request.method)) return answer
	throw await refusalOf(answer)
}

// An error answer has one of our shapes, or an upstream's.
export async function refusalOf(answer) {
	const text = await answer.text()
	try {
		const { error, hint } = JSON.parse(text)
		return new Refusal(error?.message ?? String(error), hint ?? error?.hint, answer.status)
	} catch {
		return new Refusal(texts.refused(answer.status), text.slice(0, 200), answer.status)
	}
}
