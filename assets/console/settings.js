// Settings: what is in force, and where each value came from. They are changed where they came from, not here.

import { read } from './actions.js'
import { byId, h, panel, setText, show } from './dom.js'
import { settingsTexts } from './texts.js'

export class Room {
	constructor(page) {
		const heads = Object.entries(settingsTexts.columns).map(([name, text]) => h(`th.${name}`, { scope: 'col', role: 'columnheader' }, text))
		page.append(panel('settings', settingsTexts.title, [h('span.muted', settingsTexts.about)],
			h('p.foot#settings-none', { role: 'status', hidden: true }),
			h('table.settings#settings-table', { role: 'table', 'aria-labelledby': 'settings-title' },
				h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ...heads)), h('tbody', { role: 'rowgroup' }))))
	}

	async open() {
		try {
			this.#show((await read('/console/settings'))?.settings ?? [])
			show('settings-none', false)
		} catch (error) {
			setText('settings-none', error.message)
			show('settings-none', true)
		}
	}

	#show(settings) {
		byId('settings-table').tBodies[0].replaceChildren(...settings.map((one) => {
			const cell = (name, ...children) => {
				const node = h(`td.${name}`, { role: 'cell' }, ...children)
				node.dataset.head = settingsTexts.columns[name]
				return node
			}
			const source = h('span.source', settingsTexts.sources[one.source] ?? one.source)
			source.dataset.set = String(one.source !== 'default')
			return h('tr', { role: 'row' },
				cell('key', h('code', one.key), h('span.muted', one.help ?? '')),
				cell('value', one.value === '' || one.value === undefined ? h('span.muted', settingsTexts.empty) : h('code', String(one.value))),
				cell('source', source),
				cell('set', h('code', one.flag ? `--${one.flag.replace(/^--/, '')}` : ''), h('code.muted', one.env ?? '')))
		}))
	}
}
