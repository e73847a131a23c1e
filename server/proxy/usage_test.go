package proxy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/upstream"
)

const (
	streamBody = `{"model":"m","stream":true}`
	askingBody = `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`
)

func meterUsage(c *proxy.Config) { c.MeterUsage = true }

// obliging is an upstream that streams its events, in pieces of a size, and the usage where it was asked for it. It says
// what came up.
func obliging(events []string, size int, seen chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- string(body)
		stream := strings.Join(events, "")
		if strings.Contains(string(body), `"include_usage":true`) {
			stream = strings.Join(events[:len(events)-1], "") + usageEvent + events[len(events)-1]
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(stream))) // which is not the caller's
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			_, _ = io.WriteString(w, rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}
}

// gateway.md 18: the caller gets the bytes that they would have got, and the record has the usage.
func TestMeterUsageIsNotSeenByTheCaller(t *testing.T) {
	other := `data: {"choices":[],"prompt_filter_results":[],"usage":null}` + "\n\n"
	crlf := func(events []string) (out []string) {
		for _, e := range events {
			out = append(out, strings.ReplaceAll(e, "\n", "\r\n"))
		}
		return out
	}
	plain := []string{": hello\n\n", other, tokenEvent, "id: 4\nevent: x\n" + tokenEvent, doneEvent}
	for name, events := range map[string][]string{"events": plain, "events with CR LF": crlf(plain), "no more than the end": {doneEvent}} {
		for _, size := range []int{1, 7, 100, 1 << 20} {
			t.Run(fmt.Sprintf("%s in pieces of %d", name, size), func(t *testing.T) {
				seen := make(chan string, 1)
				f := behind(t, obliging(events, size, seen), meterUsage)
				answer, body := f.chat(streamBody)
				if want := strings.Join(events, ""); body != want {
					t.Errorf("got %q, want %q", body, want)
				}
				if got := <-seen; got != askingBody {
					t.Errorf("went up: %s, want %s", got, askingBody)
				}
				if answer.ContentLength >= 0 {
					t.Errorf("Content-Length: got %d, want none", answer.ContentLength)
				}
				c := f.wantVerdict(200, protocol.VerdictComplete)
				if !c.UsageKnown || c.PromptTokens != 11 || c.CompletionTokens != 2 || c.BytesIn != int64(len(streamBody)) ||
					c.BytesOut != int64(len(body)) {
					t.Errorf("record: got %+v", c)
				}
			})
		}
	}
}

// gateway.md 18, as a property: whatever the events and the pieces are.
func TestMeterUsageWithRandomStreams(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 22))
	kinds := []string{tokenEvent, ": ping\n\n", "data: x\n\n", "\n", "event: a\ndata: {\ndata: }\n\n", "retry: 1\r\n\r\n", "data\r\r",
		`data: {"usage":{},"choices":[{}]}` + "\n\n", "data: {" + strings.Repeat(" ", 70<<10) + "}\n\n"}
	for range 40 {
		var events []string
		for range random.IntN(12) {
			events = append(events, kinds[random.IntN(len(kinds))])
		}
		events = append(events, doneEvent)
		size := 1 + random.IntN(3000)
		f := behind(t, obliging(events, size, make(chan string, 1)), meterUsage)
		_, body := f.chat(streamBody)
		if want := strings.Join(events, ""); body != want {
			t.Fatalf("pieces of %d: got %q, want %q", size, body, want)
		}
		if c := f.record(); c.CompletionTokens != 2 {
			t.Fatalf("record: got %+v", c)
		}
	}
}

// gateway.md 1 and 18: an event goes on while the upstream stays open.
func TestMeterUsageHoldsNoEventBack(t *testing.T) {
	steps := make(chan string)
	f := behind(t, stepped(steps), meterUsage)
	answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(streamBody))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for _, event := range []string{tokenEvent, ": ping\n\n", tokenEvent} {
		steps <- event
		got := make([]byte, len(event))
		if _, err := io.ReadFull(lines, got); err != nil || string(got) != event {
			t.Fatalf("got %q, %v; want %q", got, err, event)
		}
	}
	steps <- usageEvent + doneEvent
	close(steps)
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != doneEvent {
		t.Errorf("got %q, %v; want the end marker alone", rest, err)
	}
	f.wantVerdict(200, protocol.VerdictComplete)
}

// gateway.md 18: the body is touched for nothing else.
func TestMeterUsageLeavesOtherCallsAlone(t *testing.T) {
	padded := func(size int) string {
		body := `{"stream":true,"x":""}`
		return `{"stream":true,"x":"` + strings.Repeat("x", size-len(body)) + `"}`
	}
	for name, c := range map[string]struct {
		body   string
		off    bool
		header []string
	}{
		"not set":           {body: streamBody, off: true},
		"asked already":     {body: askingBody},
		"not streamed":      {body: `{"model":"m"}`},
		"no JSON":           {body: `{"stream":true,`},
		"more than 1 MiB":   {body: padded(1<<20 + 1)},
		"signed by digest":  {body: streamBody, header: []string{"Content-Digest", "sha-256=:x:"}},
		"nothing to see in": {body: ""},
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan string, 1)
			f := behind(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				seen <- string(body)
				if got := r.Header.Get("Accept-Encoding"); got != "gzip" {
					t.Errorf("Accept-Encoding: got %q, want the caller's", got)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, tokenEvent+usageEvent+doneEvent)
			}, func(cfg *proxy.Config) { cfg.MeterUsage = !c.off })
			_, body := f.chat(c.body, append(c.header, "Accept-Encoding", "gzip")...)
			if got := <-seen; got != c.body {
				t.Errorf("went up: %.100q, want %.100q", got, c.body)
			}
			if body != tokenEvent+usageEvent+doneEvent {
				t.Errorf("got %q, want all that was sent", body)
			}
			f.record()
		})
	}
	t.Run("exactly 1 MiB is asked for", func(t *testing.T) {
		seen := make(chan string, 1)
		f := behind(t, obliging([]string{doneEvent}, 1<<20, seen), meterUsage)
		f.chat(padded(1 << 20))
		if got := <-seen; !strings.Contains(got, "include_usage") || f.record().CompletionTokens != 2 {
			t.Errorf("went up: %.100q", got)
		}
	})
}

// gateway.md 18: an answer that is no plain event stream is passed on as it is.
func TestMeterUsageAndOtherAnswers(t *testing.T) {
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	_, _ = io.WriteString(packer, tokenEvent+usageEvent+doneEvent)
	_ = packer.Close()
	for name, c := range map[string]struct{ kind, coding, answer string }{
		"compressed all the same": {"text/event-stream", "gzip", packed.String()},
		"one JSON text":           {"application/json", "", `{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}}`},
		"JSON lines":              {"application/x-ndjson", "", `{"done":true,"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := behind(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("Accept-Encoding: got %q, want identity", got)
				}
				w.Header().Set("Content-Type", c.kind)
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
				}
				_, _ = io.WriteString(w, c.answer)
			}, meterUsage)
			answer, body := f.chat(streamBody, "Accept-Encoding", "gzip, br")
			if body != c.answer || answer.Header.Get("Content-Encoding") != c.coding {
				t.Errorf("got %q", body)
			}
			if r := f.wantVerdict(200, protocol.VerdictComplete); r.CompletionTokens != 2 {
				t.Errorf("record: got %+v", r)
			}
		})
	}
}

// gateway.md 3 and 18: what breaks off breaks off for the caller too, with the tokens known so far.
func TestMeterUsageOfAStreamThatBreaksOff(t *testing.T) {
	const partial = `data: {"choices":[],"usa`
	f := startFront(t, rawUpstream(t, func(conn net.Conn, _ *http.Request, _ int) bool {
		stream := tokenEvent + usageEvent + partial
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(stream), stream)
		return false
	}), meterUsage)
	answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(streamBody))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err == nil || string(got) != tokenEvent+partial {
		t.Errorf("got %q, %v; want what came, and an error", got, err)
	}
	if c := f.wantVerdict(200, protocol.VerdictTruncated); c.CompletionTokens != 2 {
		t.Errorf("record: got %+v", c)
	}
}

// gateway.md 18: "an upstream that rejects the option is called once more without it", and is not asked again.
func TestMeterUsageRefused(t *testing.T) {
	const words = `{"error":{"message":"Unknown argument: stream_options"}}`
	for name, c := range map[string]struct {
		status int
		words  string
		coding string
		always bool  // the upstream refuses the call without the option too
		calls  []int // how often the upstream is called for each of three calls
		got    int
	}{
		"with 400":                       {400, words, "", false, []int{2, 1, 1}, 200},
		"with 422, by the other name":    {422, `{"detail":[{"loc":["body","stream_options","include_usage"]}]}`, "", false, []int{2, 1, 1}, 200},
		"in words that cannot be read":   {400, "\x1f\x8bpacked", "gzip", false, []int{2, 1, 1}, 200},
		"like everything":                {400, words, "", true, []int{2, 2, 2}, 400},
		"for another reason":             {400, `{"error":{"message":"max_tokens is too large"}}`, "", false, []int{1, 1, 1}, 400},
		"for another reason, at length":  {422, strings.Repeat("x", 100<<10), "", false, []int{1, 1, 1}, 422},
		"with a status that says not so": {500, words, "", false, []int{1, 1, 1}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies atomic.Pointer[[]string]
			bodies.Store(&[]string{})
			var logged bytes.Buffer
			f := behind(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				all := append(*bodies.Load(), string(body))
				bodies.Store(&all)
				asked := string(body) == askingBody
				if got := r.Header.Get("Accept-Encoding"); asked && got != "identity" || !asked && got != "gzip" {
					t.Errorf("Accept-Encoding: got %q with %s", got, body)
				}
				if asked || c.always {
					if c.coding != "" {
						w.Header().Set("Content-Encoding", c.coding)
					}
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.words)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, tokenEvent+usageEvent+doneEvent) // unasked: it stays
			}, meterUsage, func(cfg *proxy.Config) { cfg.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
			for i, want := range c.calls {
				before := len(*bodies.Load())
				answer, body := f.chat(streamBody, "Accept-Encoding", "gzip")
				text := c.words
				if c.got == 200 {
					text = tokenEvent + usageEvent + doneEvent
				}
				if answer.StatusCode != c.got || body != text {
					t.Errorf("call %d: got %d, %.200q; want %d, %.200q", i, answer.StatusCode, body, c.got, text)
				}
				called := (*bodies.Load())[before:]
				if len(called) != want {
					t.Errorf("call %d: the upstream was called %d times, want %d", i, len(called), want)
				}
				if last := called[len(called)-1]; want == 2 && last != streamBody {
					t.Errorf("call %d: went up at last: %s, want what the caller sent", i, last)
				}
				record := f.record()
				f.noRecord()
				if record.Status != c.got || record.OverheadUs > record.LatencyMs*1000+1000 {
					t.Errorf("record: got %+v", record)
				}
			}
			remembered := c.got == 200
			if got := strings.Count(logged.String(), "refuses to say the usage"); got != map[bool]int{true: 1}[remembered] {
				t.Errorf("it was said %d times: %s", got, logged.String())
			}
		})
	}
}

// gateway.md 18: what one upstream refuses, another may be asked.
func TestMeterUsageRefusalsAreEachUpstreamsOwn(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked := string(body) == askingBody
		seen = append(seen, fmt.Sprint(r.URL.Path, " ", asked))
		if asked && strings.HasPrefix(r.URL.Path, "/strict") {
			http.Error(w, "stream_options?", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, doneEvent)
	}))
	defer server.Close()
	selector := upstream.NewSelector(parse(t, server.URL+"/strict"))
	f := startFront(t, selector.Load(), meterUsage, func(c *proxy.Config) { c.Target = selector.Load })
	for _, base := range []string{"/strict", "/open", "/strict"} {
		selector.Store(parse(t, server.URL+base)) // each time a new Target, as the menu makes them
		f.chat(streamBody)
		f.record()
		defer selector.Load().Transport.(*http.Transport).CloseIdleConnections()
	}
	want := "/strict/chat/completions true, /strict/chat/completions false, /open/chat/completions true, /strict/chat/completions false"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// gateway.md 12 and 18: what is sent once more on a fresh connection is what was sent first.
func TestMeterUsageOnAConnectionThatWasJustClosed(t *testing.T) {
	bodies := make(chan string, 10)
	f := startFront(t, rawUpstreamBody(t, func(conn net.Conn, body string, nth int) bool {
		bodies <- body
		if nth == 2 {
			return false
		}
		_, _ = io.WriteString(conn, smallAnswer)
		return true
	}), meterUsage)
	for range 2 {
		if answer, _ := f.chat(streamBody); answer.StatusCode != http.StatusOK {
			t.Errorf("status: got %d", answer.StatusCode)
		}
		f.record()
	}
	if len(bodies) != 3 {
		t.Fatalf("the upstream was called %d times, want 3", len(bodies))
	}
	for range 3 {
		if got := <-bodies; got != askingBody {
			t.Errorf("went up: %s, want %s", got, askingBody)
		}
	}
}

// gateway.md 18: the demo model honours the option.
func TestMeterUsageOfTheDemoModel(t *testing.T) {
	const body = `{"model":"chatwright-demo","stream":true,"messages":[{"role":"user","content":"Hello"}]}`
	for _, on := range []bool{false, true} {
		f := startFront(t, upstream.NewDemo(upstream.DemoConfig{Delay: -1}), func(c *proxy.Config) { c.MeterUsage = on })
		_, stream := f.chat(body)
		if strings.Contains(stream, `"choices":[]`) || !strings.HasSuffix(stream, doneEvent) {
			t.Errorf("meter-usage %v: got %q, want no chunk without a choice", on, stream)
		}
		if stays := strings.Contains(stream, `"usage":null`); stays != on {
			t.Errorf("meter-usage %v: %q, want the null of a server that was asked as it came", on, stream)
		}
		if c := f.wantVerdict(200, protocol.VerdictComplete); c.CompletionTokens == 0 {
			t.Errorf("record: got %+v", c)
		}
		asking := strings.Replace(body, `{`, `{"stream_options":{"include_usage":true},`, 1)
		if _, stream := f.chat(asking); !strings.Contains(stream, `"choices":[]`) {
			t.Errorf("meter-usage %v: got %q, want the chunk that was asked for", on, stream)
		}
		f.record()
	}
}
