package proxy_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/upstream"
)

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What listens to a call knows it by the id that its record has, and is asked for chat calls alone.
func TestTapKnowsTheCallByTheIDOfItsRecord(t *testing.T) {
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[]}`) }))
	defer back.Close()
	target, err := upstream.Parse(back.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var tapped, heard, recorded []string
	p := proxy.New(proxy.Config{
		Target: func() *upstream.Target { return target },
		End:    func(c protocol.Call) { mu.Lock(); defer mu.Unlock(); recorded = append(recorded, c.ID) },
		Tap: func(id string, of *upstream.Target, next http.RoundTripper) http.RoundTripper {
			if of != target {
				t.Errorf("got %v", of)
			}
			mu.Lock()
			defer mu.Unlock()
			if tapped = append(tapped, id); len(tapped) > 1 {
				return next
			}
			return transport(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				heard = append(heard, id+r.URL.Path)
				mu.Unlock()
				return next.RoundTrip(r)
			})
		},
	})
	mux := http.NewServeMux()
	mux.Handle("/v1/chat/completions", p.ChatCompletions())
	mux.Handle("/v1/models", p.Models())
	front := httptest.NewServer(mux)
	defer front.Close()
	for range 2 {
		answer, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	answer, err := http.Get(front.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	front.Close() // waits for the handlers
	http.DefaultClient.CloseIdleConnections()
	mu.Lock()
	defer mu.Unlock()
	if len(recorded) != 2 || strings.Join(tapped, " ") != strings.Join(recorded, " ") || len(heard) != 1 || heard[0] != recorded[0]+"/v1/chat/completions" {
		t.Errorf("tapped %v, heard %v, recorded %v", tapped, heard, recorded)
	}
}

// listener hears what goes up and what comes back.
type listener struct {
	mu   sync.Mutex
	said []string
}

func (l *listener) hear(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, text)
}

func (l *listener) before(_ *upstream.Target, next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		var asked bytes.Buffer
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &asked), r.Body}
		answer, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		l.hear(asked.String())
		answer.Body = &heardBody{ReadCloser: answer.Body, l: l, coding: answer.Header.Get("Content-Encoding")}
		return answer, nil
	})
}

type heardBody struct {
	io.ReadCloser
	l      *listener
	coding string
	all    bytes.Buffer
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.all.Write(p[:n])
	return n, err
}

func (b *heardBody) Close() error {
	b.l.hear(b.coding + b.all.String())
	return b.ReadCloser.Close()
}

// Whoever listens hears the caller's own request and the answer as the caller gets it, whatever the proxy does for its
// own ends: asks for the usage, is refused, unpacks and masks.
func TestListenersHearTheCallAsTheCallerDoes(t *testing.T) {
	refusing := func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "stream_options") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "unknown member stream_options")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, tokenEvent+doneEvent)
	}
	packing := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		packer := gzip.NewWriter(w)
		_, _ = io.WriteString(packer, tokenEvent+": "+r.Header.Get("Authorization")+"\n\n"+usageEvent+doneEvent)
		_ = packer.Close()
	}
	for name, c := range map[string]struct {
		model http.HandlerFunc
		key   string
		want  string
		usage bool
	}{
		"an upstream that tells":                {obliging([]string{tokenEvent, doneEvent}, 7, make(chan string, 1)), "", tokenEvent + doneEvent, true},
		"one that refuses":                      {refusing, "", tokenEvent + doneEvent, false},
		"one with a key, which packs and tells": {packing, "sk-planted-0123", tokenEvent + ": Bearer ***************\n\n" + doneEvent, true},
	} {
		t.Run(name, func(t *testing.T) {
			back := httptest.NewServer(c.model)
			defer back.Close()
			target := parse(t, back.URL+"/v1")
			target.APIKey = c.key
			first, second := &listener{}, &listener{}
			f := startFront(t, target, meterUsage, func(cfg *proxy.Config) {
				cfg.Through = first.before
				cfg.Tap = func(_ string, of *upstream.Target, next http.RoundTripper) http.RoundTripper {
					return second.before(of, next)
				}
			})
			if _, got := f.chat(streamBody); got != c.want {
				t.Errorf("the caller got %q, want %q", got, c.want)
			}
			if call := f.wantVerdict(200, protocol.VerdictComplete); call.UsageKnown != c.usage {
				t.Errorf("recorded as %+v", call)
			}
			for _, l := range []*listener{first, second} {
				if len(l.said) != 2 || l.said[0] != streamBody || l.said[1] != c.want {
					t.Errorf("heard %q, want the caller's own", l.said)
				}
			}
		})
	}
}

// A target that knows calls by their bytes, such as recordings, gets those of the caller.
func TestNothingIsAddedForATargetThatKnowsCallsByTheirBytes(t *testing.T) {
	seen := make(chan string, 1)
	back := httptest.NewServer(obliging([]string{tokenEvent, usageEvent, doneEvent}, 1<<20, seen))
	defer back.Close()
	target := parse(t, back.URL+"/v1")
	target.Verbatim = true
	f := startFront(t, target, meterUsage)
	_, got := f.chat(streamBody)
	if asked := <-seen; asked != streamBody || got != tokenEvent+usageEvent+doneEvent {
		t.Errorf("went up: %s, came back: %q", asked, got)
	}
	if call := f.record(); !call.UsageKnown || call.CompletionTokens != 2 {
		t.Errorf("recorded as %+v, want the usage that was seen", call)
	}
}
