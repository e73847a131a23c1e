package httpx

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// keptBuffer is what a stream may hold on to between two events.
const keptBuffer = 4 << 10

// EventStream writes server-sent events to one client. It is not safe for concurrent use.
type EventStream struct {
	w        http.ResponseWriter
	ctl      *http.ResponseController
	deadline time.Duration
	buf      bytes.Buffer
}

// StartEvents answers 200 with the headers of an event stream and sends them at once, with retry as the reconnection
// delay. Each write must then be taken by the client within deadline, so that a client that stopped reading costs no
// more than one goroutine for that long.
func StartEvents(w http.ResponseWriter, retry, deadline time.Duration) (*EventStream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	s := &EventStream{w: w, ctl: http.NewResponseController(w), deadline: deadline}
	s.buf.WriteString("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n\n")
	return s, s.flush()
}

// Send writes one event: id when not empty, name when not empty, and v as JSON on one data line.
func (s *EventStream) Send(id, name string, v any) error {
	data, err := EncodeJSON(v)
	if err != nil {
		return err
	}
	if id != "" {
		s.buf.WriteString("id: " + id + "\n")
	}
	if name != "" {
		s.buf.WriteString("event: " + name + "\n")
	}
	s.buf.WriteString("data: ")
	s.buf.Write(data) // with the one newline that the line needs
	s.buf.WriteByte('\n')
	return s.flush()
}

// Add puts one event into the buffer, to be sent with those after it by Flush. data is one line without its newline.
func (s *EventStream) Add(id uint64, data []byte) {
	s.buf.WriteString("id: ")
	s.buf.Write(strconv.AppendUint(s.buf.AvailableBuffer(), id, 10))
	s.buf.WriteString("\ndata: ")
	s.buf.Write(data)
	s.buf.WriteString("\n\n")
}

// Flush sends what Add has put into the buffer, and lets go of a large one: most streams are quiet most of the time.
func (s *EventStream) Flush() error {
	err := s.flush()
	if s.buf.Cap() > keptBuffer {
		s.buf = bytes.Buffer{}
	}
	return err
}

// Ping writes a comment, so that a connection nobody reads any more is noticed.
func (s *EventStream) Ping() error {
	s.buf.WriteString(": ping\n\n")
	return s.flush()
}

// Close gives the end of the stream, which net/http writes when the handler returns, a deadline of its own: that of the
// last event may be long past by then, and a stream that ended well would look broken.
func (s *EventStream) Close() { s.renewDeadline() }

func (s *EventStream) renewDeadline() {
	// A writer without deadlines (a test's recorder) is written to without one.
	_ = s.ctl.SetWriteDeadline(time.Now().Add(s.deadline))
}

func (s *EventStream) flush() error {
	defer s.buf.Reset()
	s.renewDeadline()
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.ctl.Flush()
}
