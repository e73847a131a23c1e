// Data state: one query at a time on a holder, which is a database that is configured by name. It is read-only on the
// companion's side, whatever is written here.

import { byId, element, mark, setMark, setText, setTitle } from './dom.js'
import { dataExamples, dataTexts, dataVerdicts, holderReaches, holderText, rowsText } from './texts.js'

const expectations = Object.keys(dataTexts.expectations)
const counted = (type) => type.endsWith('RowCount')
const keep = 'data-query' // what was written survives a reload of the tab, and no longer

// An Exact is a number with the digits that the companion sent: 1.50, and integers beyond 2^53.
class Exact {
  constructor(digits) {
    this.digits = digits
  }
  toJSON() {
    return JSON.rawJSON ? JSON.rawJSON(this.digits) : Number(this.digits)
  }
}

// Where the browser does not tell the source of a number, it is the nearest one it has.
const exact = (_, value, context) => (typeof value === 'number' && context?.source ? new Exact(context.source) : value)

export class DataState {
  #holders = []
  #running

  constructor() {
    this.#fillChoices()
    byId('data-run').addEventListener('click', () => this.#run())
    byId('data-query').addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        this.#run()
      }
    })
    byId('data-query').addEventListener('input', () => this.#written())
    byId('data-expect').addEventListener('change', () => this.#written())
    byId('data-example').addEventListener('change', ({ target }) => {
      byId('data-query').value = dataExamples[target.value].query
      byId('data-params').value = dataExamples[target.value].params ?? ''
      target.value = ''
      this.#written()
      byId('data-query').focus()
    })
    byId('data-holder').addEventListener('change', () => this.#showReach())
    byId('data-query').value = sessionStorage.getItem(keep) ?? dataExamples[0].query
    this.#written()
  }

  // refresh asks which holders there are. It is called when the page connects, and after a query that found one gone.
  async refresh() {
    try {
      const response = await fetch('/datastate/holders')
      if (!response.ok) return
      this.#showHolders((await response.json()).holders)
    } catch {
      // the companion is not answering, which the page says above
    }
  }

  #fillChoices() {
    for (const [i, { name }] of dataExamples.entries()) byId('data-example').append(option(String(i), name))
    for (const type of expectations) byId('data-expect').append(option(type, dataTexts.expectations[type]))
    byId('data-verdict').append(mark('mark'))
    setMark(byId('data-verdict').firstElementChild, dataVerdicts.notYet)
  }

  #showHolders(holders) {
    this.#holders = holders
    byId('data-none').hidden = holders.length > 0
    byId('data-ask').hidden = holders.length === 0
    // Only where there is somebody to ask is there something to announce.
    if (holders.length > 0) byId('data-verdict').setAttribute('role', 'status')
    const list = byId('data-holder')
    if (holders.map(({ name }) => name).join('\n') !== Array.from(list.options, ({ value }) => value).join('\n')) {
      const chosen = list.value
      list.replaceChildren(...holders.map(({ name, kind }) => option(name, holderText(name, kind))))
      if (holders.some(({ name }) => name === chosen)) list.value = chosen
    }
    this.#showReach()
  }

  #showReach() {
    const holder = this.#holders.find(({ name }) => name === byId('data-holder').value)
    if (!holder) return
    setMark(byId('data-reach'), holderReaches[holder.reach] ?? holderReaches.unknown)
    setText(byId('data-reach-detail'), holder.detail ?? '')
    byId('data-reach-detail').hidden = !holder.detail
  }

  // written follows what the query needs: values for its params, a number for an expectation that counts.
  #written() {
    const query = byId('data-query').value
    sessionStorage.setItem(keep, query)
    byId('data-params-field').hidden = !/\bparam\b/.test(query)
    byId('data-count').hidden = !counted(byId('data-expect').value)
  }

  #request() {
    const query = byId('data-query').value
    const request = { holder: byId('data-holder').value, query, evidence: true, keepOrder: true }
    const params = byId('data-params').value.trim()
    if (params && !byId('data-params-field').hidden) {
      try {
        request.params = JSON.parse(params, exact)
      } catch {
        throw new Error(dataTexts.badParams)
      }
      if (Object.getPrototypeOf(request.params ?? 0) !== Object.prototype) throw new Error(dataTexts.badParams)
    }
    const type = byId('data-expect').value
    if (type !== 'none') request.expectations = [counted(type) ? { type, count: byId('data-count').valueAsNumber || 0 } : { type }]
    return request
  }

  async #run() {
    this.#running?.abort()
    const mine = new AbortController()
    this.#running = mine
    byId('data-run').setAttribute('aria-busy', 'true')
    let answer
    try {
      answer = await ask(this.#request(), mine.signal)
    } catch (error) {
      if (mine.signal.aborted) return // a later click overtook this one
      answer = { verdict: 'none', rows: null, detail: error.message }
    }
    byId('data-run').removeAttribute('aria-busy')
    showAnswer(answer)
    this.refresh()
  }
}

async function ask(request, signal) {
  let response, text
  try {
    response = await fetch('/datastate/query', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
      signal,
    })
    text = await response.text()
  } catch {
    throw new Error(dataTexts.noAnswer)
  }
  const answer = JSON.parse(text, exact)
  if (!response.ok) throw new Error(answer.error)
  return answer
}

function option(value, text) {
  const node = element('option')
  node.value = value
  node.textContent = text
  return node
}

function showAnswer({ verdict, rows, detail, evidence }) {
  setMark(byId('data-verdict').firstElementChild, dataVerdicts[verdict] ?? dataVerdicts.none)
  setText(byId('data-detail'), detail)
  byId('data-detail').hidden = !detail
  const total = Number(evidence?.totalRows?.digits ?? rows?.length ?? 0)
  setText(byId('data-rows-count'), rows ? rowsText(rows.length, total, evidence?.collation) : '')
  showRows(rows ?? [])
}

// showRows makes the table anew: rows of one query have nothing to do with those of another.
function showRows(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))].sort()
  const numbers = new Set(names.filter((name) => rows.every((row) => (row[name] ?? null) === null || row[name] instanceof Exact || typeof row[name] === 'number')))
  const table = byId('data-rows')
  table.tHead.rows[0].replaceChildren(
    ...names.map((name) => {
      const cell = element('th', numbers.has(name) ? 'number' : '')
      cell.scope = 'col'
      cell.textContent = name
      return cell
    }),
  )
  table.tBodies[0].replaceChildren(
    ...rows.map((row) => {
      const line = element('tr')
      line.append(...names.map((name) => valueCell(row[name], numbers.has(name))))
      return line
    }),
  )
  byId('data-table').hidden = rows.length === 0
}

function valueCell(value, number) {
  const cell = element('td', number ? 'number' : '')
  if (value === undefined) return cell // this row has no such column
  if (value === null || typeof value === 'boolean') cell.classList.add('literal')
  const text = typeof value === 'string' ? value : value instanceof Exact ? value.digits : JSON.stringify(value)
  cell.textContent = text
  setTitle(cell, text)
  return cell
}
