package app

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/session"
	"chatwright.dev/tray/server/upstream"
)

// turnsOn makes turns that go to one scenario of a provider, and the records of their calls.
func turnsOn(t *testing.T, scenario servertest.Scenario) (*turns, *servertest.Provider, <-chan protocol.Call) {
	t.Helper()
	provider := servertest.NewProvider(t, map[string]servertest.Scenario{"it": scenario})
	profiles, _, err := upstream.OpenProfiles(filepath.Join(t.TempDir(), "upstreams.json"))
	if err != nil {
		t.Fatal(err)
	}
	profile := upstream.Profile{Name: "work", BaseURL: provider.BaseURL("it"), Model: "m", APIKey: "sk-planted-0123456789"}
	if _, _, err := profiles.Put(profile, false); err != nil {
		t.Fatal(err)
	}
	ended := make(chan protocol.Call, 4)
	engine := proxy.New(proxy.Config{End: func(c protocol.Call) { ended <- c }, MeterUsage: true, KeepUsage: true})
	return &turns{
		engine: func() *proxy.Proxy { return engine },
		upstream: func(name string) (*upstream.Target, string, error) {
			profile, target, err := profiles.Get(name)
			return target, profile.Model, err
		},
	}, provider, ended
}

var hello = []session.Message{{Role: session.RoleUser, Text: "hello"}}

// askTurns runs one turn and returns what it said.
func askTurns(ctx context.Context, m *turns, req session.ModelRequest) (said session.Delta, result session.ModelResult, err error) {
	if req.Upstream == "" {
		req.Upstream = "work"
	}
	req.Messages = hello
	result, err = m.Stream(ctx, req, func(d session.Delta) { said.Text += d.Text; said.Reasoning += d.Reasoning })
	return said, result, err
}

func sse(data string) string { return "data: " + data + "\n\n" }

func TestTurnIsAMeteredCall(t *testing.T) {
	m, provider, ended := turnsOn(t, servertest.Scenario{Pieces: []string{
		sse(`{"model":"m-1","choices":[{"delta":{"reasoning_content":"hm"}}]}`),
		sse(`{"choices":[{"delta":{"content":"Hel"}}]}`),
		sse(`{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}`),
		sse(`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`),
		sse("[DONE]"),
	}})
	said, result, err := askTurns(t.Context(), m, session.ModelRequest{})
	if err != nil || said != (session.Delta{Text: "Hello", Reasoning: "hm"}) {
		t.Fatalf("got %+v, %v", said, err)
	}
	if result.FinishReason != "stop" || result.Model != "m-1" || result.Usage == nil || *result.Usage != (protocol.Usage{InputTokens: 7, OutputTokens: 3}) {
		t.Errorf("result: got %+v", result)
	}
	select {
	case c := <-ended: // before Stream returned
		if c.Upstream != "work" || c.Model != "m-1" || c.RequestModel != "m" || !c.Streamed || c.CompletionTokens != 3 || c.Verdict != protocol.VerdictComplete {
			t.Errorf("record: got %+v", c)
		}
	default:
		t.Error("the call is not recorded")
	}
	r := provider.Requests()[0]
	want := `{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true}}`
	if r.Path != "/v1/chat/completions" || r.Authorization() != "Bearer sk-planted-0123456789" || !sameJSON(r.Body, want) {
		t.Errorf("request: got %s %q %s, want %s", r.Path, r.Authorization(), r.Body, want)
	}
}

// sameJSON compares two texts whose members may be in another order.
func sameJSON(a, b string) bool {
	var one, other any
	return json.Unmarshal([]byte(a), &one) == nil && json.Unmarshal([]byte(b), &other) == nil && reflect.DeepEqual(one, other)
}

func TestModelOfATurnIsTheSessionsOrTheProfilesOrTheFirstListed(t *testing.T) {
	m, provider, _ := turnsOn(t, servertest.Scenario{Body: `{"data":[{"id":"first"},{"id":"second"}],"choices":[{"message":{"content":"x"}}]}`})
	asked := func() string { all := provider.Requests(); return all[len(all)-1].Body }
	if _, result, err := askTurns(t.Context(), m, session.ModelRequest{Model: "mine"}); err != nil || result.Model != "mine" || !strings.Contains(asked(), `"model":"mine"`) {
		t.Errorf("the session's: got %+v, %v, asked %s", result, err, asked())
	}
	if _, _, err := askTurns(t.Context(), m, session.ModelRequest{}); err != nil || !strings.Contains(asked(), `"model":"m"`) {
		t.Errorf("the profile's: %v, asked %s", err, asked())
	}
	find := m.upstream
	m.upstream = func(name string) (*upstream.Target, string, error) {
		target, _, err := find(name)
		return target, "", err
	}
	before := len(provider.Requests())
	for range 2 {
		if _, _, err := askTurns(t.Context(), m, session.ModelRequest{}); err != nil || !strings.Contains(asked(), `"model":"first"`) {
			t.Errorf("the first: %v, asked %s", err, asked())
		}
	}
	if got := len(provider.Requests()) - before; got != 3 {
		t.Errorf("two turns made %d requests, want one for the models and one each", got)
	}
}

func TestFailedTurnsSayWhatHappenedAndWhatToDo(t *testing.T) {
	key := "sk-planted-0123456789"
	begun := sse(`{"choices":[{"delta":{"content":"so far"}}]}`)
	for name, c := range map[string]struct {
		scenario   servertest.Scenario
		text, hint string
	}{
		"no key":           {servertest.Scenario{Status: 401, Body: `{"error":{"message":"bad key ` + key + `"}}`}, "work refuses the call (status 401): bad key *", "--key-stdin"},
		"no model":         {servertest.Scenario{Status: 404, Body: `{"error":"model not found"}`}, `work knows no model "m", or its base URL is wrong: model not found`, "upstream list"},
		"too long":         {servertest.Scenario{Status: 413, Body: `{}`}, "the conversation has become too long", "another session"},
		"an error":         {servertest.Scenario{Status: 500, Body: `{"error":"out of memory"}`}, "work: out of memory", ""},
		"an error midway":  {servertest.Scenario{Pieces: []string{begun, sse(`{"error":{"message":"it burns"}}`)}}, "work: it burns", ""},
		"a cut":            {servertest.Scenario{Pieces: []string{begun}, End: servertest.EndCut}, "work broke off its answer", "say it again"},
		"a reset":          {servertest.Scenario{Pieces: []string{begun}, End: servertest.EndReset}, "work broke off its answer", "say it again"},
		"a page":           {servertest.Scenario{Body: "<html>"}, "work: the server did not answer as a model server does", ""},
		"a tool and words": {servertest.Scenario{Pieces: []string{sse(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"run"}}]},"finish_reason":"tool_calls"}]}`)}}, "asked for a tool (run)", "in words"},
	} {
		m, _, _ := turnsOn(t, c.scenario)
		_, _, err := askTurns(t.Context(), m, session.ModelRequest{})
		if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(hint.Of(err), c.hint) {
			t.Errorf("%s: got %v (%s), want %q (%s)", name, err, hint.Of(err), c.text, c.hint)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s: the key is in %q", name, err)
		}
	}
}

func TestTurnOfAnUpstreamThatIsNotThere(t *testing.T) {
	m, provider, _ := turnsOn(t, servertest.Scenario{Body: `{}`})
	_, _, err := askTurns(t.Context(), m, session.ModelRequest{Upstream: "gone"})
	if err == nil || err.Error() != `the upstream "gone" of this session was removed` || hint.Of(err) == "" {
		t.Errorf("got %v (%s)", err, hint.Of(err))
	}
	if n := len(provider.Requests()); n != 0 {
		t.Errorf("another upstream was asked %d times instead", n)
	}
	target, err := upstream.Parse("http://" + closedAddr(t) + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	m.upstream = func(string) (*upstream.Target, string, error) { return target, "m", nil }
	if _, _, err := askTurns(t.Context(), m, session.ModelRequest{}); err == nil || !strings.Contains(err.Error(), "connection refused at "+target.Name) || hint.Of(err) == "" {
		t.Errorf("nobody listens: got %v (%s)", err, hint.Of(err))
	}
}

func TestTurnEndsWithItsContext(t *testing.T) {
	m, provider, ended := turnsOn(t, servertest.Scenario{Pieces: []string{sse(`{"choices":[{"delta":{"content":"x"}}]}`)}, End: servertest.EndStall})
	ctx, interrupt := context.WithCancel(t.Context())
	_, err := m.Stream(ctx, session.ModelRequest{Upstream: "work", Messages: hello}, func(session.Delta) { interrupt() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
	<-provider.Requests()[0].Left()
	if c := <-ended; c.Status != protocol.StatusClientClosed || c.Verdict != protocol.VerdictCancelled {
		t.Errorf("record: got %d %s", c.Status, c.Verdict)
	}
}

func TestPictureGoesUpAsAPartOfTheMessage(t *testing.T) {
	m, provider, _ := turnsOn(t, servertest.Scenario{Body: `{"choices":[{"message":{"content":"a cat"}}]}`})
	said := ""
	_, err := m.Stream(t.Context(), session.ModelRequest{Upstream: "work", Messages: []session.Message{{
		Role: session.RoleUser, Text: "what is it?", Images: []protocol.Image{{MediaType: "image/png", Data: []byte{1, 2, 3}}},
	}}}, func(d session.Delta) { said += d.Text })
	if err != nil || said != "a cat" {
		t.Fatalf("got %q, %v", said, err)
	}
	want := `"content":[{"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}]`
	if body := provider.Requests()[0].Body; !strings.Contains(body, want) {
		t.Errorf("got %s, want %s in it", body, want)
	}
	if h := provider.Requests()[0].Header; h.Get("Content-Type") != "application/json" || h.Get("Accept-Encoding") != "identity" {
		t.Errorf("headers: %v", h)
	}
}
