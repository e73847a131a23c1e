// The console: one event stream in, one page out. What it asks the companion to do is at most to read: see data.js.

import { CallsTable } from './calls.js'
import { enableCopying } from './copy.js'
import { DataState } from './data.js'
import { byId, label, setText } from './dom.js'
import { baseURL, makeTiles, showPhase, showStatus } from './overview.js'
import { follow } from './stream.js'
import { curlCommand, texts } from './texts.js'
import { modelToTry } from './try.js'

const connecting = { word: texts.connecting, shape: 'ring', tone: 'calm' }
const notAnswering = { word: texts.notAnswering, shape: 'ring', tone: 'calm' }

label(document)
enableCopying(document)
makeTiles()
showPhase(connecting)

const calls = new CallsTable()
const data = new DataState()
let origin // which run of the companion the page shows
let callsCame = false
let latest

const restart = follow('/console/events', {
  onStatus(status) {
    const from = `${status.instanceId} ${status.startedAt}`
    if (origin !== undefined && from !== origin) {
      // Another run counts its calls from the start: what the table shows, and where the stream resumed, are void.
      calls.clear()
      callsCame = false
      origin = from
      restart()
    }
    if (from !== origin) data.refresh() // each run has holders of its own
    origin = from
    setLost(false)
    showStatus(status)
    showEmpty(status)
  },
  onCalls(page) {
    callsCame = true
    calls.add(page.calls)
    byId('empty').hidden = calls.size > 0
  },
  onLost() {
    setLost(true)
    showPhase(notAnswering)
  },
})

function setLost(lost) {
  byId('lost').hidden = !lost
  byId('live').classList.toggle('stale', lost)
}

// The table is empty for sure when no call was counted, or when the calls came and there were none.
async function showEmpty(status) {
  const empty = calls.size === 0 && (callsCame || status.metrics.calls === 0)
  byId('empty').hidden = !empty
  if (!empty) return
  latest = status
  const model = await modelToTry(status.upstream)
  if (status !== latest) return // a newer status overtook the answer
  setText(byId('curl'), curlCommand(baseURL(status.addr), model, /Windows/.test(navigator.userAgent)))
}
