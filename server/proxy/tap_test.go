package proxy_test

import (
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
			if of != target || next != target.Transport {
				t.Errorf("got %v and %v", of, next)
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
