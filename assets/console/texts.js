// Every word that a person reads on this page, and nothing else. Units stand after a thin space.

export const thin = '\u2009'
export const dash = '–'

export const texts = {
  product: 'Chatwright',
  title: (phase) => `${phase} · Chatwright`,
  overview: 'Overview',
  figures: 'Figures',
  unknown: 'unknown',

  connecting: 'Connecting',
  notAnswering: 'Not answering',
  lost: 'The companion is not answering. Trying again… If it has ended, start it: chatwright-tray start',

  address: 'Address',
  addressHint: 'For an SDK, add /v1.',
  upstream: 'Upstream',
  noUpstream: 'none',
  demo: 'The built-in model: no model server needed.',
  studio: 'Studio',

  copy: 'Copy',
  copied: 'Copied',
  notCopied: 'Selected',
  copyAddress: 'Copy the address',
  copyCurl: 'Copy the command',

  sessions: 'Sessions',
  liveSessions: (live, running) => (running ? `${live} live, ${running} answering` : `${live} live`),
  backToConsole: 'Console',
  noSessions: 'No live sessions. Begin one: chatwright-tray session new FOLDER',
  untitled: 'New session',
  transcript: 'What was said',
  readOnly: (id) => `Read-only. To take part: chatwright-tray session attach ${id}`,
  you: 'You',
  model: 'Model',
  reasoning: 'Reasoning',
  images: (n) => (n === 1 ? '1 image' : `${n} images`),
  usage: (input, output) => `${input} tokens in, ${output} out`,

  calls: 'Calls',
  callsOrder: 'Newest first, at most 200',
  empty: 'No calls yet. Open Studio, or try:',
  curl: 'A command that makes a call',

  data: 'Data state',
  dataHint: 'Read-only queries on your databases',
  dataNone: 'No database is configured. Start with one, and ask here what is stored in it:',
  dataNoneCommand: '--datastate shop=sqlite:./shop.db',
  dataHolder: 'Holder',
  dataExample: 'Example',
  dataChoose: 'Choose…',
  dataQuery: 'Query (DTQL)',
  dataParams: 'Params (JSON)',
  dataExpect: 'Expect',
  dataCount: 'Number of rows',
  dataRun: 'Run',
  dataRunKeys: 'Ctrl Enter',
  dataRows: 'Rows',
}

// The phases of the companion: the word, and the shape and tone that say the same.
export const phases = {
  starting: { word: 'Starting', shape: 'ring', tone: 'calm' },
  running: { word: 'Running', shape: 'dot', tone: 'good' },
  degraded: { word: 'Degraded', shape: 'triangle', tone: 'warn' },
  external: { word: 'Another server', shape: 'diamond', tone: 'calm' },
  blocked: { word: 'Blocked', shape: 'triangle', tone: 'warn' },
  stopped: { word: 'Stopped', shape: 'bar', tone: 'calm' },
  failed: { word: 'Failed', shape: 'cross', tone: 'bad' },
}

// What is known of the way to the upstream. A good way is the plain case and takes no colour.
export const reaches = {
  ok: { word: 'reachable', shape: 'dot', tone: 'plain' },
  loading: { word: 'loading a model', shape: 'hourglass', tone: 'warn' },
  down: { word: 'not reachable', shape: 'cross', tone: 'bad' },
  unknown: { word: 'unknown', shape: 'ring', tone: 'calm', why: 'Not asked yet.' },
}

// What a session is doing.
export const sessionStates = {
  idle: { word: 'idle', shape: 'ring', tone: 'calm' },
  running: { word: 'answering', shape: 'dot', tone: 'good' },
  blocked: { word: 'waiting for you', shape: 'hourglass', tone: 'warn' },
  closed: { word: 'ended', shape: 'bar', tone: 'calm' },
}

// How a turn ended. One that ended well needs no word.
export const turnEnds = {
  done: { word: '', tone: 'plain' },
  interrupted: { word: 'interrupted', tone: 'warn' },
  max_iterations: { word: 'too many steps', tone: 'warn' },
  repeat_loop: { word: 'went in circles', tone: 'warn' },
  max_tokens: { word: 'cut off: the most tokens that the model may say', tone: 'warn' },
  error: { word: 'failed', tone: 'bad' },
  unverified: { word: 'not verified', tone: 'warn' },
  incomplete: { word: 'stopped before it was done', tone: 'warn' },
}

// How a call ended.
export const verdicts = {
  complete: { word: 'complete', shape: 'check', tone: 'good', why: 'A whole answer.' },
  'no-done': { word: 'no end marker', shape: 'half', tone: 'warn', why: 'The stream closed without [DONE]: probably whole, but the server did not say so.' },
  truncated: { word: 'truncated', shape: 'cut', tone: 'warn', why: 'The answer broke off.' },
  cancelled: { word: 'cancelled', shape: 'bar', tone: 'calm', why: 'The caller left before the answer was whole.' },
  'stream-error': { word: 'stream error', shape: 'cross', tone: 'bad', why: 'The upstream reported an error after its answer had begun.' },
  'upstream-error': { word: 'upstream error', shape: 'cross', tone: 'bad', why: 'The upstream answered with an error.' },
  loading: { word: 'model loading', shape: 'hourglass', tone: 'calm', why: 'The upstream was still loading the model.' },
  unreachable: { word: 'unreachable', shape: 'gap', tone: 'bad', why: 'The upstream did not answer.' },
}
export const verdictUnknown = { word: 'unknown', shape: 'ring', tone: 'calm' }

// What is served at "/".
export const studio = {
  none: 'No Studio copy here yet',
  noneHint: ['To get Studio: start with ', '--ui', ', or open '], // text, code, text, then the link
  keptHint: ['To fetch it: ', 'chatwright-tray studio update', ', or open '],
  meanwhile: '; meanwhile there is ',
  // What is being done to the offline copy; a look for something newer is worth no word where there is a copy.
  doing: ({ stage, available = '', bytes = 0, total = 0 }, here) => {
    const coming = `Studio ${available}`.trim()
    if (stage === 'downloading') return `Downloading ${coming}` + (total > 0 ? ` · ${Math.floor((100 * bytes) / total)} %` : '')
    if (stage === 'unpacking') return `Installing ${coming}`
    return stage === 'checking' && !here ? 'Looking for Studio' : ''
  },
  hosted: { word: 'chatwright.dev', href: 'https://chatwright.dev/studio/' },
  folder: 'Studio from a folder',
  copy: (version) => (version ? `Studio ${version}` : 'Studio'),
  copyHint: 'An offline copy, served from this machine.',
  folderHint: 'Served as it is, from this machine.',
  open: { word: 'Open Studio', href: '/' },
}

// The tiles, in order: label and caption. A caption that is a function gets its figure as text, or nothing.
export const tiles = {
  calls: { label: 'Calls', caption: (time) => (time ? `since ${time}` : 'ended') },
  inFlight: { label: 'In flight', caption: 'right now' },
  errors: { label: 'Errors', caption: (share) => (share ? `${share} of calls` : 'of all calls') },
  p50: { label: 'p50', caption: 'latency' },
  p95: { label: 'p95', caption: 'latency' },
  firstToken: { label: 'First token', caption: 'median' },
  speed: { label: 'Speed', caption: 'median' },
  tokens: { label: 'Tokens', caption: (prompts) => (prompts ? `out · ${prompts} in` : 'out') },
}

// The columns of the calls table, in order.
export const columns = {
  time: 'Time',
  model: 'Model',
  status: 'Status',
  verdict: 'Verdict',
  latency: 'Latency',
  firstToken: 'First token',
  tokens: 'Tokens',
  speed: 'Speed',
  finish: 'Finish',
  error: 'Error',
}

// Data state.
export const dataTexts = {
  expectations: {
    none: 'nothing',
    nonEmpty: 'some row',
    empty: 'no row',
    exactRowCount: 'exactly',
    minRowCount: 'at least',
    maxRowCount: 'at most',
  },
  badParams: 'The params are no JSON object, such as {"space": "family"}.',
  noAnswer: 'The companion did not answer.',
}

export const dataVerdicts = {
  pass: { word: 'pass', shape: 'check', tone: 'good', why: 'The query ran, and all that was expected holds.' },
  fail: { word: 'fail', shape: 'cross', tone: 'bad' },
  unsupported: { word: 'unsupported', shape: 'bar', tone: 'calm', why: 'This says nothing about the data.' },
  none: { word: 'not asked', shape: 'ring', tone: 'calm' },
  notYet: { word: 'not asked yet', shape: 'ring', tone: 'calm' },
}

export const holderReaches = {
  ok: { word: 'reachable', shape: 'dot', tone: 'plain' },
  down: { word: 'not reachable', shape: 'cross', tone: 'bad' },
  unknown: { word: 'unknown', shape: 'ring', tone: 'calm', why: 'Not asked yet.' },
}

const kinds = { sqlite: 'SQLite', postgres: 'PostgreSQL', mysql: 'MySQL', fixtures: 'fixtures' }
export const holderText = (name, kind) => `${name} · ${kinds[kind] ?? kind}`

export function rowsText(shown, total, collation) {
  const rows = total === 1 ? '1 row' : `${total.toLocaleString('en')} rows`
  const text = shown < total ? `${shown} of ${rows}` : rows
  return collation ? `${text} · texts compare by ${collation}` : text
}

export const dataExamples = [
  { name: 'First rows', query: 'from: {name: lists}\nlimit: 10\n' },
  {
    name: 'Conditions and order',
    query: `from: {name: lists, alias: l}
where:
  and:
    - {op: '==', left: {field: space_id}, right: {param: space}}
    - {op: In, left: {field: status}, right: {values: [active, done]}}
orderBy:
  - {field: title}
  - {field: updated_at, desc: true}
limit: 10
`,
    params: '{"space": "family"}',
  },
  {
    name: 'Two tables',
    query: `from:
  name: lists
  alias: l
  joins:
    - type: left
      from: {name: items, alias: i}
      on: [{op: '==', left: {field: id, source: l}, right: {field: list_id, source: i}}]
columns:
  - {field: title, source: l, as: list}
  - {field: title, source: i, as: item}
limit: 10
`,
  },
  {
    name: 'Count by group',
    query: `from: {name: items}
groupBy:
  - {field: list_id}
orderBy:
  - {field: count, desc: true}
columns:
  - {field: list_id}
  - {aggregate: {function: count, args: [{star: true}]}, as: count}
`,
  },
]

export const units = { ms: 'ms', s: 's', min: 'min', h: 'h', speed: 'tok/s', percent: '%' }
export const neverReached = 'The upstream was never reached.'
export const tokensOf = (answer, prompt) => `${answer} in the answer, ${prompt} in the prompt`
export const since = (time) => `since ${time}`

// The command of the empty state. On Windows it is one line for the Command Prompt, elsewhere three for a shell.
export function curlCommand(base, model, windows) {
  const url = `${base}/v1/chat/completions`
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
  if (windows) {
    return `curl ${url} -H "Content-Type: application/json" -d "${body.replaceAll('"', '\\"')}"`
  }
  return `curl ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
