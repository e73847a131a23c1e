// baseURL is how a program on this machine reaches addr: one that means "every interface" is no address to call.
export function baseURL(addr) {
	return `http://${addr.replace(/^(0\.0\.0\.0|\[::\]|)(?=:\d+$)/, '127.0.0.1')}`
}
