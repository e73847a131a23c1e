//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/timetest"
)

// A client that is attached outlives a restart of the daemon: it says what happened, and carries the conversation on.
func TestAttachSurvivesARestart(t *testing.T) {
	t.Parallel()
	provider := servertest.NewProvider(t, scenarios())
	u := newUser(t)
	u.start()
	u.upstream("plain", provider.BaseURL("plain"))
	id := u.session("plain")
	term := u.attach(id, 80, 24)
	term.sees("● ready")
	term.types("Before" + enter)
	term.sees("› Before", "Hello from the model", "● ready")
	term.types("half a mess")
	term.sees("› half a mess")

	u.must("restart")
	u.meet()
	term.sees("The companion was started anew", "recorded: your next message resumes it", "› half a mess")
	term.types("age" + enter)
	term.await("the new session", func(screen string) bool {
		return strings.Contains(screen, "Carries on the conversation "+id) && strings.Contains(screen, "› half a message") &&
			strings.Count(screen, "Hello from the model") == 2 && strings.Contains(screen, "● ready")
	})
	term.types(ctrlD)
	term.sees("Left session ")
	if code := term.ends(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	requests := provider.Requests()
	last := requests[len(requests)-1]
	if i := slices.IndexFunc([]string{"Before", "Hello from the", "half a message"}, func(part string) bool {
		return !strings.Contains(last.Body, part)
	}); i >= 0 || last.Authorization() != "Bearer key-of-plain" {
		t.Errorf("the resumed conversation lacks part %d: %s", i, last.Body)
	}
	var resumed struct{ Session string }
	if err := json.Unmarshal([]byte(u.must("session", "new", "--resume", id)), &resumed); err != nil {
		t.Fatal(err)
	}
	if got := u.must("session", "show", resumed.Session); !strings.Contains(got, "[carries on "+id+"]\nYou: Before\nModel: Hello") {
		t.Errorf("session new --resume: %s", got)
	}
	if got := u.run("session", "send", id, "to the old one"); got.code != 1 || !strings.Contains(got.stderr, "session new --resume "+id) {
		t.Errorf("send to the session that ended: %+v", got)
	}
}

// kill -9 in the middle of a turn loses nothing that anybody saw, and doubles nothing.
func TestKilledInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	provider := servertest.NewProvider(t, scenarios())
	u := newUser(t)
	u.start()
	u.upstream("stalls", provider.BaseURL("stalls"))
	id := u.session("stalls")
	term := u.attach(id, 80, 24)
	term.sees("● ready")
	term.types("Begin" + enter)
	term.sees("It begins", "● answering")
	before := u.events(id)

	u.kill()
	term.sees("no connection, trying again")
	if got := u.run("session", "list", "--all"); got.code != 0 || !strings.Contains(got.stdout, id) || !strings.Contains(got.stdout, "cut off") {
		t.Errorf("list: %+v", got) // it has started a daemon
	}
	u.meet()
	term.sees("It begins", "· Interrupted.", "The companion was started anew")
	after := u.events(id)
	u.contiguous(after)
	if len(after) < len(before) {
		t.Fatalf("%d events, and there were %d", len(after), len(before))
	}
	for i, e := range before {
		if after[i].Type != e.Type || string(after[i].Payload) != string(e.Payload) {
			t.Errorf("event %d is %s %s, and was %s %s", i+1, after[i].Type, after[i].Payload, e.Type, e.Payload)
		}
	}
	if last := after[len(after)-1]; last.Type != protocol.EventTurnCompleted || !strings.Contains(string(last.Payload), "interrupted") {
		t.Errorf("the last event is %s %s", last.Type, last.Payload)
	}
	if n := strings.Count(term.screen(), "It begins"); n != 1 {
		t.Errorf("the answer is shown %d times", n)
	}
	term.types("/resume" + enter)
	term.sees("Carries on the conversation "+id, "It begins", "● ready")
	term.types(ctrlD)
	if code := term.ends(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

// BenchmarkDeltaToTerminal measures from the moment at which the model server sends a piece to that at which a terminal
// shows it: the proxy's engine, the record, the socket, the client and the pseudo terminal.
func BenchmarkDeltaToTerminal(b *testing.B) {
	const pieces = 100
	next := make(chan struct{})
	step := servertest.Scenario{Pieces: []string{servertest.Said("begin ")}, Next: next, End: servertest.EndStall}
	for i := range pieces {
		step.Pieces = append(step.Pieces, servertest.Said(fmt.Sprintf("piece%d. ", i)))
	}
	provider := servertest.NewProvider(b, map[string]servertest.Scenario{"steps": step})
	u := newUser(b)
	u.start()
	u.upstream("steps", provider.BaseURL("steps"))
	for b.Loop() {
		term := u.attach(u.session("steps"), 100, 30)
		term.sees("● ready")
		term.types("Go" + enter)
		term.sees("begin")
		var times []time.Duration
		for i := range pieces {
			timetest.Pause(time.Duration(3+i*7%60)*time.Millisecond, "models are no clocks")
			begun := time.Now()
			next <- struct{}{}
			term.sees(fmt.Sprintf("piece%d.", i))
			times = append(times, time.Since(begun))
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[pieces/2].Microseconds())/1000, "ms-p50")
		b.ReportMetric(float64(times[pieces*95/100].Microseconds())/1000, "ms-p95")
		b.ReportMetric(float64(times[pieces-1].Microseconds())/1000, "ms-max")
		term.types(ctrlC)
		term.sees("Interrupted.")
		term.types(ctrlD)
		term.ends()
	}
}
