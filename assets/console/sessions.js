// The sessions page: it asks for what there is while it can be seen, and changes nothing.

import { byId, element, label, mark, setMark, setText, setTitle } from './dom.js'
import { sessionStates, texts } from './texts.js'
import { Transcript } from './transcript.js'

const pause = 1000 // ms between two looks

label(document)
const transcript = new Transcript(byId('transcript'))
const rows = new Map() // id -> {row, link, title, state, about}
let shown // id of the session whose words are shown
let next = 1
let timer
let looking = false
let again = false // somebody asked for a look while one was under way

async function ask(path) {
  const answer = await fetch(path)
  if (answer.status === 404) return null
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  return answer.json()
}

// look brings the page up to date, one look at a time.
async function look() {
  if (looking) {
    again = true
    return
  }
  looking = true
  try {
    const list = (await ask('/console/api/sessions'))?.sessions ?? []
    showList(list)
    await readOn()
    byId('lost').hidden = true
  } catch {
    byId('lost').hidden = false
  }
  looking = false
  clearTimeout(timer)
  if (document.visibilityState !== 'hidden') timer = setTimeout(look, again ? 0 : pause)
  again = false
}

function showList(list) {
  byId('none').hidden = list.length > 0
  byId('sessions').hidden = list.length === 0
  const there = new Set(list.map((one) => one.id))
  for (const [id, { row }] of rows) {
    if (there.has(id)) continue
    rows.delete(id)
    row.remove()
  }
  list.forEach((one, index) => fill(rowOf(one.id, index), one))
  const wanted = location.hash.slice(1)
  choose(there.has(wanted) ? wanted : there.has(shown) ? shown : list[0]?.id)
  const now = list.find((one) => one.id === shown)
  if (now) {
    setText(byId('title'), titleOf(now))
    setText(byId('about'), aboutOf(now))
    setText(byId('take-part'), texts.readOnly(now.id))
  }
}

function rowOf(id, index) {
  let known = rows.get(id)
  if (!known) {
    const row = element('li')
    const link = element('a')
    link.href = `#${id}`
    const line = element('span', 'line')
    const title = element('span', 'clip')
    const state = mark('mark')
    line.append(title, state)
    const about = element('span', 'muted clip')
    link.append(line, about)
    row.append(link)
    known = { row, link, title, state, about }
    rows.set(id, known)
  }
  const list = byId('list')
  if (list.children[index] !== known.row) list.insertBefore(known.row, list.children[index] ?? null)
  return known
}

function fill({ link, title, state, about }, one) {
  setText(title, titleOf(one))
  setTitle(title, titleOf(one))
  setMark(state, sessionStates[one.state] ?? { word: one.state, shape: 'ring', tone: 'calm' })
  setText(about, aboutOf(one))
  setTitle(about, one.workspace)
  link.setAttribute('aria-current', String(one.id === shown))
}

const titleOf = (one) => one.title || texts.untitled
const aboutOf = (one) => [one.upstream, one.model, one.workspace].filter(Boolean).join(' · ')

function choose(id) {
  if (id === shown) return
  shown = id
  next = 1
  transcript.clear()
  for (const [other, { link }] of rows) link.setAttribute('aria-current', String(other === id))
}

// readOn reads what the shown session has said since. Another may be chosen meanwhile: then its answer counts for
// nothing.
async function readOn() {
  const id = shown
  while (id && id === shown) {
    const page = await ask(`/console/api/sessions/events?id=${encodeURIComponent(id)}&from=${next}`)
    if (!page?.events.length || id !== shown) return
    transcript.add(page.events)
    next = page.next
  }
}

addEventListener('hashchange', look)
document.addEventListener('visibilitychange', look)
look()
