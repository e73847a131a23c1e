// Every word that a person reads on this page, and nothing else. Units stand after a thin space.

export const thin = '\u2009'
export const dash = '–'

// A word is shown with a shape and a tone that say the same.
const as = (word, shape, tone, why = '') => ({ word, shape, tone, why })

export const texts = {
	title: (room, phase) => [room, phase, 'Chatwright'].filter(Boolean).join(' · '),
	skip: 'Skip to the content',
	rooms: 'Rooms',
	overview: 'Overview',
	calls: 'Calls',
	tryIt: 'Try it',
	data: 'Data state',
	studio: 'Studio',
	doctor: 'Doctor',
	settings: 'Settings',
	sessions: 'Sessions',
	figures: 'Figures',
	notices: 'Notices',
	unknown: 'unknown',

	connecting: 'Connecting',
	notAnswering: 'Not answering',
	captureStop: 'Stop',
	lost: 'The companion is not answering. Trying again… If it has ended, start it: chatwright-tray start',
	noAnswer: 'The companion did not answer.',
	refused: (status) => `The companion refused this (status ${status}).`,

	address: 'Address',
	addressHint: 'For an SDK, add /v1.',
	upstream: 'Upstream',
	noUpstream: 'none',
	demo: 'The built-in model: no model server needed.',

	copy: 'Copy',
	copied: 'Copied',
	notCopied: 'Selected',
	copyAddress: 'Copy the address',
	copyCurl: 'Copy the command',
	empty: 'No calls yet. Open Studio, or try:',
	emptyLabel: 'How to make a call',
	curl: 'A command that makes a call',

	liveSessions: (live, running) => (running ? `${live} live, ${running} answering` : `${live} live`),
	noSessions: 'No live sessions. Begin one: chatwright-tray session new FOLDER',
	untitled: 'New session',
	transcript: 'What was said',
	readOnly: (id) => `Read-only. To take part: chatwright-tray session attach ${id}`,
	you: 'You',
	model: 'Model',
	reasoning: 'Reasoning',
	images: (n) => (n === 1 ? '1 image' : `${n} images`),
	usage: (input, output) => `${input} tokens in, ${output} out`,

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

export const phases = {
	starting: as('Starting', 'ring', 'calm'),
	running: as('Running', 'dot', 'good'),
	degraded: as('Degraded', 'triangle', 'warn'),
	external: as('Another server', 'diamond', 'calm'),
	blocked: as('Blocked', 'triangle', 'warn'),
	stopped: as('Stopped', 'bar', 'calm'),
	failed: as('Failed', 'cross', 'bad'),
}

// What is known of the way to the upstream. A good way is the plain case and takes no colour.
export const reaches = {
	ok: as('reachable', 'dot', 'plain'),
	loading: as('loading a model', 'hourglass', 'warn'),
	down: as('not reachable', 'cross', 'bad'),
	unknown: as('unknown', 'ring', 'calm', 'Not asked yet.'),
}

export const sessionStates = {
	idle: as('idle', 'ring', 'calm'),
	running: as('answering', 'dot', 'good'),
	blocked: as('waiting for you', 'hourglass', 'warn'),
	closed: as('ended', 'bar', 'calm'),
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

export const verdicts = {
	complete: as('complete', 'check', 'good', 'A whole answer.'),
	'no-done': as('no end marker', 'half', 'warn', 'The stream closed without [DONE]: probably whole, but the server did not say so.'),
	truncated: as('truncated', 'cut', 'warn', 'The answer broke off.'),
	cancelled: as('cancelled', 'bar', 'calm', 'The caller left before the answer was whole.'),
	'stream-error': as('stream error', 'cross', 'bad', 'The upstream reported an error after its answer had begun.'),
	'upstream-error': as('upstream error', 'cross', 'bad', 'The upstream answered with an error.'),
	loading: as('model loading', 'hourglass', 'calm', 'The upstream was still loading the model.'),
	unreachable: as('unreachable', 'gap', 'bad', 'The upstream did not answer.'),
}
export const verdictUnknown = as('unknown', 'ring', 'calm')

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
	calls: { label: 'Calls', caption: (of) => of || 'ended' },
	inFlight: { label: 'In flight', caption: 'right now' },
	errors: { label: 'Errors', caption: (share) => (share ? `${share} of calls` : 'of all calls') },
	p50: { label: 'p50', caption: 'latency' },
	p95: { label: 'p95', caption: 'latency' },
	firstToken: { label: 'First token', caption: 'median' },
	speed: { label: 'Speed', caption: 'median' },
	tokens: { label: 'Tokens', caption: (prompts) => (prompts ? `out · ${prompts} in` : 'out') },
}
export const tileTexts = {
	today: 'today',
	run: (calls, time) => `${calls} since the companion started: ${time}`,
}

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

export const units = { us: 'µs', ms: 'ms', s: 's', min: 'min', h: 'h', speed: 'tok/s', percent: '%' }
export const neverReached = 'The upstream was never reached.'
export const tokensOf = (answer, prompt) => `${answer} in the answer, ${prompt} in the prompt`
export const since = (time) => `since ${time}`

// The command of the empty state. On Windows it is one line for the Command Prompt, elsewhere three for a shell.
export function curlCommand(base, model, windows) {
	return curlOf(base, JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }), windows)
}

export function curlOf(base, body, windows) {
	const url = `${base}/v1/chat/completions`
	if (windows) return `curl ${url} -H "Content-Type: application/json" -d "${body.replaceAll('"', '\\"')}"`
	return `curl ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body.replaceAll("'", `'\\''`)}'`
}

export const timelineTexts = {
	title: 'Timeline',
	pause: 'Pause',
	resume: 'Resume',
	out: 'Zoom out',
	closer: 'Zoom in',
	span: (span, paused) => (paused ? `${span}, paused` : `last ${span}`),
	keys: 'Timeline of calls. Arrow keys go from call to call, Enter opens one, plus and minus zoom, space pauses.',
	legend: [
		as('whole answer', 'bar', 'good'),
		as('cut short', 'triangle', 'warn'),
		as('failed', 'cross', 'bad'),
		as('cancelled, loading or unknown', 'ring', 'calm'),
	],
	summary: (calls, bad) => `Timeline: ${calls} calls in the last 15 minutes, ${bad} of them failed`,
	call: (time, model, rest) => ` · ${[time, model, ...rest].join(' · ')}`,
	first: (time) => `first token ${time}`,
	tokens: (n) => `${n} tokens`,
}

export const upstreamTexts = {
	title: 'Model servers',
	look: 'Look again',
	use: 'Use',
	useOne: (name) => `Use ${name}`,
	inUse: as('in use', 'check', 'good'),
	demo: 'Demo model',
	demoAbout: 'built in; no model server needed',
	key: 'with a key',
	why: (name, why) => `${name} was chosen: ${why}.`,
}

export const modelColumns = { model: 'Model', state: 'State', size: 'Size', where: 'Runs on', calls: 'Calls', latency: 'p50 and latencies', speed: 'Speed of late' }
export const modelStates = {
	loaded: as('loaded', 'dot', 'good'),
	loading: as('loading', 'hourglass', 'warn'),
	unloaded: as('not loaded', 'ring', 'calm', 'The first call has to wait for it.'),
	unknown: as('unknown', 'half', 'calm', 'The server does not tell.'),
}
export const modelTexts = {
	title: 'Models',
	about: 'Drawings: the last 15 minutes',
	none: 'No models yet. They show once the upstream answers.',
	all: (n) => `Show all ${n}`,
	fewer: 'Show fewer',
	where(model) {
		if (!model || model.gpuBytes === undefined || model.gpuBytes === null || !(model.sizeBytes > 0)) return null
		const share = Math.round((100 * model.gpuBytes) / model.sizeBytes)
		return share >= 100 ? 'GPU' : share <= 0 ? 'CPU' : `${share}${thin}% GPU`
	},
	latencies: (calls, longest) => `${calls} whole answers in the last 15 minutes, the slowest ${longest}`,
	noLatencies: 'No whole answer in the last 15 minutes',
	speeds: (calls, least, most) => `Last ${calls} calls: from ${least} to ${most}`,
	noSpeeds: 'No known speed in the last 15 minutes',
}

export const callsTexts = {
	filters: 'Filters',
	text: 'Text',
	textHint: 'Error, model, id',
	model: 'Model',
	any: 'any',
	status: 'Result',
	statuses: { '': 'any', ok: 'no error', error: 'error' },
	verdict: 'Verdict',
	all: 'Show all',
	grid: 'Calls, newest first. Arrow keys go from row to row, Enter reads one, Escape closes it.',
	detail: 'The call',
	count(text, n, whole, loading) {
		if (loading && n === 0) return 'Reading…'
		return `${text}${whole ? '' : '+'} ${n === 1 && whole ? 'call' : 'calls'}`
	},
	none: 'No calls yet. They show here as they end.',
	noneSuch: 'No call is like that. Show all, or look for something else.',
	gone: 'That call is no longer kept',
}

export const detailTexts = {
	close: 'Close',
	took: (time) => `Took ${time}`,
	timings: { queue: 'Queue', first: 'First token', writing: 'Generation', overhead: 'Overhead' },
	unknown: { queue: 'The upstream does not tell.', first: 'No token came.', writing: 'No token came.', overhead: '' },
	facts: {
		begun: 'Arrived', asked: 'Asked for', status: 'Status', prompt: 'Prompt tokens', completion: 'Answer tokens', speed: 'Speed', finish: 'Finish reason',
		format: 'Response format', streamed: 'Streamed', sizes: 'Size', upstream: 'Upstream', id: 'Id',
	},
	sizes: (up, down) => `${up} up, ${down} down`,
	yes: 'yes',
	no: 'no',
}

export const captureTexts = {
	title: 'Keep messages',
	modes: { off: 'off', memory: 'in memory', disk: 'on disk' },
	banner: (mode, kept, used, limit) =>
		`Messages are being kept ${mode === 'disk' ? 'on disk' : 'in memory'}: ${kept === 1 ? '1 call' : `${kept} calls`}, ${used} of ${limit}. Anybody who can read this page can read them.`,
	about: (mode, kept) => (mode === 'off' ? (kept > 0 ? `${kept} kept from before` : 'Requests and answers are forgotten when a call ends.') : 'Requests and answers of new calls are kept.'),
	notKept: 'What was said was not kept. To see it for new calls, keep messages.',
	notOfThis: 'What was said in this call was not kept.',
	request: 'Request',
	answer: 'Answer',
	copyOne: (what) => `Copy the ${what.toLowerCase()}`,
	forget: 'Forget them',
	cut: (what) => `${what} (not whole: it broke off, or was too large to keep)`,
	curl: 'Copy as curl',
	cassette: 'Download as cassette',
}

export const tryTexts = {
	title: 'Try it',
	model: 'Model',
	noModels: 'the upstream’s own',
	clear: 'Start over',
	talk: 'The conversation',
	hint: 'Say something to the model. It is a call like any other, so it shows among the calls.',
	placeholder: 'Hello',
	message: 'Message',
	json: 'Answer as JSON',
	schema: 'JSON schema of the answer',
	schemaExample: `{
  "type": "object",
  "properties": {
    "reply": {"type": "string"},
    "done": {"type": "boolean"}
  },
  "required": ["reply", "done"],
  "additionalProperties": false
}`,
	badSchema: (why) => `The schema is no JSON: ${why}`,
	keys: 'Enter sends, Shift Enter is a new line',
	send: 'Send',
	stop: 'Stop',
	stopped: 'stopped',
	isJSON: 'valid JSON',
	noJSON: 'not JSON, although it was asked for',
	finish: (reason) => `finish: ${reason}`,
}

export const studioTexts = {
	title: 'Studio, offline',
	serves: (version) => `Studio ${version} is served from this machine; it needs no network.`,
	nothing: 'No copy of Studio is here yet. Fetch it once, and it works without a network.',
	notKept: 'No offline copy of Studio is kept: it was turned off.',
	version: 'Version',
	installed: 'Installed',
	source: 'Comes from',
	sources: { release: 'a release; every file is vouched for by its hash', companion: 'the command-line companion; not verified' },
	sha: 'SHA-256',
	available: 'Newer release',
	held: (version) => `${version}, held back: you went back from it`,
	upToDate: 'none',
	notAsked: 'not looked for yet',
	previous: 'Version before',
	checked: 'Last looked',
	never: 'never',
	none: 'none',
	get: 'Fetch Studio',
	look: 'Look for a newer one',
	updateTo: (version) => `Update to ${version}`,
	cancel: 'Cancel',
	rollbackTo: (version) => `Go back to ${version}`,
	stages: { checking: 'Asking for the newest release', waiting: 'Waiting for another process that works on the same copy', downloading: 'Downloading', unpacking: 'Installing' },
	of: (got, total) => `${got} of ${total}`,
	rate: (rate) => `${rate}/s`,
}

export const checkStates = {
	ok: as('fine', 'check', 'good'),
	warning: as('warning', 'triangle', 'warn'),
	failed: as('failed', 'cross', 'bad'),
	skipped: as('does not apply', 'bar', 'calm'),
	unknown: as('unknown', 'ring', 'calm'),
}
export const doctorTexts = {
	title: 'Doctor',
	again: 'Check again',
	running: 'Checking…',
	copyFix: 'Copy what to do',
	sum(failed, warnings, all) {
		if (all === 0) return 'There is nothing to check.'
		if (failed + warnings === 0) return `All ${all} checks are fine.`
		const parts = [failed > 0 && `${failed} failed`, warnings > 0 && (warnings === 1 ? '1 warning' : `${warnings} warnings`)]
		return `${all} checks: ${parts.filter(Boolean).join(', ')}.`
	},
}

export const settingsTexts = {
	title: 'Settings',
	about: 'What is in force; read-only',
	columns: { key: 'Setting', value: 'Value', source: 'From', set: 'Set by' },
	sources: { flag: 'flag', environment: 'environment', console: 'this console' },
	empty: 'not set',
}

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
}

export const dataVerdicts = {
	pass: as('pass', 'check', 'good', 'The query ran, and all that was expected holds.'),
	fail: as('fail', 'cross', 'bad'),
	unsupported: as('unsupported', 'bar', 'calm', 'This says nothing about the data.'),
	none: as('not asked', 'ring', 'calm'),
	notYet: as('not asked yet', 'ring', 'calm'),
}

export const holderReaches = {
	ok: as('reachable', 'dot', 'plain'),
	down: as('not reachable', 'cross', 'bad'),
	unknown: as('unknown', 'ring', 'calm', 'Not asked yet.'),
}

const kinds = { sqlite: 'SQLite', postgres: 'PostgreSQL', mysql: 'MySQL', fixtures: 'fixtures' }
export const holderText = (name, kind) => `${name} · ${kinds[kind] ?? kind}`

export function rowsText(shown, total, collation) {
	const rows = total === 1 ? '1 row' : `${total.toLocaleString('en')} rows`
	const text = shown < total ? `${shown} of ${rows}` : rows
	return collation ? `${text} · texts compare by ${collation}` : text
}

export const dataExampleNames = { first: 'First rows', conditions: 'Conditions and order', two: 'Two tables', groups: 'Count by group' }
