// The console: a house with rooms. Each is a module that is loaded when it is entered for the first time, and is told what
// happens while somebody is in it.

import { byId, h, label, show } from './dom.js'
import { Recent, replayed } from './recent.js'
import { Capture, showAbove, showPhase, showRoom } from './shell.js'
import { follow } from './stream.js'
import { texts } from './texts.js'

const rooms = {
	overview: () => import('./overview.js'),
	calls: () => import('./calls.js'),
	try: () => import('./try.js'),
	data: () => import('./data.js'),
	studio: () => import('./studio.js'),
	doctor: () => import('./doctor.js'),
	settings: () => import('./settings.js'),
	sessions: () => import('./sessions.js'),
}
const pace = 250 // ms between two changes of what is shown: nobody reads faster

const connecting = { word: texts.connecting, shape: 'ring', tone: 'calm' }
const notAnswering = { word: texts.notAnswering, shape: 'ring', tone: 'calm' }

label(document)
showPhase(connecting)

const app = { recent: new Recent(), capture: new Capture(() => tell('captured')), status: null }
const entered = new Map() // name -> a promise of the room
let here // the room that is shown
let hereName = ''
let capturing // how messages are being kept, as far as is known
let origin // which run of the companion the page shows

const tell = (what, ...about) => here?.[what]?.(...about)

async function enter() {
	if (location.hash === '#main') return byId('main').focus()
	const [name, ...rest] = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent)
	const wanted = rooms[name] ? name : 'overview'
	hereName = wanted
	showRoom(wanted)
	if (!entered.has(wanted)) entered.set(wanted, build(wanted))
	const room = await entered.get(wanted)
	if (hereName !== wanted) return // somebody was faster on the way to another
	if (here !== room) {
		tell('close')
		here = room
		for (const page of byId('main').children) show(page, page === room.page)
		if (app.status) tell('status', app.status)
	}
	tell('open', rest.join('/'))
}

async function build(name) {
	const module = await rooms[name]()
	const page = h('div.page', { id: `page-${name}`, hidden: true })
	byId('main').append(page) // before the room is made, so that it finds its parts by their ids
	const room = new module.Room(page, app)
	room.page = page
	return room
}

// soon puts off what comes too fast, and draws all of it in one frame.
let timer
let shownAt = 0
function soon() {
	timer ??= setTimeout(() => {
		timer = undefined
		shownAt = performance.now()
		if (!app.status) return
		showAbove(app.status)
		tell('status', app.status)
	}, Math.max(0, shownAt + pace - performance.now()))
}

const restart = follow('/console/events', {
	onStatus(status) {
		const from = `${status.instanceId} ${status.startedAt}`
		const first = from !== origin
		if (origin !== undefined && first) {
			// Another run counts its calls from the start: what is shown, and where the stream resumed, are void.
			app.recent.clear()
			for (const room of entered.values()) room.then((made) => made.reset?.())
			origin = from
			restart()
		}
		origin = from
		setLost(false)
		app.status = status
		if (first || status.capture !== capturing) app.capture.refresh()
		capturing = status.capture
		soon()
	},
	onCalls(page) {
		const gap = page.calls.length >= replayed && !page.calls.some(({ id }) => app.recent.has(id))
		app.recent.add(page.calls)
		app.capture.more()
		if (gap) entered.get('overview')?.then((overview) => overview.missed())
		for (const [name, room] of entered) room.then((made) => made.calls?.(page.calls, name === hereName))
		soon()
	},
	onLost() {
		setLost(true)
		showPhase(notAnswering)
	},
})

function setLost(lost) {
	show('lost', lost)
	byId('main').classList.toggle('stale', lost)
}

addEventListener('hashchange', enter)
enter()
