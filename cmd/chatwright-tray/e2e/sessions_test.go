//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// longAnswer is more than a screen.
func longAnswer() string {
	var b strings.Builder
	b.WriteString("# A long answer\n\n")
	for i := range 60 {
		fmt.Fprintf(&b, "Paragraph %d of it.\n\n", i)
	}
	return b.String() + "The **last** words."
}

const nasty = "\x1b]0;pwned\x07\x1b[2J\x1b[31mred\u009b1mbold\u202eright to left\rover"

// scenarios are those of the scripted model server that need no hand.
func scenarios() map[string]servertest.Scenario {
	return map[string]servertest.Scenario{
		"plain":   {Pieces: servertest.Answer("Hello from the **model**, naïve 日本語.", 3)},
		"long":    {Pieces: servertest.Answer(longAnswer(), 11)},
		"nasty":   {Pieces: servertest.Answer(nasty, 4)},
		"fails":   {Status: http.StatusInternalServerError, Body: `{"error":{"message":"out of memory"}}`},
		"stalls":  {Pieces: []string{servertest.Said("It begins")}, End: servertest.EndStall},
		"broken":  {Pieces: []string{servertest.Said("It begins"), servertest.Broken("the model fell over")}},
		"cut":     {Pieces: []string{servertest.Said("It begins")}, End: servertest.EndCut},
		"cropped": {Pieces: []string{servertest.Said("Too lo"), servertest.Finished("length"), servertest.Used(3, 2), servertest.Done}},
		"thinks": {Pieces: []string{servertest.Thought("Hm. "), servertest.Thought("Let me see."), servertest.Said("Yes."),
			servertest.Finished("stop"), servertest.Used(5, 9), servertest.Done}},
		"tools": {Pieces: []string{servertest.Called("rm", `{"path":"/"}`), servertest.Said("I would have."),
			servertest.Finished("tool_calls"), servertest.Done}},
	}
}

// TestSessions drives one daemon. What changes nothing for the others runs beside them.
func TestSessions(t *testing.T) {
	provider := servertest.NewProvider(t, scenarios())
	u := newUser(t)
	u.start()
	for name := range scenarios() {
		u.upstream(name, provider.BaseURL(name))
	}
	s := suite{u, provider}
	t.Run("scenarios", func(t *testing.T) {
		for name, run := range map[string]func(*testing.T, suite){
			"send prints the answer":                  sendPrintsTheAnswer,
			"send says what went wrong":               sendSaysWhatWentWrong,
			"ctrl-c interrupts a send":                ctrlCInterruptsASend,
			"ctrl-c twice leaves the turn running":    ctrlCTwiceLeaves,
			"a stranger's sequences reach nobody":     nastyIsHarmless,
			"list, show, rename, export and rm":       theOtherCommands,
			"ids":                                     idsAndTheirBegins,
			"two senders, one turn":                   twoSendersOneTurn,
			"thoughts stay out of the history":        thoughtsStayOut,
			"attach: type, send, scroll, find, leave": attachAsAPersonDoes,
			"attach: interrupt":                       attachInterrupts,
			"attach: what others say":                 attachShowsOthers,
			"attach: hung up":                         attachIsHungUp,
			"attach: narrow and resized":              attachNarrow,
			"attach: no colour":                       attachWithoutColour,
			"plain: a pipe":                           plainThroughAPipe,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, suite{s.as(t), provider})
			})
		}
	})
	status, err := u.daemon.Status(u.ctx())
	if err != nil || status.PID != u.pid {
		t.Errorf("the daemon has pid %d, and had %d (%v)", status.PID, u.pid, err)
	}
}

// A suite is what the scenarios share.
type suite struct {
	*user
	provider *servertest.Provider
}

func sendPrintsTheAnswer(t *testing.T, s suite) {
	id := s.session("plain")
	got := s.run("session", "send", id, "Good morning")
	if want := "Hello from the **model**, naïve 日本語.\n"; got.stdout != want || got.code != 0 || got.stderr != "" {
		t.Errorf("got %+v, want %q", got, want)
	}
	cmd := s.command("session", "send", id, "-")
	cmd.Stdin = strings.NewReader("from a pipe\nin two lines\n")
	if got := outcomeOf(t, cmd); got.code != 0 {
		t.Errorf("from standard input: got %+v", got)
	}
	var bodies []string
	for _, r := range s.provider.Requests() {
		if r.Scenario == "plain" && strings.Contains(r.Body, "Good morning") {
			bodies = append(bodies, r.Body)
			if r.Authorization() != "Bearer key-of-plain" {
				t.Errorf("authorization: got %q", r.Authorization())
			}
		}
	}
	if len(bodies) != 2 {
		t.Fatalf("the model was asked %d times, want 2", len(bodies))
	}
	var asked struct {
		Model    string
		Stream   bool
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(bodies[1]), &asked); err != nil {
		t.Fatal(err)
	}
	if asked.Model != "scripted-1" || !asked.Stream {
		t.Errorf("the model was asked for %q, streamed: %v", asked.Model, asked.Stream)
	}
	var said []string
	for _, m := range asked.Messages {
		if m.Role != "system" {
			said = append(said, m.Role+": "+m.Content)
		}
	}
	want := "user: Good morning|assistant: Hello from the **model**, naïve 日本語.|user: from a pipe\nin two lines"
	if got := strings.Join(said, "|"); got != want {
		t.Errorf("the conversation: got %q, want %q", got, want)
	}
}

func sendSaysWhatWentWrong(t *testing.T, s suite) {
	for scenario, want := range map[string]outcome{
		"fails":   {"", "out of memory", 1},
		"broken":  {"It begins\n", "the model fell over", 1},
		"cut":     {"It begins\n", "error: ", 1},
		"cropped": {"Too lo\n", "limit of tokens", 1},
		"tools":   {"I would have.\n", "before the model said", 1},
	} {
		id := s.session(scenario)
		got := s.run("session", "send", id, "Go on")
		if got.stdout != want.stdout || !strings.Contains(got.stderr, want.stderr) || got.code != want.code {
			t.Errorf("%s: got %+v, want %+v", scenario, got, want)
		}
		if now, err := s.daemon.Session(s.ctx(), id); err != nil || now.State != protocol.SessionIdle {
			t.Errorf("%s: afterwards the session is %q (%v), want idle", scenario, now.State, err)
		}
		s.contiguous(s.events(id))
	}
}

func ctrlCInterruptsASend(t *testing.T, s suite) {
	id := s.session("stalls")
	term := open(t, s.command("session", "send", id, "Begin"), 80, 10)
	term.sees("It begins")
	term.types(ctrlC)
	if code := term.ends(); code != 130 {
		t.Errorf("exit code: got %d, want 130", code)
	}
	events := s.events(id)
	if last := events[len(events)-1]; last.Type != protocol.EventTurnCompleted || !strings.Contains(string(last.Payload), `"interrupted"`) {
		t.Errorf("the last event is %s %s", last.Type, last.Payload)
	}
}

func ctrlCTwiceLeaves(t *testing.T, s suite) {
	id := s.session("stalls")
	for range 20 { // a machine that is busy may take longer over the second than a person would
		term := open(t, s.command("session", "send", id, "Begin"), 80, 10)
		term.sees("It begins")
		term.types(ctrlC)
		term.sees("Interrupting; Ctrl-C at once again")
		term.types(ctrlC)
		if code := term.ends(); code != 130 {
			t.Fatalf("exit code: got %d, want 130", code)
		}
		now, err := s.daemon.Session(s.ctx(), id)
		if err != nil {
			t.Fatal(err)
		}
		if now.State == protocol.SessionRunning {
			term.sees("left; the turn goes on")
			s.must("session", "interrupt", id)
			return
		}
	}
	t.Error("the turn never went on")
}

func nastyIsHarmless(t *testing.T, s suite) {
	id := s.session("nasty")
	harmless := func(what, text string) {
		t.Helper()
		if strings.ContainsAny(text, "\x1b\a\u009b\u202e\r") {
			t.Errorf("%s: %q reaches the terminal", what, text)
		}
	}
	harmless("send", s.must("session", "send", id, "Do your worst"))
	harmless("show", s.must("session", "show", id))
	harmless("export", s.must("session", "export", id))
	harmless("export --json", s.must("session", "export", id, "--json"))
	cmd := s.command("session", "attach", id, "--plain")
	cmd.Stdin = strings.NewReader("")
	harmless("attach --plain", outcomeOf(t, cmd).stdout)
	term := s.attach(id, 80, 24)
	term.sees("·]0;pwned", "● ready")
	for _, evil := range []string{"\x1b]0;pwned", "\x1b[31mred", "\u009b", "\u202e"} {
		if strings.Contains(term.written(), evil) {
			t.Errorf("attach wrote %q", evil)
		}
	}
}

func theOtherCommands(t *testing.T, s suite) {
	id := s.session("plain")
	s.must("session", "send", id, "First words")
	s.must("session", "rename", id, "A name of its own")
	if got := s.must("session", "list"); !strings.Contains(got, id) || !strings.Contains(got, "A name of its own") {
		t.Errorf("list: %s", got)
	}
	var listed []protocol.Session
	if err := json.Unmarshal([]byte(s.must("session", "list", "--json", "--all")), &listed); err != nil || len(listed) == 0 {
		t.Errorf("list --json: %v", err)
	}
	if got := s.must("session", "show", id); !strings.Contains(got, "You: First words\nModel: Hello from the **model**") {
		t.Errorf("show: %s", got)
	}
	if got := s.must("session", "export", id); !strings.HasPrefix(got, "# A name of its own\n") || !strings.Contains(got, "## Model\n\nHello from") {
		t.Errorf("export: %s", got)
	}
	var export struct {
		Session protocol.Session
		Events  []protocol.Event
	}
	if err := json.Unmarshal([]byte(s.must("session", "export", id, "--json")), &export); err != nil {
		t.Fatal(err)
	}
	if export.Session.ID != id || len(export.Events) != int(export.Session.LastSeq) {
		t.Errorf("export --json: session %q, %d events of %d", export.Session.ID, len(export.Events), export.Session.LastSeq)
	}
	file := filepath.Join(s.home, "work", "talk.md")
	if s.must("session", "export", id, "-o", file); fileText(file) != s.must("session", "export", id) {
		t.Error("the file is not what is printed")
	}
	s.must("session", "rm", id)
	if got := s.run("session", "show", id); got.code != 1 || !strings.Contains(got.stderr, "hint: ") {
		t.Errorf("show of a session that was removed: %+v", got)
	}
}

func fileText(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

func idsAndTheirBegins(t *testing.T, s suite) {
	first, second := s.session("plain"), s.session("plain")
	if got := s.run("session", "show", first[:2]); got.code != 1 || !strings.Contains(got.stderr, "sessions have an id") {
		t.Errorf("an id that could be several: %+v", got)
	}
	if got := s.must("session", "show", second[:len(second)-1]); !strings.Contains(got, second) {
		t.Errorf("the begin of an id: %s", got)
	}
	if got := s.must("session", "show", second[strings.LastIndex(second, "-")+1:]); !strings.Contains(got, second) {
		t.Errorf("the end of an id: %s", got)
	}
	for _, id := range []string{"..%2F", "../../etc/passwd", "", "-", "nowhere"} {
		if got := s.run("session", "show", "--", id); got.code != 1 || got.stdout != "" {
			t.Errorf("%q: %+v", id, got)
		}
	}
	for _, path := range []string{"/v1/sessions/..%2F", "/v1/sessions/..%2f..%2fdaemon.json", "/v1/sessions/%2e%2e%2f/events", "/v1/sessions/UPPERCASE"} {
		if status := s.get(path); status != http.StatusNotFound {
			t.Errorf("GET %s: got %d, want 404", path, status)
		}
	}
	completed := s.must("__complete", "session", "show", first[:len(first)-4])
	if !strings.Contains(completed, first) {
		t.Errorf("completion: %s", completed)
	}
}

// get asks the control socket, as curl would.
func (s suite) get(path string) int {
	s.t.Helper()
	socket := s.daemon.SocketPath()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	resp, err := (&http.Client{Transport: transport}).Get("http://chatwright" + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

func twoSendersOneTurn(t *testing.T, s suite) {
	id := s.session("stalls")
	var senders sync.WaitGroup
	results := make([]error, 2)
	for i := range results {
		senders.Go(func() {
			_, results[i] = s.daemon.StartTurn(s.ctx(), id, protocol.TurnRequest{Text: fmt.Sprint("sender ", i)})
		})
	}
	senders.Wait()
	refused := 0
	for _, err := range results {
		if answer, ok := errors.AsType[*client.Error](err); ok && answer.Status == http.StatusConflict && answer.Code == protocol.CodeTurnActive {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 1 {
		t.Errorf("%d of two senders were refused, want 1", refused)
	}
	got := s.run("session", "send", id, "a third")
	if got.code != 1 || !strings.Contains(got.stderr, "error: ") {
		t.Errorf("send while a turn runs: %+v", got)
	}
	s.must("session", "interrupt", id)
}

func thoughtsStayOut(t *testing.T, s suite) {
	id := s.session("thinks")
	if got := s.must("session", "send", id, "Really, now?"); got != "Yes.\n" {
		t.Errorf("send prints %q", got)
	}
	s.must("session", "send", id, "And again?")
	for _, r := range s.provider.Requests() {
		if r.Scenario == "thinks" && strings.Contains(r.Body, "Let me see") {
			t.Errorf("the model hears its thoughts: %s", r.Body)
		}
	}
	if got := s.must("session", "show", id, "--thoughts"); !strings.Contains(got, "Thinking: Hm. Let me see.") {
		t.Errorf("show --thoughts: %s", got)
	}
}

// kill ends the daemon as a power failure would.
func (u *user) kill() {
	u.t.Helper()
	if err := syscall.Kill(u.pid, syscall.SIGKILL); err != nil {
		u.t.Fatal(err)
	}
	if !gone(u.pid) {
		u.t.Fatalf("pid %d does not die", u.pid)
	}
}
