package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

func (l *living) client() *client.Client { return client.New(l.discovery().Socket) }

// ask sends one chat completion through the companion, as Studio does, and returns the answer's status and body.
func (l *living) ask(body string) (int, string) {
	l.t.Helper()
	r, err := http.Post("http://"+l.discovery().Addr+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

// fromFile are settings whose upstream stands in tray.toml.
func fromFile(t *testing.T, base string) settings.Settings {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tray.toml")
	if err := os.WriteFile(file, []byte("addr = \"127.0.0.1:0\"\nupstream = \""+base+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func answering(text string) servertest.Scenario {
	return servertest.Scenario{Body: `{"data":[{"id":"m"}],"choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`}
}

func putUpstream(t *testing.T, c *client.Client, name, base string, key *string) {
	t.Helper()
	if _, err := c.PutUpstream(t.Context(), name, protocol.PutUpstreamRequest{BaseURL: base, APIKey: key}); err != nil {
		t.Fatal(err)
	}
}

func active(t *testing.T, c *client.Client) string {
	t.Helper()
	list, err := c.Upstreams(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, one := range list.Upstreams {
		if one.Active {
			if name != "" {
				t.Errorf("both %s and %s are active", name, one.Name)
			}
			name = one.Name
		}
	}
	return name
}

func TestChangedUpstreamTakesEffectForTheNextCall(t *testing.T) {
	slow := make(chan struct{})
	provider := servertest.NewProvider(t, map[string]servertest.Scenario{
		"one": answering("one"), "two": answering("two"), "slow": {Body: `{"choices":[{"message":{"content":"slow"}}]}`, Before: slow},
	})
	l := live(t, func(c *Config) { c.Settings = fromFile(t, provider.BaseURL("one")) })
	c := l.client()
	said := func(want string) {
		t.Helper()
		if status, body := l.ask(`{"model":"m"}`); status != 200 || !strings.Contains(body, want) {
			t.Errorf("got %d %s, want %q", status, body, want)
		}
	}
	said("one")
	putUpstream(t, c, "work", provider.BaseURL("two"), nil)
	said("one")
	if err := c.UseUpstream(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	said("two")
	if s, err := c.Status(t.Context()); err != nil || s.Upstream.Name != "work" {
		t.Errorf("status: got %+v, %v", s.Upstream, err)
	}
	putUpstream(t, c, "work", provider.BaseURL("slow"), nil)
	n := len(provider.Requests())
	inFlight := make(chan string)
	go func() { _, body := l.ask(`{"model":"m"}`); inFlight <- body }()
	for { // among the probes of the change
		if r := provider.Await(n + 1); r.Path == "/v1/chat/completions" {
			break
		}
		n++
	}
	putUpstream(t, c, "work", provider.BaseURL("one"), nil)
	said("one")
	if err := c.UseUpstream(t.Context(), "demo"); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteUpstream(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	close(slow)
	if body := <-inFlight; !strings.Contains(body, "slow") {
		t.Errorf("the call in flight got %s", body)
	}
}

func TestChoiceHoldsAfterARestartUnlessTheStartSaysOtherwise(t *testing.T) {
	provider := servertest.NewProvider(t, map[string]servertest.Scenario{"one": answering("one"), "two": answering("two")})
	where := pathsIn(t)
	run := func(s settings.Settings, do func(*client.Client)) {
		t.Helper()
		l := live(t, func(c *Config) { c.Paths, c.Settings = where, s })
		do(l.client())
		l.end()
		if err := <-l.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		l.ended <- nil
	}
	want := func(name string) func(*client.Client) {
		return func(c *client.Client) {
			if got := active(t, c); got != name {
				t.Errorf("got %q in use, want %q", got, name)
			}
		}
	}
	file := fromFile(t, provider.BaseURL("one"))
	run(file, func(c *client.Client) {
		want("configured")(c)
		putUpstream(t, c, "work", provider.BaseURL("two"), nil)
		if err := c.UseUpstream(t.Context(), "work"); err != nil {
			t.Fatal(err)
		}
	})
	run(file, want("work"))
	run(settingsWith(t, "upstream="+provider.BaseURL("one")), want("configured")) // a flag means this run
	run(file, func(c *client.Client) {
		want("work")(c)
		if err := c.UseUpstream(t.Context(), "demo"); err != nil {
			t.Fatal(err)
		}
	})
	run(file, func(c *client.Client) {
		want("demo")(c)
		for _, name := range []string{"work", "configured"} {
			if err := c.UseUpstream(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	})
	run(file, func(c *client.Client) {
		want("configured")(c)
		if err := c.UseUpstream(t.Context(), "work"); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.Remove(where.Upstreams); err != nil {
		t.Fatal(err)
	}
	run(file, want("configured")) // what was chosen is gone
}

func TestListSaysOfEachUpstreamWhetherItAnswers(t *testing.T) {
	provider := servertest.NewProvider(t, map[string]servertest.Scenario{"one": answering("one"), "locked": {Status: 401, Body: `{}`}})
	l := live(t, func(c *Config) { c.Settings = fromFile(t, provider.BaseURL("one")) })
	c := l.client()
	gone := closedAddr(t)
	putUpstream(t, c, "b-gone", "http://"+gone+"/v1", nil)
	putUpstream(t, c, "A-locked", provider.BaseURL("locked"), nil)
	list, err := c.Upstreams(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, one := range list.Upstreams {
		lines = append(lines, strings.TrimSpace(strings.Join([]string{one.Name, string(one.Source), string(one.Reach), one.Detail}, " ")))
	}
	want := []string{"configured configured ok", "demo demo ok", "A-locked named ok wants an API key (status 401)", "b-gone named down connection refused at " + gone}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if known, err := c.Upstream(t.Context(), "b-gone"); err != nil || known.Reach != protocol.ReachDown {
		t.Errorf("what was found out is not remembered: %+v, %v", known, err)
	}
}

func TestUpstreamThatIsInUseOrAlwaysThereIsNotRemoved(t *testing.T) {
	l := live(t, func(*Config) {})
	c := l.client()
	putUpstream(t, c, "work", "http://localhost:1/v1", nil)
	if err := c.UseUpstream(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]protocol.ErrorCode{
		"work": protocol.CodeConflict, "demo": protocol.CodeInvalidInput, "configured": protocol.CodeInvalidInput, "none": protocol.CodeNotFound,
	} {
		err := c.DeleteUpstream(t.Context(), name)
		if answer, ok := errors.AsType[*client.Error](err); !ok || answer.Code != code {
			t.Errorf("%s: got %v, want %s", name, err, code)
		}
	}
	for _, name := range []string{"none", "..%2fetc", "a b"} {
		if err := c.UseUpstream(t.Context(), name); err == nil || hint.Of(err) == "" {
			t.Errorf("using %q: got %v, want a refusal with a way out", name, err)
		}
	}
	if got := active(t, c); got != "work" {
		t.Errorf("%q is in use", got)
	}
	_, err := c.CreateSession(t.Context(), protocol.CreateSessionRequest{Workspace: t.TempDir(), Upstream: "none"})
	if answer, ok := errors.AsType[*client.Error](err); !ok || answer.Code != protocol.CodeInvalidInput {
		t.Errorf("a session with an upstream that is not there: got %v", err)
	}
}

func TestTheCompanionItselfIsNoUpstream(t *testing.T) {
	l := live(t, func(*Config) {})
	c := l.client()
	_, port, err := net.SplitHostPort(l.discovery().Addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{
		"http://127.0.0.1:" + port + "/v1", "http://localhost:" + port, "http://chatwright.localhost:" + port + "/v1", "http://0.0.0.0:" + port + "/v1",
	} {
		_, err := c.PutUpstream(t.Context(), "me", protocol.PutUpstreamRequest{BaseURL: base})
		answer, ok := errors.AsType[*client.Error](err)
		if !ok || answer.Code != protocol.CodeInvalidInput || !strings.Contains(answer.Message, "this companion itself") || hint.Of(err) == "" {
			t.Errorf("%s: got %v, want it refused with a way out", base, err)
		}
	}
	if _, err := c.Upstream(t.Context(), "me"); err == nil {
		t.Error("it was stored")
	}
}

func TestNamedUpstreamsThatCannotBeReadAreANotice(t *testing.T) {
	where := pathsIn(t)
	if err := errors.Join(where.Make(), os.WriteFile(where.Upstreams, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	l := live(t, func(c *Config) { c.Paths = where })
	l.awaitMenu("The named upstreams could not be read · The old file is upstreams.json.broken")
}

// turnReason says something in a session and returns how the turn ended.
func turnReason(t *testing.T, c *client.Client, id string) protocol.TurnReason {
	t.Helper()
	turn, err := c.StartTurn(t.Context(), id, protocol.TurnRequest{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var end protocol.TurnCompleted
	done := errors.New("done")
	err = c.Follow(ctx, id, 0, client.Follower{Event: func(e protocol.Event) error {
		if e.Type == protocol.EventTurnCompleted && json.Unmarshal(e.Payload, &end) == nil && end.TurnID == turn {
			return done
		}
		return nil
	}})
	if !errors.Is(err, done) {
		t.Fatal(err)
	}
	return end.Reason
}

// read reads what a path of the listener says; of an event stream, its first events.
func (l *living) read(path, accept string) string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.discovery().Addr+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var read strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := answer.Body.Read(buf)
		read.Write(buf[:n])
		if err != nil || strings.Contains(read.String(), "event: calls") {
			break
		}
	}
	return strings.Join([]string{answer.Header.Get("X-Auth"), read.String()}, " ")
}
