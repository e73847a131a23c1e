package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/upstream"
)

// benchRequest is 1 KiB, as gateway.md 22 measures it.
var benchRequest = []byte(`{"model":"bench","messages":[{"role":"user","content":"` + strings.Repeat("x", 940) + `"}]}`)

const benchAnswer = `{"id":"c","object":"chat.completion","model":"bench","choices":[{"index":0,"message":` +
	`{"role":"assistant","content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5}}`

// benchWays are the ways from a client to the upstream that are compared: none between, a bare ReverseProxy, ours.
func benchWays(b *testing.B, handler http.HandlerFunc) map[string]string {
	back := httptest.NewServer(handler)
	base, err := url.Parse(back.URL)
	if err != nil {
		b.Fatal(err)
	}
	bare := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport: &http.Transport{MaxIdleConns: 64, MaxIdleConnsPerHost: 64, DisableCompression: true},
	})
	target, err := upstream.Parse(back.URL + "/v1")
	if err != nil {
		b.Fatal(err)
	}
	ours := httptest.NewServer(proxy.New(proxy.Config{Target: func() *upstream.Target { return target }}).ChatCompletions())
	b.Cleanup(func() {
		ours.Close()
		bare.Close()
		back.Close()
	})
	return map[string]string{"direct": back.URL, "bare": bare.URL, "ours": ours.URL}
}

func benchCall(b *testing.B, client *http.Client, url string, buf []byte) {
	answer, err := client.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(benchRequest))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, buf); err != nil {
		b.Fatal(err)
	}
	answer.Body.Close()
}

// BenchmarkCall is one JSON call of 1 KiB each way, over sockets.
func BenchmarkCall(b *testing.B) {
	body := fmt.Sprintf(benchAnswer, strings.Repeat("y", 850))
	ways := benchWays(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
	for _, way := range []string{"direct", "bare", "ours"} {
		b.Run(way, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
			defer client.CloseIdleConnections()
			buf := make([]byte, 32<<10)
			b.ReportAllocs()
			for b.Loop() {
				benchCall(b, client, ways[way], buf)
			}
		})
	}
}

// BenchmarkEvent is one event of a stream, over sockets: b.N events are one call.
func BenchmarkEvent(b *testing.B) {
	event := []byte(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"bench",` +
		`"choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	ways := benchWays(b, func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.URL.Query().Get("n"), &n)
		w.Header().Set("Content-Type", "text/event-stream")
		flusher := http.NewResponseController(w)
		for range n {
			_, _ = w.Write(event)
			_ = flusher.Flush()
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	for _, way := range []string{"direct", "bare", "ours"} {
		b.Run(way, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			b.ReportAllocs()
			b.ResetTimer()
			answer, err := client.Post(fmt.Sprintf("%s/v1/chat/completions?n=%d", ways[way], b.N), "application/json",
				strings.NewReader(`{"stream":true}`))
			if err != nil {
				b.Fatal(err)
			}
			defer answer.Body.Close()
			n, err := io.Copy(io.Discard, answer.Body)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(n / int64(b.N))
		})
	}
}
