// The calls table: one row a call, newest first. A row is made once and found again by the call's id, so a call that
// comes twice (after a reconnection) changes its row and adds none.

import { byId, element, mark, setMark, setText, setTitle, setValue } from './dom.js'
import { clockTime, count, duration, parseTime, sameDay, speed, wholeTime } from './format.js'
import { columns, neverReached, tokensOf, verdictUnknown, verdicts } from './texts.js'

const most = 200 // rows; the companion keeps as many

export class CallsTable {
  #table = byId('calls')
  #body = this.#table.tBodies[0]
  #rows = new Map() // call id -> {call, cells, row}, oldest first
  #day = new Date()

  constructor() {
    const head = this.#table.tHead.rows[0]
    for (const [name, text] of Object.entries(columns)) {
      const cell = element('th', name, 'columnheader')
      cell.scope = 'col'
      cell.textContent = text
      head.append(cell)
    }
  }

  get size() {
    return this.#rows.size
  }

  clear() {
    this.#rows.clear()
    this.#body.replaceChildren()
    this.#table.hidden = true
  }

  // add takes calls in the order they ended.
  add(calls) {
    this.#turnDay()
    const fresh = document.createDocumentFragment()
    for (const call of calls.slice(-most)) {
      let known = this.#rows.get(call.id)
      if (!known) {
        known = newRow()
        this.#rows.set(call.id, known)
        fresh.prepend(known.row)
      }
      known.call = call
      fill(known.cells, call, this.#day)
    }
    this.#body.prepend(fresh)
    for (const [id, { row }] of this.#rows) {
      if (this.#rows.size <= most) break
      this.#rows.delete(id)
      row.remove()
    }
    this.#table.hidden = this.#rows.size === 0
  }

  // A time of another day is shown with its date, so a new day is written into the rows that stay.
  #turnDay() {
    const now = new Date()
    if (sameDay(now, this.#day)) return
    this.#day = now
    for (const { cells, call } of this.#rows.values()) fill(cells, call, now)
  }
}

function newRow() {
  const row = element('tr', '', 'row')
  const cells = {}
  for (const [name, text] of Object.entries(columns)) {
    const cell = element('td', name, 'cell')
    cell.dataset.head = text // on narrow screens the figure carries its own heading
    cells[name] = cell
    row.append(cell)
  }
  cells.time.append(element('time'))
  cells.verdict.append(mark('mark'))
  return { row, cells }
}

function fill(cells, call, now) {
  const time = parseTime(call.timestamp)
  const shown = cells.time.firstElementChild
  setValue(shown, time && clockTime(time, now))
  if (time) {
    shown.dateTime = call.timestamp
    setTitle(shown, wholeTime(time))
  }
  setForeign(cells.model, call.model)
  setValue(cells.status, call.status ? String(call.status) : null)
  setTitle(cells.status, call.status ? '' : neverReached)
  const verdict = verdicts[call.verdict] ?? { ...verdictUnknown, why: call.verdict }
  setMark(cells.verdict.firstElementChild, verdict)
  setValue(cells.latency, duration(call.latencyMs))
  setValue(cells.firstToken, duration(call.firstTokenMs))
  fillTokens(cells.tokens, call)
  setValue(cells.speed, speed(call.tokensPerSecond))
  setForeign(cells.finish, call.finishReason)
  setText(cells.error, call.error ?? '')
  setTitle(cells.error, call.error ?? '')
  cells.error.dataset.tone = verdict.tone // a model that is loading, say, is no error
}

// Counts of zero are left out on the wire, so it is usageKnown that tells nothing from not known.
function fillTokens(cell, call) {
  const answer = call.usageKnown ? (call.completionTokens ?? 0) : null
  setValue(cell, count(answer))
  setTitle(cell, call.usageKnown ? tokensOf(answer, call.promptTokens ?? 0) : '')
}

// A foreign name may be cut by the layout; the tooltip has it whole.
function setForeign(cell, text) {
  setValue(cell, text)
  setTitle(cell, text ?? '')
}
