// The page's one live connection.

const again = 1000 // ms between attempts where the browser does not make its own

// follow keeps an event stream open while the page can be seen, and hands on what it carries. The browser reconnects
// by itself and names the last event it had; where it gives up (an answer that is no stream, in Firefox also a refused
// connection), a new stream is opened. A hidden page holds no connection: browsers allow six to one host, and six
// forgotten tabs would leave none for Studio.
//
// The function returned opens a stream that starts from the beginning.
export function follow(url, { onStatus, onCalls, onLost }) {
	let source
	let timer

	const close = () => {
		clearTimeout(timer)
		source?.close()
		source = undefined
	}
	const open = () => {
		close()
		source = new EventSource(url)
		source.addEventListener('status', (event) => onStatus(JSON.parse(event.data)))
		source.addEventListener('calls', (event) => onCalls(JSON.parse(event.data)))
		source.onerror = () => {
			onLost()
			if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, again)
		}
	}

	document.addEventListener('visibilitychange', () => {
		if (document.visibilityState === 'hidden') close()
		else open()
	})
	if (document.visibilityState !== 'hidden') open()
	return open
}
