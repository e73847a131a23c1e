//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
)

func TestSessionOperationsAskWhatTheyShould(t *testing.T) {
	var got string
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
		if accept := r.Header.Get("Accept"); accept != "application/json" {
			t.Errorf("%s: Accept: got %q", got, accept)
		}
		_, _ = io.WriteString(w, `{"id":"abc-1","turn_id":"t2","sessions":[{"id":"abc-2"}],"folders":[{"path":"specs"}],"restored":["a"],"events":[{"seq":7}],"next":8,"newer":1}`)
	})
	ctx := t.Context()
	check := func(want string, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	made, err := c.CreateSession(ctx, protocol.CreateSessionRequest{Workspace: "/w", Model: "m"})
	check(`POST /v1/sessions {"workspace":"/w","model":"m"}`, err)
	_, err = c.Sessions(ctx, false, "")
	check("GET /v1/sessions", err)
	list, err := c.Sessions(ctx, true, "/my work")
	check("GET /v1/sessions?recorded=1&workspace=%2Fmy+work", err)
	shown, err := c.Session(ctx, "../x")
	check("GET /v1/sessions/..%2Fx", err)
	check("DELETE /v1/sessions/abc-1", c.DeleteSession(ctx, "abc-1", false))
	check("DELETE /v1/sessions/abc-1?purge=1", c.DeleteSession(ctx, "abc-1", true))
	check(`POST /v1/sessions/abc-1/name {"name":""}`, c.RenameSession(ctx, "abc-1", ""))
	turn, err := c.StartTurn(ctx, "abc-1", protocol.TurnRequest{Text: "hi", SubmissionID: "s"})
	check(`POST /v1/sessions/abc-1/turns {"text":"hi","submission_id":"s"}`, err)
	check(`POST /v1/sessions/abc-1/interrupt {}`, c.Interrupt(ctx, "abc-1"))
	check(`POST /v1/sessions/abc-1/steer {"text":"no"}`, c.Steer(ctx, "abc-1", "no"))
	undone, err := c.Undo(ctx, "abc-1")
	check(`POST /v1/sessions/abc-1/undo {}`, err)
	check(`POST /v1/sessions/abc-1/approvals/a%2Fb {"decision":"deny"}`, c.Approve(ctx, "abc-1", "a/b", protocol.DecisionDeny))
	folders, err := c.Specs(ctx, "/w")
	check("GET /v1/specs?workspace=%2Fw", err)
	page, err := c.Events(ctx, "abc-1", 7)
	check("GET /v1/sessions/abc-1/events?from=7", err)
	_, _ = c.Events(ctx, "abc-1", 0)
	check("GET /v1/sessions/abc-1/events", nil)
	if made.ID != "abc-1" || shown.ID != "abc-1" || list[0].ID != "abc-2" || turn != "t2" || undone.Restored[0] != "a" || folders[0].Path != "specs" || page.Next != 8 || page.Events[0].Seq != 7 {
		t.Errorf("answers: got %+v %+v %+v %q %+v %+v %+v", made, shown, list, turn, undone, folders, page)
	}
}

// frame is one event on a stream.
func frame(seq int) string {
	return fmt.Sprintf("id: %d\ndata: {\"seq\":%d,\"session_id\":\"abc-1\",\"type\":\"progress\",\"at\":\"2026-11-30T15:43:53Z\",\"payload\":{}}\n\n", seq, seq)
}

// Whatever breaks, Follow reads on from where it was: every event once, in order, without a gap.
func TestFollowTellsEveryEventOnceWhateverBreaks(t *testing.T) {
	answers := []string{
		"retry: 1000\n\n" + frame(3) + ": ping\n\n" + frame(4), // and the stream ends
		frame(5) + "id: 6\ndata: {\"seq\":6,\"type\"",          // in the middle of an event
		frame(4) + frame(5) + frame(6),                         // a daemon that sends more than it was asked for
		frame(9),                                               // one that leaves something out
		"event: news\ndata: what a newer daemon tells\n\n" + frame(7),
		"data: no JSON\n\n",
		frame(8) + "event: closed\ndata: {}\n\n" + frame(9), // the end, and nothing behind it counts
	}
	var asked []string
	var number atomic.Int64
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("from"))
		if r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("Accept: got %q", r.Header.Get("Accept"))
		}
		_, _ = io.WriteString(w, answers[number.Add(1)-1])
	})
	var seen []uint64
	lost, back := 0, 0
	err := c.Follow(t.Context(), "abc-1", 3, client.Follower{
		Event: func(e protocol.Event) error { seen = append(seen, e.Seq); return nil },
		Lost:  func(error) { lost++ },
		Back:  func() { back++ },
	})
	if err != nil {
		t.Errorf("the end of a session: got %v, want none", err)
	}
	if got, want := fmt.Sprint(seen), "[3 4 5 6 7 8]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(asked), "[3 5 6 7 7 8 8]"; got != want {
		t.Errorf("it asked from %s, want %s", got, want)
	}
	if lost != 6 || back != 6 {
		t.Errorf("got %d losses and %d returns, want 6 of each", lost, back)
	}
}

func TestFollowBeginsAtTheFirstEventAndSurvivesARestart(t *testing.T) {
	path := socketPath(t)
	send := func(frames string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("from") == "1" || strings.Contains(frames, "closed") {
				_, _ = io.WriteString(w, frames)
			}
			_ = http.NewResponseController(w).Flush()
			if !strings.Contains(frames, "closed") {
				<-r.Context().Done()
			}
		}
	}
	stop := serve(t, path, send(frame(1)))
	seen := make(chan uint64, 4)
	done := make(chan error, 1)
	lost := make(chan error, 8)
	go func() {
		done <- client.New(path).Follow(t.Context(), "abc-1", 0, client.Follower{
			Event: func(e protocol.Event) error { seen <- e.Seq; return nil },
			Lost:  func(err error) { lost <- err },
		})
	}()
	if got := <-seen; got != 1 {
		t.Errorf("got event %d, want the first", got)
	}
	stop() // there is no socket at all for a while
	<-lost
	serve(t, path, send(frame(2)+"event: closed\ndata: {}\n\n"))
	if err := <-done; err != nil || <-seen != 2 || len(lost) != 0 {
		t.Errorf("got %v and %d more losses, want event 2 and the end", err, len(lost))
	}
}

func TestFollowEndsWhenItShould(t *testing.T) {
	enough := errors.New("enough")
	nothing := client.Follower{Event: func(protocol.Event) error { return nil }}
	t.Run("when the caller has enough", func(t *testing.T) {
		c := daemon(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, frame(1)+frame(2)) })
		calls := 0
		err := c.Follow(t.Context(), "abc-1", 0, client.Follower{Event: func(protocol.Event) error { calls++; return enough }})
		if err != enough || calls != 1 {
			t.Errorf("got %v after %d calls", err, calls)
		}
	})
	t.Run("when there is no daemon", func(t *testing.T) {
		if err := client.New(socketPath(t)).Follow(t.Context(), "abc-1", 0, nothing); !errors.Is(err, client.ErrNotRunning) {
			t.Errorf("got %v", err)
		}
	})
	for code, status := range map[protocol.ErrorCode]int{protocol.CodeSessionNotFound: 404, protocol.CodeEventsExpired: 410} {
		t.Run("when the daemon says "+string(code), func(t *testing.T) {
			var asked atomic.Int64
			c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					_, _ = io.WriteString(w, frame(1))
					return
				}
				w.WriteHeader(status)
				_, _ = fmt.Fprintf(w, `{"code":%q,"message":"gone"}`, code)
			})
			got, ok := errors.AsType[*client.Error](c.Follow(t.Context(), "abc-1", 0, nothing))
			if !ok || got.Code != code || asked.Load() != 2 {
				t.Errorf("got %v after %d requests", got, asked.Load())
			}
		})
	}
	t.Run("when its context does", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, frame(1))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		err := c.Follow(ctx, "abc-1", 0, client.Follower{Event: func(protocol.Event) error { cancel(); return nil }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestFollowersAreToldOfTrouble(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, frame(1)+"event: trouble\ndata: {\"code\":\"internal\",\"message\":\"no space\",\"hint\":\"make some\"}\n\n"+frame(2)+"event: closed\ndata: {}\n\n")
	})
	var told []string
	err := c.Follow(t.Context(), "abc-1", 0, client.Follower{
		Event:   func(e protocol.Event) error { told = append(told, fmt.Sprint(e.Seq)); return nil },
		Trouble: func(e protocol.Error) { told = append(told, e.Message+", "+e.Hint) },
	})
	if got, want := strings.Join(told, "|"), "1|no space, make some|2"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
