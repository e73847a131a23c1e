// Everything above the calls table, drawn from one protocol.Status.

import { byId, element, setMark, setText, setTitle, setValue } from './dom.js'
import { count, duration, parseTime, share, shortTime, speed, wholeTime } from './format.js'
import { phases, reaches, since, studio, texts, tiles } from './texts.js'

export function showPhase(phase) {
  setMark(byId('phase'), phase)
  const title = texts.title(phase.word)
  if (document.title !== title) document.title = title
}

export function showStatus(status) {
  showPhase(phases[status.phase] ?? { word: texts.unknown, shape: 'ring', tone: 'calm' })
  setText(byId('version'), status.version)
  showLine(byId('detail'), status.detail)
  setText(byId('address'), baseURL(status.addr))
  showUpstream(status.upstream)
  showUI(status.ui, status.studio)
  showSessions(status.sessions)
  showNotices(status.notices ?? [])
  showTiles(status.metrics, parseTime(status.startedAt))
}

// baseURL is how a program on this machine reaches addr: one that means "every interface" is no address to call.
export function baseURL(addr) {
  return `http://${addr.replace(/^(0\.0\.0\.0|\[::\]|)(?=:\d+$)/, '127.0.0.1')}`
}

function showLine(node, text) {
  setText(node, text ?? '')
  node.hidden = !text
}

function showUpstream(upstream) {
  setText(byId('upstream'), upstream.name || texts.noUpstream)
  setTitle(byId('upstream'), upstream.name)
  setMark(byId('reach'), reaches[upstream.reach] ?? reaches.unknown)
  byId('reach').hidden = !upstream.name
  setText(byId('upstream-detail'), upstream.detail || (upstream.demo ? texts.demo : upstream.baseURL))
}

// The count is there where the user wants sessions shown, and so is the page.
function showSessions(sessions) {
  const link = byId('sessions-link')
  link.hidden = !sessions
  if (sessions) setText(link, `${texts.sessions}: ${texts.liveSessions(sessions.live, sessions.running)}`)
}

// kept is the state of the offline copy, where one is kept.
function showUI(ui, kept) {
  const here = ui.source !== 'console'
  const doing = kept ? studio.doing(kept, here) : ''
  const link = byId('ui-link')
  const target = here ? studio.open : studio.hosted
  const hint = byId('ui-hint')
  const shown = [ui.source, ui.version, Boolean(kept), doing].join(' ')
  if (hint.dataset.shown === shown) return
  hint.dataset.shown = shown

  link.textContent = target.word
  link.href = target.href
  link.rel = 'noreferrer'
  if (here) {
    setText(byId('ui'), ui.source === 'folder' ? studio.folder : studio.copy(ui.version))
    hint.textContent = doing || (ui.source === 'folder' ? studio.folderHint : studio.copyHint)
    byId('ui').after(link)
    return
  }
  setText(byId('ui'), studio.none)
  if (doing) {
    hint.replaceChildren(doing + studio.meanwhile, link)
    return
  }
  const [before, flag, between] = kept ? studio.keptHint : studio.noneHint
  const code = element('code')
  code.textContent = flag
  hint.replaceChildren(before, code, between, link)
}

// Notices are keyed by their cause, as the companion keeps at most one for each.
function showNotices(notices) {
  const list = byId('notices')
  const kept = new Map(Array.from(list.children, (node) => [node.dataset.cause, node]))
  const nodes = notices.map((notice) => {
    const node = kept.get(notice.cause) ?? newNotice(notice.cause)
    const [text, way] = node.querySelectorAll('p')
    setText(text, notice.text)
    showLine(way, notice.hint)
    const time = parseTime(notice.since)
    const shown = node.querySelector('time')
    setText(shown, time ? since(shortTime(time, new Date())) : '')
    setTitle(shown, time ? wholeTime(time) : '')
    return node
  })
  if (nodes.length !== list.children.length || nodes.some((node, i) => node !== list.children[i])) {
    list.replaceChildren(...nodes)
  }
  list.hidden = nodes.length === 0
}

function newNotice(cause) {
  const node = element('li', 'notice')
  node.dataset.cause = cause
  node.dataset.tone = 'warn'
  const shape = element('i', 'shape')
  shape.dataset.shape = 'triangle'
  shape.setAttribute('aria-hidden', 'true')
  const words = element('div')
  words.append(element('p'), element('p', 'muted'))
  node.append(shape, words, element('time', 'muted'))
  return node
}

export function makeTiles() {
  for (const [name, { label }] of Object.entries(tiles)) {
    const tile = element('div', name)
    const term = element('dt')
    term.textContent = label
    tile.append(term, element('dd', 'value'), element('dd', 'muted'))
    byId('tiles').append(tile)
    showTile(name, null)
  }
}

function showTile(name, value, figure) {
  const [shown, under] = byId('tiles').querySelectorAll(`.${name} > dd`)
  const { caption } = tiles[name]
  setValue(shown, value)
  setText(under, typeof caption === 'function' ? caption(figure) : caption)
  return under
}

function showTiles(metrics, started) {
  const calls = showTile('calls', count(metrics.calls), started && shortTime(started, new Date()))
  setTitle(calls, started ? wholeTime(started) : '')
  showTile('inFlight', count(metrics.inFlight))
  showTile('errors', count(metrics.errors), share(metrics.errors, metrics.calls))
  byId('tiles').querySelector('.errors').dataset.tone = metrics.errors > 0 ? 'bad' : 'plain'
  showTile('p50', duration(metrics.latencyP50Ms))
  showTile('p95', duration(metrics.latencyP95Ms))
  showTile('firstToken', duration(metrics.firstTokenP50Ms))
  showTile('speed', speed(metrics.tokensPerSecond))
  // Calls without a single token are calls whose usage nobody told.
  const told = metrics.calls === 0 || metrics.completionTokens + metrics.promptTokens > 0
  showTile('tokens', told ? count(metrics.completionTokens) : null, told ? count(metrics.promptTokens) : null)
}
