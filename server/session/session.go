package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

const (
	// What memory holds of a log: enough for followers that keep up while a turn runs, next to nothing once it is over.
	busyWindow = 256 << 10
	idleWindow = 4 << 10

	// retryAfter is how long to wait before the end of a turn that could not be recorded is tried again.
	retryAfter = time.Second

	maxName  = 120
	maxTitle = 80
	maxText  = 1 << 20
)

// Session is one live conversation. It is safe for concurrent use.
type Session struct {
	manager   *Manager
	id        string
	about     protocol.SessionCreated // what it was made with
	createdAt time.Time

	mu          sync.Mutex
	rec         record
	last        uint64  // the newest event
	window      []Entry // the newest events, the last of them being last
	windowBytes int
	changed     chan struct{} // closed at the next event; nil while nobody waits

	name          string
	derived       string // title, when there is no name
	turn          *turn  // the one that runs
	submissions   map[submission]uint64
	interrupted   bool
	contextWindow int64 // 0: unknown

	// unsettled is what must be recorded before anything else: the end of a turn that no disk would take.
	unsettled []draft
	trouble   error
	retry     *time.Timer
	closing   bool // no turn begins any more
	ended     bool
}

// A submission is the hash of a submission_id; its value is the number of the turn's first event.
type submission [16]byte

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Info is the session as clients see it.
func (s *Session) Info() protocol.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := protocol.Session{
		ID: s.id, State: protocol.SessionIdle, Live: !s.ended,
		Workspace: s.about.Workspace, Model: s.about.Model, Upstream: s.about.Upstream, SandboxMode: s.about.SandboxMode,
		CreatedAt: s.createdAt, LastSeq: s.last, FirstSeq: 1, Title: cmp.Or(s.name, s.derived),
		Interrupted: s.interrupted,
	}
	if s.turn != nil {
		info.State = protocol.SessionRunning
	}
	if s.ended {
		info.State = protocol.SessionClosed
	}
	if s.contextWindow > 0 {
		window := s.contextWindow
		info.ContextWindow = &window
	}
	if s.trouble != nil {
		info.Trouble = s.trouble.Error()
	}
	return info
}

// append numbers the drafts, records them and wakes the followers, as one step. When they cannot be recorded, none of
// them has happened. The caller holds mu.
func (s *Session) append(drafts ...draft) error {
	lines := make([]byte, 0, 512)
	entries := make([]Entry, 0, len(drafts))
	for _, d := range drafts {
		seq := s.last + uint64(len(entries)) + 1
		line, err := encode(seq, s.id, d)
		if err != nil {
			return fmt.Errorf("recording an event: %w", err)
		}
		lines = append(lines, line...)
		next := place{seq + 1, s.rec.size + int64(len(lines))}
		entries = append(entries, Entry{Seq: seq, JSON: line[:len(line)-1], next: next})
	}
	if err := s.rec.write(lines); err != nil {
		return recordError(err)
	}
	s.last += uint64(len(entries))
	s.window = append(s.window, entries...)
	s.windowBytes += len(lines)
	s.trim(busyWindow)
	s.wake()
	return nil
}

func recordError(err error) error {
	return hint.With(fmt.Errorf("recording the conversation: %w", withoutPath(err)),
		"see that the disk of the state folder has room and can be written to")
}

// trim lets go of the oldest events in memory until they take no more than that.
func (s *Session) trim(most int) {
	drop := 0
	for ; drop < len(s.window) && s.windowBytes > most; drop++ {
		s.windowBytes -= len(s.window[drop].JSON) + 1
	}
	if drop == 0 {
		return
	}
	if s.window = s.window[drop:]; most == idleWindow {
		s.window = slices.Clone(s.window) // so that the array behind it goes too
	}
}

func (s *Session) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// After returns events that follow the cursor, oldest first, at most limit of them; a limit of 0 leaves it to us, and a
// page may hold fewer. When there are none, the page tells how to wait for them.
func (s *Session) After(c Cursor, limit int) (Page, error) {
	if limit <= 0 || limit > pageEvents {
		limit = pageEvents
	}
	s.mu.Lock()
	oldest := s.last - uint64(len(s.window)) + 1
	if c.Seq+1 < oldest {
		path, size, last := s.rec.path, s.rec.size, s.last
		s.mu.Unlock() // what is written stays as it is, so it can be read beside new events
		return readPage(path, s.id, size, c, last, limit)
	}
	defer s.mu.Unlock()
	if c.Seq >= s.last {
		page := Page{Next: c, Ended: s.ended, Trouble: s.trouble}
		if !s.ended {
			if s.changed == nil {
				s.changed = make(chan struct{})
			}
			page.Changed = s.changed
		}
		return page, nil
	}
	entries := s.window[c.Seq+1-oldest:]
	entries = entries[:min(limit, len(entries))]
	for i, bytes := 0, 0; i < len(entries); i++ {
		if bytes += len(entries[i].JSON); bytes > pageBytes {
			entries = entries[:i+1]
		}
	}
	newest := entries[len(entries)-1]
	return Page{Entries: slices.Clone(entries), Next: Cursor{newest.Seq, newest.next}}, nil
}

// Rename gives the session a name; "" takes it away.
func (s *Session) Rename(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.append(draft{protocol.EventSessionRenamed, s.manager.now(), protocol.SessionRenamed{Name: name}}); err != nil {
		return err
	}
	s.name = name
	s.manager.wake()
	return nil
}

// ready returns why nothing can be appended: the session has ended, or an earlier event is not recorded yet.
func (s *Session) ready() error {
	if s.ended || s.closing {
		return errEnded()
	}
	return s.settle()
}

// settle records what could not be recorded before.
func (s *Session) settle() error {
	if len(s.unsettled) == 0 {
		return nil
	}
	if err := s.append(s.unsettled...); err != nil {
		return err
	}
	s.unsettled, s.trouble = nil, nil
	s.retry.Stop()
	s.trim(idleWindow)
	return nil
}

// owe keeps what the record must have before anything else, and tells followers why they do not see it.
func (s *Session) owe(cause error, drafts ...draft) {
	s.unsettled, s.trouble = append(s.unsettled, drafts...), cause
	s.wake()
	s.retry = time.AfterFunc(retryAfter, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closing && s.settle() != nil {
			s.retry.Reset(retryAfter)
		}
	})
}

// end asks for the end of the session and waits for that of its turn.
func (s *Session) end(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	t := s.turn
	if t != nil {
		t.stop()
	}
	s.mu.Unlock()
	if t != nil {
		select {
		case <-t.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of the turn: %w", ctx.Err())
		}
	}
	s.finish()
	return nil
}

// rest stops what would go on by itself.
func (s *Session) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	if err := s.settle(); err != nil {
		s.retry.Stop()
		s.manager.cfg.Log("session " + s.id + ": the end of its last turn is lost: " + err.Error())
	}
}

// finish ends the session: nothing follows. The turn that ran is over.
func (s *Session) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if err := s.settle(); err != nil {
		s.manager.cfg.Log("session " + s.id + ": the end of its last turn is lost: " + err.Error())
		s.retry.Stop()
	}
	s.ended = true
	s.wake()
}

func errEnded() error {
	return hint.With(&Error{protocol.CodeConflict, "the session has ended"}, "begin a new one that resumes it")
}

// checkName refuses a name that no line could show.
func checkName(name string) error {
	if n := utf8.RuneCountInString(name); n > maxName {
		return invalid("name: %d characters are more than %d", n, maxName)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, breaksLine) {
		return invalid("name: it has characters that cannot be shown")
	}
	if name != "" && strings.TrimSpace(name) == "" {
		return invalid("name: nothing of it can be seen")
	}
	return nil
}

// breaksLine reports whether a character does something to the line that it stands in: those that control, those that
// end it, and those that turn the direction of what follows, so that a name could read as another.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || '\u2028' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// deriveTitle makes a title of the first line that was said. It holds on to nothing of the text.
func deriveTitle(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	words := strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || breaksLine(r) })
	title := strings.Join(words, " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
	}
	return strings.Clone(title)
}

func submissionOf(id string) submission {
	sum := sha256.Sum256([]byte(id))
	return submission(sum[:16])
}

// checkText refuses what says nothing, or more than is meant to be said.
func checkText(text string, images []protocol.Image) error {
	if strings.TrimSpace(text) == "" && len(images) == 0 {
		return invalid("text: there is none")
	}
	if len(text) > maxText {
		return &Error{protocol.CodeTooLarge, "text: it is over the cap of 1 MiB"}
	}
	if !utf8.ValidString(text) {
		return invalid("text: it is not UTF-8")
	}
	return checkImages(images)
}
