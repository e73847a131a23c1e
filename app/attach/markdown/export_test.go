package markdown

// MaxTail is the most that is read again for each piece, but for a last line that is longer.
const MaxTail = maxTail

// Rereads is how many bytes the next Lines reads that an earlier one has read already.
func (d *Document) Rereads() int {
	n := len(d.tail)
	for _, s := range d.done[min(d.n, len(d.done)):] {
		n += len(s.text)
	}
	return n
}
