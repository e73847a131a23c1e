package assets_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/assets"
	"chatwright.dev/tray/server/protocol"
)

// companion is a stand-in for the daemon: it serves the console under its policy and plays what a test says on
// /console/events. It keeps its address over stop and start.
type companion struct {
	t       *testing.T
	addr    string
	server  *http.Server
	serving sync.WaitGroup

	mu      sync.Mutex
	models  []string
	status  protocol.Status
	calls   []protocol.Call          // as the real one, in the order they ended; the id of the last event is their number
	streams map[chan event]bool      // open event streams
	resumed []string                 // the Last-Event-ID that each stream came with
	bodies  []string                 // of chat completions
	holders string                   // what GET /datastate/holders answers; "": that there are none
	answer  func(body string) string // to a query
	queries []string                 // their content type and body
	refuse  bool                     // event streams get 503
	refused int                      // how many did
	rooms   rooms

	sessions []protocol.Session // nil: none are shown
	events   map[string][]protocol.Event
}

type event struct {
	id, name string
	data     any
}

func newCompanion(t *testing.T) *companion {
	t.Helper()
	c := &companion{t: t, addr: "127.0.0.1:0", streams: map[chan event]bool{}}
	c.start()
	t.Cleanup(c.stop)
	c.status = runningStatus(c.addr)
	return c
}

func runningStatus(addr string) protocol.Status {
	return protocol.Status{
		InstanceID: "one", Version: "0.1.0", StartedAt: time.Now().Add(-time.Minute), Phase: protocol.PhaseRunning, Addr: addr,
		Upstream: protocol.Upstream{Name: "Ollama", BaseURL: "http://localhost:11434/v1", Reach: protocol.ReachOK},
		UI:       protocol.UI{Source: protocol.UIConsole},
	}
}

func (c *companion) start() {
	c.t.Helper()
	ln, err := net.Listen("tcp", c.addr)
	if err != nil {
		c.t.Fatal(err)
	}
	c.addr = ln.Addr().String()
	c.server = &http.Server{Handler: c.handler(), ReadHeaderTimeout: 10 * time.Second}
	c.serving.Go(func() { _ = c.server.Serve(ln) }) // ends with ErrServerClosed
}

// stop drops every connection, as a process that dies does.
func (c *companion) stop() {
	_ = c.server.Close()
	c.serving.Wait()
}

func (c *companion) url(path string) string { return "http://" + c.addr + path }

func (c *companion) handler() http.Handler {
	mux := http.NewServeMux()
	files := http.FileServerFS(assets.Console())
	mux.Handle("GET /console/", http.StripPrefix("/console", files))
	mux.HandleFunc("GET /console/events", c.serveEvents)
	c.roomRoutes(mux)
	mux.HandleFunc("GET /console/api/sessions", c.ownPage(c.serveSessions))
	mux.HandleFunc("GET /console/api/sessions/events", c.ownPage(c.serveSessionEvents))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		type model struct {
			ID string `json:"id"`
		}
		list := []model{}
		for _, id := range c.models {
			list = append(list, model{id})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list})
	})
	mux.HandleFunc("GET /datastate/holders", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, cmp.Or(c.holders, `{"holders":[]}`))
	})
	mux.HandleFunc("POST /datastate/query", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queries = append(c.queries, r.Header.Get("Content-Type")+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		answer := c.answer(string(body))
		if answer == "400" {
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"error":"query is required"}`
		}
		_, _ = io.WriteString(w, answer)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies = append(c.bodies, r.Header.Get("Content-Type")+" "+string(body))
		if c.rooms.talk == "503" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"message":"llama3.2 is loading","code":null},"hint":"wait a little"}`)
			return
		}
		if c.rooms.talk != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, c.rooms.talk)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", assets.ConsolePolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, r)
	})
}

func (c *companion) serveEvents(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	last := r.Header.Get("Last-Event-ID")
	c.resumed = append(c.resumed, last)
	if c.refuse {
		c.refused++
		c.mu.Unlock()
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	seen, _ := strconv.Atoi(last) // none: from the start
	feed := make(chan event, 100)
	feed <- event{"", "status", c.status}
	if seen < len(c.calls) {
		feed <- callsEvent(c.calls[seen:], len(c.calls))
	}
	c.streams[feed] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.streams, feed)
	}()

	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "retry: 50\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case next := <-feed:
			data, err := json.Marshal(next.data)
			if err != nil {
				c.t.Error(err)
				return
			}
			if next.id != "" {
				_, _ = fmt.Fprintf(w, "id: %s\n", next.id)
			}
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", next.name, data)
		}
	}
}

func callsEvent(calls []protocol.Call, next int) event {
	return event{strconv.Itoa(next), "calls", protocol.CallsPage{Calls: calls, Next: uint64(next)}}
}

// change sets the status and tells every open stream.
func (c *companion) change(edit func(*protocol.Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	edit(&c.status)
	for feed := range c.streams {
		feed <- event{"", "status", c.status}
	}
}

// end records calls and tells every open stream. A call without an id gets its number.
func (c *companion) end(calls ...protocol.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = "call-" + strconv.Itoa(len(c.calls)+i+1)
		}
		if calls[i].Timestamp.IsZero() {
			calls[i].Timestamp = time.Now().UTC()
		}
	}
	c.calls = append(c.calls, calls...)
	c.status.Metrics.Calls = int64(len(c.calls))
	for feed := range c.streams {
		feed <- callsEvent(calls, len(c.calls))
		feed <- event{"", "status", c.status}
	}
}

// locked runs f while nothing else touches the companion.
func (c *companion) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// waitFor returns when the condition, which is asked under the lock, is true.
func (c *companion) waitFor(what string, condition func() bool) {
	c.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); ; <-look.C {
		var met bool
		c.locked(func() { met = condition() })
		if met {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waiting for %s", what)
		}
	}
}
