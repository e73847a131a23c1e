package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
)

// direct is a proxy that has no listener, and the records of its calls.
func direct(t *testing.T, upstream http.Handler, change func(*proxy.Config)) (http.RoundTripper, <-chan protocol.Call) {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	ended := make(chan protocol.Call, 1)
	cfg := proxy.Config{End: func(c protocol.Call) { ended <- c }}
	if change != nil {
		change(&cfg)
	}
	return proxy.New(cfg).Direct(parse(t, server.URL)), ended
}

func post(ctx context.Context, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://here"+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	return r
}

func TestCallOfThisProcessIsRecordedBeforeItsBodyIsClosed(t *testing.T) {
	goOn := make(chan struct{})
	transport, ended := direct(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"model":"m","choices":[{"delta":{"content":"a"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-goOn
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}), nil)
	answer, err := transport.RoundTrip(post(t.Context(), proxy.ChatPath, streamBody))
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 5)
	if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "data:" {
		t.Fatalf("while the upstream goes on: got %q, %v", first, err)
	}
	close(goOn)
	if rest, err := io.ReadAll(answer.Body); err != nil || !strings.HasSuffix(string(rest), "[DONE]\n\n") {
		t.Fatalf("got %q, %v, want all of it", rest, err)
	}
	_ = answer.Body.Close()
	select {
	case c := <-ended:
		if c.Verdict != protocol.VerdictComplete || c.Model != "m" || !c.Streamed || c.Upstream == "" {
			t.Errorf("record: got %+v", c)
		}
	default:
		t.Error("the body is closed, and the call is not recorded")
	}
}

func TestCallOfThisProcessThatItsCallerLeavesIsCancelled(t *testing.T) {
	gone := make(chan struct{})
	transport, ended := direct(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}), nil)
	ctx, leave := context.WithCancel(t.Context())
	answer, err := transport.RoundTrip(post(ctx, proxy.ChatPath, streamBody))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	<-gone
	_ = answer.Body.Close()
	if c := <-ended; c.Status != protocol.StatusClientClosed || c.Verdict != protocol.VerdictCancelled {
		t.Errorf("record: got %d %s", c.Status, c.Verdict)
	}
}

func TestBrokenAnswerIsBrokenForThisProcessToo(t *testing.T) {
	transport, ended := direct(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"a"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}), nil)
	answer, err := transport.RoundTrip(post(t.Context(), proxy.ChatPath, streamBody))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("a stream that was cut reads as a whole one")
	}
	_ = answer.Body.Close()
	if c := <-ended; c.Verdict != protocol.VerdictTruncated {
		t.Errorf("record: got %s, want truncated", c.Verdict)
	}
}

func TestUsageThatWasAskedForIsKeptWhereItIsWanted(t *testing.T) {
	seen := make(chan string, 1)
	transport, ended := direct(t, obliging([]string{
		`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n", "data: [DONE]\n\n",
	}, 7, seen), func(c *proxy.Config) { c.MeterUsage, c.KeepUsage = true, true })
	answer, err := transport.RoundTrip(post(t.Context(), proxy.ChatPath, streamBody))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(body), usageEvent) {
		t.Errorf("got %q, %v, want the usage in it", body, err)
	}
	_ = answer.Body.Close()
	if up := <-seen; !strings.Contains(up, "include_usage") {
		t.Errorf("the upstream was asked %s, and not for the usage", up)
	}
	if c := <-ended; !c.UsageKnown {
		t.Error("the record does not know the usage")
	}
}

func TestListOfModelsIsHadWithoutAListener(t *testing.T) {
	transport, ended := direct(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"path":"`+r.Method+" "+r.URL.Path+`"}`)
	}), nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://here"+proxy.ModelsPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || string(body) != `{"path":"GET /models"}` {
		t.Errorf("got %q, %v", body, err)
	}
	if answer, err := transport.RoundTrip(post(t.Context(), "/embeddings", "{}")); err != nil || answer.StatusCode != http.StatusNotFound {
		t.Errorf("another path: got %v, %v, want 404", answer.Status, err)
	} else {
		_ = answer.Body.Close()
	}
	select {
	case c := <-ended:
		t.Errorf("recorded as a call: %+v", c)
	default:
	}
}
