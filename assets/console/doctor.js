// Doctor: what was looked at, how it came out, and what to do about it. The checks run when somebody wishes them.

import { read } from './actions.js'
import { copyButton } from './copy.js'
import { byId, h, panel, setText, showMark } from './dom.js'
import { checkStates, doctorTexts } from './texts.js'

export class Room {
	constructor(page) {
		page.append(panel('doctor', doctorTexts.title, [h('button.wide#doctor-run', { onclick: () => this.open() }, doctorTexts.again)],
			h('p.lead#doctor-sum', { role: 'status' }), h('ul.checks#doctor-checks')))
	}

	async open() {
		const button = byId('doctor-run')
		if (button.disabled) return
		button.disabled = true
		setText('doctor-sum', doctorTexts.running)
		try {
			this.#show((await read('/console/doctor'))?.checks ?? [])
		} catch (error) {
			setText('doctor-sum', error.text)
		}
		button.disabled = false
	}

	#show(checks) {
		const count = (state) => checks.filter((check) => check.state === state).length
		setText('doctor-sum', doctorTexts.sum(count('failed'), count('warning'), checks.length))
		byId('doctor-checks').replaceChildren(...checks.map((check, i) => {
			const row = h('li', h('span.state', showMark(checkStates[check.state] ?? checkStates.unknown)),
				h('div', h('p.name', check.name), h('p.muted', check.detail)))
			if (check.fix) row.lastElementChild.append(fix(check.fix, `fix-${i}`))
			return row
		}))
	}
}

function fix(text, id) {
	return h('div.try', h(`span#${id}`, text), copyButton(id, doctorTexts.copyFix))
}
