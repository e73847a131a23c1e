package attach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/app/attach/plain"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// Lines is the client for pipes and screen readers: what happens is written line after line, and each line that is read
// is a message. While a turn runs, what was read waits.
type Lines struct {
	Daemon  Daemon
	Session protocol.Session
	In      io.Reader
	Out     io.Writer
	// Typed says that a person types In: then its end is that of the client, while the end of a file or a pipe lets what
	// was read be answered first.
	Typed bool
	// Interrupts interrupts the turn that runs; where none does, the client ends. Nil: nothing interrupts.
	Interrupts <-chan struct{}
}

// Run shows the session until it is left or ctx ends. It returns the session that was last attached. The read of In that
// is under way then is left to the process to end.
func (l Lines) Run(ctx context.Context) (protocol.Session, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &lineState{
		Lines: l, session: l.Session, printer: plain.Printer{W: l.Out, Thoughts: true},
		feed: &feed{daemon: l.Daemon, next: make(chan protocol.Session, 1)}, mine: map[string]bool{},
	}
	news, lines := make(chan any), make(chan typed)
	go readLines(inner, l.In, lines)
	group, inner := errgroup.WithContext(inner)
	group.Go(func() error {
		return s.feed.run(inner, l.Session, func(one any) { put(inner, news, one) })
	})
	group.Go(func() error {
		defer cancel()
		return s.run(inner, news, lines)
	})
	if err := group.Wait(); err != nil && !isOver(err) {
		return s.session, err
	}
	return s.session, nil
}

// maxLine is the longest line that is read. The daemon takes less, and says so.
const maxLine = 1 << 20

// typed is a line that was read, or why no more can be.
type typed struct {
	text string
	err  error
}

// readLines passes lines on, and closes out at the end.
func readLines(ctx context.Context, in io.Reader, out chan<- typed) {
	defer close(out)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	pass := func(one typed) bool {
		select {
		case out <- one:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for lines.Scan() {
		if !pass(typed{text: lines.Text()}) {
			return
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		pass(typed{err: hint.With(fmt.Errorf("a line is longer than %d KiB", maxLine>>10), "a message is a line: say it in parts")})
	} else if err != nil {
		pass(typed{err: fmt.Errorf("reading what is said: %w", err)})
	}
}

// lineState is a Lines that runs. Only run touches it.
type lineState struct {
	Lines
	session protocol.Session
	printer plain.Printer
	feed    *feed
	mine    map[string]bool // submissions whose text the person has before him already
	running bool
	sent    bool // a message whose turn has not begun yet
	caught  bool // the feed has told what there was
	ready   bool // the person was told that it is his turn
}

func (s *lineState) run(ctx context.Context, news <-chan any, read <-chan typed) error {
	over := false // nothing more is typed
	for {
		lines := read
		if s.running || s.sent || !s.caught || over {
			lines = nil
		}
		if over && !s.running && !s.sent && s.caught {
			return nil
		}
		if err := s.sayReady(lines != nil); err != nil {
			return err
		}
		select {
		case one := <-news:
			if err := s.hear(one); err != nil {
				return err
			}
		case line, ok := <-lines:
			if over = !ok; over {
				if s.Typed {
					return nil
				}
				continue
			}
			if line.err != nil {
				return line.err
			}
			if left, err := s.enter(ctx, line.text); left || err != nil {
				return err
			}
		case <-s.Interrupts:
			if !s.running {
				return nil
			}
			if err := s.Daemon.Interrupt(ctx, s.session.ID); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sayReady tells a person that it is his turn, who may not see that nothing comes any more.
func (s *lineState) sayReady(ready bool) error {
	was := s.ready
	if s.ready = ready; ready && !was && s.Typed {
		return s.printer.Note("ready")
	}
	return nil
}

func (s *lineState) hear(news any) error {
	switch news := news.(type) {
	case events:
		for _, e := range news {
			if e.SessionID == s.session.ID {
				if err := s.apply(e); err != nil {
					return err
				}
			}
		}
	case lost:
		return s.printer.Note("no connection, trying again")
	case back:
		return s.printer.Note("connected again")
	case trouble:
		return s.printer.Note(news.text)
	case ended:
		if isOver(news.err) || news.session.ID != s.session.ID {
			return nil
		}
		if news.err != nil {
			return news.err
		}
		s.session, s.running, s.sent, s.caught = news.session, false, false, true
		return s.printer.Note("this session has ended; the next message carries it on in a new one")
	}
	return nil
}

func (s *lineState) apply(e protocol.Event) error {
	switch e.Type {
	case protocol.EventTurnStarted:
		s.running, s.sent = true, false
	case protocol.EventTurnCompleted:
		s.running = false
	}
	s.caught = s.caught || e.Seq >= s.session.LastSeq
	if id := submissionOf(e); id != "" && s.mine[id] {
		delete(s.mine, id)
		return nil
	}
	return s.printer.Apply(e)
}

// enter does what a line says, and reports whether the person leaves.
func (s *lineState) enter(ctx context.Context, line string) (left bool, err error) {
	switch text := strings.TrimSpace(line); text {
	case "":
		return false, nil
	case "/detach", "/quit", "/exit":
		return true, nil
	}
	if strings.HasPrefix(line, "//") {
		line = line[1:]
	} else if strings.HasPrefix(line, "/") {
		if text := strings.TrimSpace(line); text != "/help" {
			return false, s.printer.Note("there is no " + text + " here; /help lists what there is")
		}
		return false, s.printer.Note("a line is a message; /detach or the end of input leaves, and the session goes on; Ctrl-C interrupts a turn " +
			"that runs, and leaves where none does; two slashes begin a message that begins with one")
	}
	m := newMessage(line)
	s.mine[m.id] = s.Typed // else it is not to be seen yet
	took, err := deliver(ctx, s.Daemon, s.session, m)
	if took.ID != s.session.ID {
		s.session = took
		s.feed.next <- took
		s.caught = false
		if err := s.printer.Note("carried on in session " + took.ID); err != nil {
			return false, err
		}
	}
	if err != nil && s.Typed {
		return false, s.printer.Note(strings.TrimSuffix(err.Error()+": "+hint.Of(err), ": "))
	}
	s.sent = err == nil
	if err != nil {
		return false, fmt.Errorf("sending the message: %w", err)
	}
	return false, nil
}
