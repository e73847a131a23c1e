package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// gateway.md 9: 100 MiB streamed through grow the process by less than 8 MiB, a body of 20 MiB going up by less than 24.
func TestMemoryIsFlat(t *testing.T) {
	piece := bytes.Repeat([]byte("x"), 1<<20)
	event := []byte("data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 64<<10) + "\"}}]}\n\n")
	f := behind(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.RawQuery {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"`)
			for range 100 {
				_, _ = w.Write(piece)
			}
			_, _ = io.WriteString(w, `"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream")
			for range 1600 {
				_, _ = w.Write(event)
			}
			_, _ = io.WriteString(w, usageEvent+doneEvent)
		default:
			_, _ = io.WriteString(w, "{}")
		}
	})
	for _, c := range []struct {
		name string
		up   int64
		most uint64
	}{{"json", 2, 8 << 20}, {"stream", 2, 8 << 20}, {"image", 20 << 20, 24 << 20}} {
		t.Run(c.name, func(t *testing.T) {
			grew := peakWhile(func() {
				r, _ := http.NewRequest(http.MethodPost, f.url+"/chat/completions?"+c.name, io.LimitReader(zeros{}, c.up))
				r.ContentLength = c.up
				answer, err := f.client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				n, err := io.Copy(io.Discard, answer.Body)
				if err != nil || c.name != "image" && n < 100<<20 {
					t.Errorf("got %d bytes, %v", n, err)
				}
			})
			record := f.record()
			if c.name != "image" && record.CompletionTokens != 2 {
				t.Errorf("record: got %+v, want the usage behind 100 MiB", record)
			}
			if grew > c.most {
				t.Errorf("grew by %d KiB, want less than %d MiB", grew>>10, c.most>>20)
			}
			t.Logf("grew by %d KiB", grew>>10)
		})
	}
}

// peakWhile is how much the heap grows at most while f runs. Client, proxy and upstream are all counted.
func peakWhile(f func()) uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	start, peak := stats.HeapInuse, uint64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for ticker := time.Tick(2 * time.Millisecond); ; {
		select {
		case <-done:
			return peak
		case <-ticker:
			runtime.ReadMemStats(&stats)
			if stats.HeapInuse > start {
				peak = max(peak, stats.HeapInuse-start)
			}
		}
	}
}

// gateway.md 9a: streamed calls to an upstream that answers the moment it has the body, none of them broken.
func TestTenThousandStreamedCalls(t *testing.T) {
	calls := 10_000
	if testing.Short() {
		calls = 1_000
	}
	stream := chunkedHead + chunk(tokenEvent) + chunk(usageEvent+doneEvent) + "0\r\n\r\n"
	f := startFront(t, rawUpstream(t, func(conn net.Conn, _ *http.Request, _ int) bool {
		_, err := io.WriteString(conn, stream)
		return err == nil
	}))
	request := []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("x", 500) + `"}]}`)
	var left atomic.Int64
	left.Store(int64(calls))
	var broken atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				answer, err := f.client.Post(f.url+"/chat/completions", "application/json", bytes.NewReader(request))
				if err == nil {
					var body []byte
					body, err = io.ReadAll(answer.Body)
					answer.Body.Close()
					if err == nil && string(body) != tokenEvent+usageEvent+doneEvent {
						err = fmt.Errorf("got %d bytes with status %d: %s", len(body), answer.StatusCode, body)
					}
				}
				if err != nil && broken.Add(1) <= 3 {
					t.Errorf("a call broke: %v", err)
				}
				if c := f.record(); c.Verdict != protocol.VerdictComplete || c.CompletionTokens != 2 {
					t.Errorf("record: got %+v", c)
				}
			}
		})
	}
	all.Wait()
	if n := broken.Load(); n > 0 {
		t.Errorf("%d of %d calls broke", n, calls)
	}
}

// Short calls side by side, each different, get each its own answer and record.
func TestAThousandCallsSideBySide(t *testing.T) {
	f := behind(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request struct{ Model string }
		_ = json.Unmarshal(body, &request)
		if rand.IntN(2) == 0 {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"model\":%q}\n\ndata: [DONE]\n\n", request.Model)
			return
		}
		fmt.Fprintf(w, `{"model":%q}`, request.Model)
	})
	var all sync.WaitGroup
	slots := make(chan struct{}, 128)
	for i := range 1000 {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			model := fmt.Sprintf("model-%d", i)
			if _, body := f.chat(`{"model":"` + model + `"}`); !strings.Contains(body, `"`+model+`"`) {
				t.Errorf("%s: got the answer %s", model, body)
			}
		})
	}
	all.Wait()
	ids, models := map[string]bool{}, map[string]bool{}
	for range 1000 {
		c := f.record()
		ids[c.ID], models[c.Model] = true, true
	}
	if len(ids) != 1000 || len(models) != 1000 {
		t.Errorf("records: got %d ids and %d models, want 1000 of each", len(ids), len(models))
	}
}

// The identifiers of calls sort as the calls came.
func TestIDsSort(t *testing.T) {
	f := startFront(t, upstream.NewDemo(upstream.DemoConfig{Delay: -1}))
	last := ""
	for range 50 {
		f.chat(`{}`)
		id := f.record().ID
		if id <= last {
			t.Errorf("got %q behind %q", id, last)
		}
		last = id
	}
}
