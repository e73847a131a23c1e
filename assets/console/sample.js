// Which model the command of the empty state names.

import { read } from './actions.js'

const fallback = 'llama3.2' // while nobody tells; the upstream's answer then says what it has instead

// The name goes into a command that people paste into a shell, so only plain names are taken.
const plain = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}$/

let asked // the upstream that was asked last
let answer

// modelToTry asks each upstream once for its models, and not before it is known to answer.
export function modelToTry(upstream) {
	if (upstream.demo) return 'chatwright-demo'
	if (upstream.reach !== 'ok') return fallback
	if (asked !== upstream.baseURL) {
		asked = upstream.baseURL
		answer = firstModel()
	}
	return answer
}

async function firstModel() {
	try {
		const names = (await read('/console/models')).models.map(({ id }) => id).filter((id) => plain.test(id))
		return names.find((id) => !/embed/i.test(id)) ?? names[0] ?? fallback
	} catch {
		return fallback // that the upstream fails is shown above
	}
}
