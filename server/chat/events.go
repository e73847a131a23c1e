package chat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event. Models that answer with a picture send some of several MiB.
const maxEvent = 32 << 20

var errLongEvent = fmt.Errorf("%w: an event of more than 32 MiB", ErrNoAnswer)

// events reads server-sent events: lines that end in LF or CRLF, data over several lines, comments. Unlike a browser it
// takes an event whose last blank line is missing, since some servers end that way.
type events struct {
	from  *bufio.Reader
	line  []byte
	data  []byte
	begun bool // data holds a line, which may be empty
}

func newEvents(r io.Reader) *events { return &events{from: bufio.NewReaderSize(r, 4<<10)} }

// next returns the data of the next event, good until it is called again. io.EOF is a clean end; of an event that broke
// off nothing is returned.
func (e *events) next() ([]byte, error) {
	e.data, e.begun = e.data[:0], false
	for {
		err := e.readLine()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case len(e.line) > 0:
			if err := e.take(); err != nil {
				return nil, err
			}
		case e.begun:
			return e.data, nil
		}
		if err != nil && e.begun {
			return e.data, nil // the next call finds the end again
		}
		if err != nil {
			return nil, err
		}
	}
}

// take adds what the line says to the event.
func (e *events) take() error {
	name, value, _ := bytes.Cut(e.line, []byte(":"))
	if string(name) != "data" {
		return nil
	}
	if e.begun {
		e.data = append(e.data, '\n')
	}
	e.data, e.begun = append(e.data, bytes.TrimPrefix(value, []byte(" "))...), true
	if len(e.data) > maxEvent {
		return errLongEvent
	}
	return nil
}

// readLine reads the next line, without its end. At the end of the stream it is what stands after the last one.
func (e *events) readLine() error {
	e.line = e.line[:0]
	for {
		piece, err := e.from.ReadSlice('\n')
		e.line = append(e.line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			e.line = bytes.TrimSuffix(bytes.TrimSuffix(e.line, []byte("\n")), []byte("\r"))
			return err
		}
		if len(e.line) > maxEvent {
			return errLongEvent
		}
	}
}
