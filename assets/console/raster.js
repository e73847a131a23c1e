// A drawing of many small marks, made pixel by pixel: ten thousand take a few milliseconds, for which a canvas without a
// graphics card needs a hundred. Places are whole device pixels, and all that is drawn lies within.

const opaque = 0xff000000

export class Raster {
	canvas
	#pen
	#image
	#pixels
	#tops
	#inks

	constructor(width, height) {
		this.canvas = new OffscreenCanvas(width, height)
		this.#pen = this.canvas.getContext('2d', { willReadFrequently: true })
		this.#image = this.#pen.createImageData(width, height)
		this.#pixels = new Uint32Array(this.#image.data.buffer)
		this.#tops = new Int32Array(width)
		this.#inks = new Uint32Array(width)
	}

	clear() {
		this.#pixels.fill(0)
		this.#tops.fill(this.canvas.height)
	}

	fill(left, top, right, bottom, colour) {
		const { width } = this.canvas
		const pixels = this.#pixels
		for (let row = top * width; row < bottom * width; row += width) {
			for (let at = row + left; at < row + right; at++) pixels[at] = colour
		}
	}

	// stamp puts a picture of spriteOf around a place. Over what is there already its soft edge is hard.
	stamp({ size, pixels }, x, y) {
		const { width } = this.canvas
		const there = this.#pixels
		const half = size >> 1
		for (let row = 0, i = 0; row < size; row++) {
			let at = (y - half + row) * width + x - half
			for (const end = at + size; at < end; at++, i++) {
				const pixel = pixels[i]
				if (pixel === 0) continue
				if (there[at] === 0) there[at] = pixel
				else if (pixel >>> 31) there[at] = pixel | opaque
			}
		}
	}

	// stem is a faint line from a place downwards; a column has one, from the highest.
	stem(x, top, colour) {
		if (top >= this.#tops[x]) return
		this.#tops[x] = top
		this.#inks[x] = colour
	}

	// finish draws the stems behind all else, down to base.
	finish(base) {
		const { width } = this.canvas
		for (let x = 0; x < width; x++) {
			const faint = (this.#inks[x] & ~opaque) | 0x47000000
			for (let y = this.#tops[x]; y < base; y++) this.#pixels[y * width + x] ||= faint
		}
		this.#pen.putImageData(this.#image, 0, 0)
	}
}

// spriteOf is what draw drew around the middle of a square of size pixels.
export function spriteOf(size, draw) {
	const pen = new OffscreenCanvas(size, size).getContext('2d')
	pen.translate(size >> 1, size >> 1)
	draw(pen)
	return { size, pixels: new Uint32Array(pen.getImageData(0, 0, size, size).data.buffer) }
}

export const pixelOf = (colour) => spriteOf(1, (pen) => {
	pen.fillStyle = colour
	pen.fillRect(0, 0, 1, 1)
}).pixels[0]
