package assets_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"chatwright.dev/tray/assets"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
)

// pageToken is what the companion writes into its page, and what each action has to bring along, and each look at what
// was said.
const pageToken = "token-of-the-page"

// tokenless is what a page without it is told.
const tokenless = "only the console does this, and this page came without its token · open it in a tab"

// rooms is what the companion knows for the rooms of the console, beside its status and its calls.
type rooms struct {
	history  []protocol.Call // newest first; nil: what is in memory
	offered  []protocol.Model
	found    []protocol.FoundServer
	named    []namedUpstream
	why      string
	checks   []protocol.Check
	settings []setting
	capture  captureState
	contents map[string]captured
	studioV  protocol.StudioVersion

	actions   []string // "name body", of those that were let through
	refusal   string   // the answer to actions, with 409; empty: 204
	refuse    []string // paths that were asked for without the token
	tokenless bool     // the page gets none
	queries   []string // of /console/calls
	looked    int      // how often the doctor did
	talk      string   // the answer to a chat completion, an event stream; empty: no body
}

type namedUpstream struct {
	Name    string `json:"name"`
	BaseURL string `json:"baseURL"`
	HasKey  bool   `json:"hasKey"`
	Model   string `json:"model,omitempty"`
	Active  bool   `json:"active"`
}

type setting struct {
	Key    string `json:"key"`
	Flag   string `json:"flag,omitempty"`
	Env    string `json:"env,omitempty"`
	Value  string `json:"value"`
	Source string `json:"source"`
	Help   string `json:"help,omitempty"`
}

type captureState struct {
	Mode       string `json:"mode"`
	Kept       int    `json:"kept"`
	Bytes      int64  `json:"bytes"`
	LimitBytes int64  `json:"limitBytes"`
}

type captured struct {
	Request string `json:"request"`
	Answer  string `json:"answer"`
}

func (c *companion) roomRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", c.servePage)
	mux.HandleFunc("GET /console/{$}", c.servePage)
	get := func(path string, answer func(*http.Request) any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			defer c.mu.Unlock()
			value := answer(r)
			w.Header().Set("Content-Type", "application/json")
			if value == nil {
				w.WriteHeader(http.StatusNotFound)
				value = map[string]string{"error": "there is nothing here"}
			}
			_ = json.NewEncoder(w).Encode(value)
		})
	}
	get("/console/calls", func(r *http.Request) any { return c.historyPage(r) })
	get("/console/models", func(*http.Request) any {
		offered := append([]protocol.Model{}, c.rooms.offered...)
		for _, id := range c.models {
			offered = append(offered, protocol.Model{ID: id, State: protocol.ModelUnknown})
		}
		return map[string]any{"upstream": c.status.Upstream, "models": offered}
	})
	get("/console/upstreams", func(*http.Request) any {
		return map[string]any{"found": c.rooms.found, "named": c.rooms.named, "active": c.status.Upstream.BaseURL, "why": c.rooms.why}
	})
	get("/console/doctor", func(*http.Request) any {
		c.rooms.looked++
		return map[string]any{"checks": c.rooms.checks}
	})
	get("/console/settings", func(*http.Request) any { return map[string]any{"settings": c.rooms.settings} })
	get("/studio/version", func(*http.Request) any { return c.rooms.studioV })
	get("/console/capture", func(*http.Request) any {
		if c.rooms.capture.Mode == "" {
			return captureState{Mode: "off"}
		}
		return c.rooms.capture
	})
	mux.HandleFunc("GET /console/capture/{id}/cassette", c.ownPage(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="`+r.PathValue("id")+`.json"`)
		if _, ok := c.rooms.contents[r.PathValue("id")]; !ok {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":"the request was too large to be kept","hint":"record the call"}`)
			return
		}
		_, _ = io.WriteString(w, `{"cassette":1}`)
	}))
	mux.HandleFunc("GET /console/capture/{id}", c.ownPage(func(w http.ResponseWriter, r *http.Request) {
		content, ok := c.rooms.contents[r.PathValue("id")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(content)
	}))
	mux.HandleFunc("POST /console/actions/{name}", c.ownPage(c.serveAction))
}

func (c *companion) servePage(w http.ResponseWriter, _ *http.Request) {
	page, _ := fs.ReadFile(assets.Console(), "index.html")
	token := pageToken
	c.locked(func() {
		if c.rooms.tokenless {
			token = ""
		}
	})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, strings.Replace(string(page), `name="chatwright-token" content=""`, `name="chatwright-token" content="`+token+`"`, 1))
}

// ownPage answers the page with its token alone, under the lock.
func (c *companion) ownPage(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-Chatwright-Token") != pageToken {
			c.rooms.refuse = append(c.rooms.refuse, r.URL.Path)
			message, hint, _ := strings.Cut(tokenless, " · ")
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(protocol.Refusal{Error: message, Hint: hint})
			return
		}
		next(w, r)
	}
}

func (c *companion) serveAction(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	name := r.PathValue("name")
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		c.t.Errorf("%s: Content-Type: got %s", name, got)
	}
	c.rooms.actions = append(c.rooms.actions, name+" "+string(body))
	if c.rooms.refusal != "" {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, c.rooms.refusal)
		return
	}
	var wanted struct {
		Mode   string
		Forget bool
	}
	if json.Unmarshal(body, &wanted) == nil && wanted.Mode != "" {
		if wanted.Forget {
			c.rooms.capture.Kept, c.rooms.capture.Bytes = 0, 0
		}
		c.rooms.capture = captureState{Mode: wanted.Mode, Kept: c.rooms.capture.Kept, Bytes: c.rooms.capture.Bytes, LimitBytes: 64_000_000}
	}
	w.WriteHeader(http.StatusNoContent)
}

// historyPage answers as the real route does: newest first, the cursor is how many calls were passed over.
func (c *companion) historyPage(r *http.Request) any {
	query := r.URL.Query()
	c.rooms.queries = append(c.rooms.queries, r.URL.RawQuery)
	all := c.rooms.history
	if all == nil {
		all = slices.Clone(c.calls)
		slices.Reverse(all)
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("before"))
	page, next := []protocol.Call{}, ""
	for i := from; i < len(all); i++ {
		if len(page) == limit {
			next = strconv.Itoa(i)
			break
		}
		if matches(all[i], query.Get("model"), query.Get("status"), query.Get("verdict"), query.Get("text")) {
			page = append(page, all[i])
		}
	}
	return map[string]any{"calls": page, "next": next}
}

func matches(call protocol.Call, model, status, verdict, text string) bool {
	return (model == "" || call.Model == model || call.RequestModel == model) &&
		(status == "" || (status == "error") == metrics.Failed(call.Verdict)) &&
		(verdict == "" || string(call.Verdict) == verdict) &&
		strings.Contains(strings.ToLower(call.Model+"\n"+call.Error+"\n"+call.ID), strings.ToLower(text))
}
