package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"time"

	"chatwright.dev/tray/server/protocol"
)

const (
	// maxLine bounds what one event may take in memory. Nothing that is written comes near it.
	maxLine = 8 << 20
	// leastLine is less than the shortest event takes.
	leastLine = 64
)

// A reader reads a record from some place on. What it returns is numbered without a gap whatever became of the file:
// lines that cannot be read come as session.error events under the numbers that they had.
type reader struct {
	id     string
	lines  *bufio.Reader
	next   place // of the line to be read
	offset int64 // behind the line that was read last

	// Damage that was passed and is not numbered yet: how much of it there is only the next good line tells.
	damaged      uint64
	damagedBytes int64
	queue        []Entry

	torn    bool // the file ends in the middle of a line
	spoiled bool // it ends with damage, which no good line follows
	long    []byte
}

// newReader reads events of the session with this id from r, which begins at that place.
func newReader(r io.Reader, id string, from place) *reader {
	return &reader{id: id, lines: bufio.NewReaderSize(r, 64<<10), next: from, offset: from.offset}
}

// read returns the next event, or io.EOF. The event's JSON is valid until the next call.
func (r *reader) read() (Entry, error) {
	for {
		if len(r.queue) > 0 {
			entry := r.queue[0]
			r.queue = r.queue[1:]
			return entry, nil
		}
		line, size, err := r.line()
		if errors.Is(err, io.EOF) {
			r.torn = r.torn || size > 0
			if r.damaged == 0 {
				return Entry{}, io.EOF
			}
			r.spoiled = true
			r.enqueueDamage(r.damaged, nil)
			continue
		}
		if err != nil {
			return Entry{}, err
		}
		r.offset += size
		seq, ok := r.accept(line)
		if !ok {
			r.damaged++
			r.damagedBytes += size
			continue
		}
		entry := Entry{Seq: seq, JSON: line, next: place{seq + 1, r.offset}}
		if r.damaged == 0 {
			r.next = entry.next
			return entry, nil
		}
		r.enqueueDamage(seq-r.next.seq, line)
		r.queue = append(r.queue, entry)
		r.next = entry.next
	}
}

// accept returns the number of a line that is what it should be. Its number follows the one before; behind damage it
// may be as much higher as there were lines, or bytes for lines: a hole in the file takes newlines with it.
func (r *reader) accept(line []byte) (seq uint64, ok bool) {
	seq, _, ok = head(line, r.id)
	if !ok || seq < r.next.seq || !json.Valid(line) {
		return 0, false
	}
	return seq, seq-r.next.seq <= max(r.damaged, uint64(r.damagedBytes/leastLine))
}

// enqueueDamage numbers n events that cannot be read. The good line behind them says when that was.
func (r *reader) enqueueDamage(n uint64, behind []byte) {
	var good struct {
		At time.Time `json:"at"`
	}
	_ = json.Unmarshal(behind, &good)
	for i := range n {
		seq := r.next.seq + i
		line, err := encode(seq, r.id, draft{protocol.EventSessionError, good.At, protocol.SessionError{
			Message: "the record is damaged here: this event cannot be read",
		}})
		if err != nil {
			continue // it always encodes
		}
		// Who stops in the middle of the damage begins again at its start.
		r.queue = append(r.queue, Entry{Seq: seq, JSON: line[:len(line)-1], next: r.next})
	}
	if len(r.queue) > 0 && behind == nil {
		r.next = place{r.next.seq + n, r.offset}
		r.queue[len(r.queue)-1].next = r.next
	}
	r.damaged, r.damagedBytes = 0, 0
}

// line returns the next line without its newline, and how many bytes it took with it. A line that is too long comes
// empty; one that has no end does not come at all, only its size with io.EOF.
func (r *reader) line() (line []byte, size int64, err error) {
	line, err = r.lines.ReadSlice('\n')
	size = int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.lines.ReadSlice('\n')
			size += int64(len(line))
			if size <= maxLine {
				r.long = append(r.long, line...)
			}
		}
		line = r.long
	}
	if err != nil {
		return nil, size, err
	}
	if size > maxLine {
		return nil, size, nil
	}
	return line[:len(line)-1], size, nil
}
