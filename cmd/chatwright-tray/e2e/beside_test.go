//go:build unix

package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// A follower is a connection that follows a session, as curl would.
type follower struct {
	conn  net.Conn
	lines *bufio.Scanner
	last  uint64 // the number of the newest event that it saw
}

// follow connects a follower that has seen the events up to last. It reads nothing yet.
func (u *user) follow(id string, last uint64) *follower {
	u.t.Helper()
	conn, err := net.Dial("unix", u.daemon.SocketPath())
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /v1/sessions/%s/events HTTP/1.0\r\nHost: chatwright\r\nLast-Event-ID: %d\r\n\r\n", id, last)
	if err != nil {
		u.t.Fatal(err)
	}
	return &follower{conn: conn, lines: bufio.NewScanner(conn), last: last}
}

// reads reads up to the event with that number. It reports false where it was cut before, and an error where a number is
// missing or comes twice.
func (f *follower) reads(end uint64) (all bool, err error) {
	for f.last < end && f.lines.Scan() {
		text, ok := strings.CutPrefix(f.lines.Text(), "id: ")
		if !ok {
			continue
		}
		if seq, err := strconv.ParseUint(text, 10, 64); err != nil || seq != f.last+1 {
			return false, fmt.Errorf("event %q follows event %d", text, f.last)
		}
		f.last++
	}
	return f.last == end, nil
}

// sessions.md, Tests that must exist: a thousand followers of one session.
func TestAThousandFollowers(t *testing.T) {
	provider := servertest.NewProvider(t, scenarios())
	u := newUser(t)
	u.start()
	u.upstream("long", provider.BaseURL("long"))
	id := u.session("long")
	followers := make([]*follower, 1000)
	for i := range followers[:900] {
		followers[i] = u.follow(id, 0)
	}
	u.must("session", "send", id, "Tell them all")
	for i := 900; i < len(followers); i++ { // late, and from the middle
		followers[i] = u.follow(id, uint64(i%3))
	}
	events := u.events(id)
	u.contiguous(events)
	if last := events[len(events)-1]; last.Type != protocol.EventTurnCompleted {
		t.Errorf("the last event is %s", last.Type)
	}
	var reading sync.WaitGroup
	for i, f := range followers {
		reading.Go(func() {
			if all, err := f.reads(uint64(len(events))); !all || err != nil {
				t.Errorf("follower %d saw %d of %d events: %v", i, f.last, len(events), err)
			}
		})
	}
	reading.Wait()
	if status, err := u.daemon.Status(u.ctx()); err != nil || status.PID != u.pid {
		t.Errorf("the daemon has pid %d, and had %d (%v)", status.PID, u.pid, err)
	}
}

// sessions.md, Tests that must exist: a follower that never reads. It holds up nobody, and what it did not take it is
// given when it comes back.
func TestAFollowerThatNeverReads(t *testing.T) {
	provider := servertest.NewProvider(t, scenarios())
	u := newUser(t)
	u.start()
	u.upstream("plain", provider.BaseURL("plain"))
	id := u.session("plain")
	idle, busy := u.follow(id, 0), u.follow(id, 0)
	renames := 2_000 // with long names: several times what a socket holds
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		renames = 10_000
	}
	told := make(chan error, 1)
	go func() {
		all, err := busy.reads(uint64(renames))
		if err == nil && !all {
			err = fmt.Errorf("it was cut at event %d", busy.last)
		}
		told <- err
	}()
	for i := range renames - 1 { // event 1 is that of the session
		if err := u.daemon.RenameSession(t.Context(), id, fmt.Sprintf("%0120d", i)); err != nil {
			t.Fatalf("rename %d: %v", i, err)
		}
	}
	if err := <-told; err != nil {
		t.Errorf("a follower beside it: %v", err)
	}
	if got := u.must("session", "send", id, "Are you there?"); !strings.HasPrefix(got, "Hello") {
		t.Errorf("a turn beside it: got %q", got)
	}
	events := u.events(id)
	u.contiguous(events)
	for cuts := 0; ; cuts++ {
		all, err := idle.reads(uint64(len(events)))
		if err != nil {
			t.Fatal(err)
		}
		if all {
			return
		}
		if cuts == 10 {
			t.Fatalf("it was cut %d times, the last time at event %d", cuts, idle.last)
		}
		idle = u.follow(id, idle.last)
	}
}

// The end of a terminal is not that of the turn; and a program that is told to hang up leaves the terminal as it was.
func attachIsHungUp(t *testing.T, s suite) {
	id := s.session("stalls")
	term := s.attach(id, 80, 24)
	term.sees("● ready")
	term.types("Begin" + enter)
	term.sees("It begins")
	if err := term.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := term.ends(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	if left := term.sees("Left session " + id); strings.Contains(left, "It begins") {
		t.Errorf("the screen is not as it was before:\n%s", left)
	}
	if now, err := s.daemon.Session(s.ctx(), id); err != nil || now.State != protocol.SessionRunning {
		t.Errorf("the session is %q (%v), want running", now.State, err)
	}
	s.must("session", "interrupt", id)
}
