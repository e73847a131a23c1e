// Numbers and times as a person writes them: 412, 12.3k, 1.2M; 0.3 s, 1.8 s, 2 min 5 s. What is unknown is undefined
// or null here, and comes back as null: the caller shows that it is unknown, never a zero.

import { thin, units } from './texts.js'

const known = (n) => typeof n === 'number' && Number.isFinite(n)
const unit = (n, name) => `${n}${thin}${name}`
const tenths = (n) => String(Math.round(n * 10) / 10)

export function count(n) {
	if (!known(n)) return null
	for (const [size, name] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
		if (n >= size * 0.99995) return tenths(n / size) + name // 999,950 reads as 1M, not as 1000k
	}
	return String(Math.round(n))
}

export function duration(ms) {
	if (!known(ms)) return null
	if (ms < 1) return `<${unit(1, units.ms)}`
	if (ms < 100) return unit(Math.round(ms), units.ms)
	if (ms < 59_950) return unit((ms / 1000).toFixed(1), units.s)
	const seconds = Math.round(ms / 1000)
	if (seconds < 3600) return pair(Math.floor(seconds / 60), units.min, seconds % 60, units.s)
	const minutes = Math.round(seconds / 60)
	return pair(Math.floor(minutes / 60), units.h, minutes % 60, units.min)
}

const pair = (a, aName, b, bName) => (b === 0 ? unit(a, aName) : `${unit(a, aName)} ${unit(b, bName)}`)

// On the wire a speed of zero means that it is not known.
export function speed(perSecond) {
	if (!known(perSecond) || perSecond <= 0) return null
	return unit(perSecond < 9.95 ? tenths(perSecond) : count(perSecond), units.speed)
}

export function share(part, whole) {
	if (!known(part) || !known(whole) || whole <= 0) return null
	const percent = (100 * part) / whole
	if (part > 0 && percent < 0.1) return `<${unit(0.1, units.percent)}`
	return unit(percent < 9.95 ? tenths(percent) : Math.round(percent), units.percent)
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const minutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const month = new Intl.DateTimeFormat('en-US', { month: 'short' }) // always three letters, as en-GB's are not
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })

// parseTime reads a wire time. Go's zero time, like no time at all, is unknown.
export function parseTime(text) {
	const time = new Date(text ?? NaN)
	return Number.isNaN(time.getTime()) || time.getFullYear() < 1970 ? null : time
}

export const sameDay = (a, b) => a.toDateString() === b.toDateString()
const date = (time) => `${time.getDate()} ${month.format(time)}`
export const clockTime = (time, now) => (sameDay(time, now) ? clock.format(time) : `${date(time)} ${minutes.format(time)}`)
export const shortTime = (time, now) => (sameDay(time, now) ? minutes.format(time) : date(time))
export const wholeTime = (time) => `${whole.format(time)} (${whole.resolvedOptions().timeZone})`

// Sizes as the operating systems of most people write them: 4.7 GB.
export function bytes(n) {
	if (!known(n)) return null
	for (const [size, name] of [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']]) {
		if (n >= size * 0.9995) return unit(n / size < 9.95 ? tenths(n / size) : Math.round(n / size), name)
	}
	return unit(Math.round(n), 'B')
}

export const microseconds = (us) => (!known(us) ? null : us < 1000 ? unit(Math.round(us), units.us) : duration(us / 1000))
// baseURL is how a program on this machine reaches addr: one that means "every interface" is no address to call.
export const baseURL = (addr) => `http://${addr.replace(/^(0\.0\.0\.0|\[::\]|)(?=:\d+$)/, '127.0.0.1')}`

export const grouped = (n) => n.toLocaleString('en')
export const clockOf = (time) => clock.format(time)
export const minutesOf = (time) => minutes.format(time)
