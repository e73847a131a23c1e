// Settings: what is in force, and where each value came from. They are changed where they came from, not here.

import { read } from './actions.js'
import { byId, h, panel, setText, show, table } from './dom.js'
import { settingsTexts } from './texts.js'

export class Room {
	constructor(page) {
		page.append(panel('settings-panel', settingsTexts.title, [h('span.muted', settingsTexts.about)],
			h('p.foot#settings-none', { role: 'status', hidden: true }),
			table('settings', settingsTexts.columns)))
	}

	async open() {
		try {
			this.#show((await read('/console/settings'))?.settings ?? [])
			show('settings', true)
			show('settings-none', false)
		} catch (error) {
			setText('settings-none', error.message)
			show('settings-none', true)
		}
	}

	#show(settings) {
		byId('settings').tBodies[0].replaceChildren(...settings.map((one) => {
			const cell = (name, ...children) => h(`td.${name}`, { role: 'cell' }, ...children)
			const source = h('span.source', { 'data-set': one.source !== 'default' }, settingsTexts.sources[one.source] ?? one.source)
			return h('tr', { role: 'row' },
				cell('key', h('code', one.key), h('span.muted', one.help ?? '')),
				cell('value', one.value === '' || one.value === undefined ? h('span.muted', settingsTexts.empty) : h('code', String(one.value))),
				cell('source', source),
				cell('set', h('code', one.flag ? `--${one.flag.replace(/^--/, '')}` : ''), h('code.muted', one.env ?? '')))
		}))
	}
}
