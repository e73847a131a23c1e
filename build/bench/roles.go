package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"
)

// The roles that the program plays in processes of their own.
const (
	roleUpstream = "upstream"
	roleBare     = "bare"
)

// upstreamHandler is a model server that answers at once with what the query asks for: size=N bytes of JSON, or
// events=N of a stream, gap=D apart, or stream=N bytes of one, or hold=1: one event, and then nothing until the caller
// leaves.
func upstreamHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		query := r.URL.Query()
		if n, _ := strconv.Atoi(query.Get("events")); n > 0 {
			gap, _ := time.ParseDuration(query.Get("gap"))
			writeEvents(w, n, gap, true)
			return
		}
		if n, _ := strconv.Atoi(query.Get("stream")); n > 0 {
			writeStream(w, n)
			return
		}
		if query.Has("hold") {
			writeEvents(w, 1, 0, false)
			<-r.Context().Done()
			return
		}
		n, _ := strconv.Atoi(query.Get("size"))
		body := answer(n)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
}

// answer is a chat completion of about size bytes.
func answer(size int) []byte {
	const frame = `{"id":"chatcmpl-1","object":"chat.completion","model":"bench","choices":[{"index":0,"message":` +
		`{"role":"assistant","content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7}}`
	return fmt.Appendf(nil, frame, bytes.Repeat([]byte{'a'}, max(size-len(frame), 1)))
}

const oneEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"bench","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n"

func writeEvents(w http.ResponseWriter, n int, gap time.Duration, end bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	ctl := http.NewResponseController(w)
	for i := range n {
		if gap > 0 && i > 0 {
			time.Sleep(gap)
		}
		if _, err := io.WriteString(w, oneEvent); err != nil {
			return
		}
		_ = ctl.Flush()
	}
	if end {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

func writeStream(w http.ResponseWriter, size int) {
	w.Header().Set("Content-Type", "text/event-stream")
	block := bytes.Repeat([]byte(oneEvent), 64)
	for sent := 0; sent < size; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// bareProxy is the least that a proxy in Go can be: what the companion is measured against.
func bareProxy(to string) http.Handler {
	target, err := url.Parse(to)
	if err != nil {
		panic(err) // the parent wrote it
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	transport.DisableCompression = true
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	}
}
