package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
)

// Console is what the console shows and does beyond what a Server knows itself. A route whose func is nil answers 404,
// but for the calls, which then are those in memory. Its funcs are called from many goroutines at once.
type Console struct {
	// Token is what the page must send with an action; it should be random and hold for as long as the process, so
	// that pages outlive a restart of the server. Empty: New makes one.
	Token string
	// Calls returns a page of the calls that were recorded; ErrCursor where Before is no cursor.
	Calls func(context.Context, protocol.CallsQuery) (protocol.RecordedCalls, error)
	// Models returns what the upstream offers.
	Models func(context.Context) protocol.OfferedModels
	// Upstreams returns where calls can go.
	Upstreams func(context.Context) protocol.Upstreams
	// Doctor looks at everything that the companion needs.
	Doctor func(context.Context) []protocol.Check
	// Settings returns the settings in force, without secrets.
	Settings func() []protocol.SettingValue
	// Act does what a person asked for on the page. An error is shown to them, with its hint.
	Act func(context.Context, protocol.ConsoleAction, protocol.ConsoleActionRequest) error
	// Capture is what was kept of what was said in calls.
	Capture Capture
}

// Capture is what Console wants of a store of what was said.
type Capture interface {
	State() protocol.CaptureState
	// Call returns what was said in a call; false when that was not kept.
	Call(id string) (protocol.CapturedCall, bool)
	// Cassette returns it as a recording that can be replayed, with the name of its file; false when it was not kept.
	Cassette(id string) (name string, data []byte, ok bool, err error)
}

// ErrCursor says that CallsQuery.Before is none that a page returned.
var ErrCursor = errors.New("it is not the cursor of a page")

const (
	maxActionBody = 64 << 10
	capturePrefix = "/console/capture/"
	actionPrefix  = "/console/actions/"
)

// consoleActions are the actions that there are.
func consoleActions() []protocol.ConsoleAction {
	return []protocol.ConsoleAction{
		protocol.ActionStudioUpdate, protocol.ActionStudioCancel, protocol.ActionStudioRollback,
		protocol.ActionUseUpstream, protocol.ActionLookAgain, protocol.ActionCapture,
	}
}

// consoleRoutes adds what the page asks. Outside loopback there are the calls alone, which are at /metrics too: all else
// tells of this machine, or changes something.
func (s *Server) consoleRoutes(table map[string]route) {
	get := func(path string, there bool, answer func(*http.Request) any) {
		if !there {
			return
		}
		table[path] = route{http.MethodGet, s.sameOrigin(func(w http.ResponseWriter, r *http.Request) {
			httpx.WriteJSON(w, http.StatusOK, answer(r))
		})}
	}
	table["/console/calls"] = route{http.MethodGet, s.sameOrigin(s.serveCalls)}
	c := s.page
	get("/console/models", c.Models != nil, func(r *http.Request) any {
		answer := c.Models(r.Context())
		answer.Models = notNil(answer.Models)
		return answer
	})
	get("/console/upstreams", c.Upstreams != nil, func(r *http.Request) any {
		answer := c.Upstreams(r.Context())
		answer.Found, answer.Named = notNil(answer.Found), notNil(answer.Named)
		return answer
	})
	get("/console/doctor", c.Doctor != nil, func(r *http.Request) any {
		return protocol.Checks{Checks: notNil(c.Doctor(r.Context()))}
	})
	get("/console/settings", c.Settings != nil, func(*http.Request) any {
		return protocol.SettingValues{Settings: notNil(c.Settings())}
	})
	get("/console/capture", c.Capture != nil, func(*http.Request) any { return c.Capture.State() })
	if c.Act == nil {
		return
	}
	for _, action := range consoleActions() {
		table[actionPrefix+string(action)] = route{http.MethodPost, s.ownPage(s.act(action))}
	}
}

// sameOrigin lets only pages through that this very address serves. Other pages may be allowed to call models; what
// this machine is like is not theirs to read.
func (s *Server) sameOrigin(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header["Sec-Fetch-Site"]
		fetched := len(site) == 0 || len(site) == 1 && (site[0] == "same-origin" || site[0] == "none")
		if !fetched || len(r.Header["Origin"]) > 0 { // a page that reads from its own origin sends none
			writeError(w, r.URL.Path, http.StatusForbidden, "forbidden", "only the console and programs of this machine read this here")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next(w, r)
	})
}

// notNil makes a list that JSON writes as [] and not as null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// act carries out one action for the page.
func (s *Server) act(action protocol.ConsoleAction) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked protocol.ConsoleActionRequest
		body, err := httpx.ReadBody(w, r, maxActionBody)
		if err == nil && len(body) > 0 {
			err = httpx.DecodeJSON(body, &asked, httpx.RefuseUnknown)
		}
		if err == nil {
			err = checkAction(action, asked)
		}
		if err != nil {
			status := http.StatusBadRequest
			if _, over := errors.AsType[*httpx.TooLargeError](err); over {
				status = http.StatusRequestEntityTooLarge
			}
			httpx.WriteJSON(w, status, protocol.Refusal{Error: err.Error(), Hint: hint.Of(err)})
			return
		}
		if err := s.page.Act(r.Context(), action, asked); err != nil {
			s.log.Warn("an action of the console was not carried out", "action", action, "err", err)
			httpx.WriteJSON(w, http.StatusConflict, protocol.Refusal{Error: err.Error(), Hint: hint.Of(err)})
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func checkAction(action protocol.ConsoleAction, asked protocol.ConsoleActionRequest) error {
	switch action {
	case protocol.ActionUseUpstream:
		if asked.Upstream == "" {
			return hint.With(errors.New("upstream is missing"), `name one, or "demo"`)
		}
	case protocol.ActionCapture:
		modes := []protocol.CaptureMode{protocol.CaptureOff, protocol.CaptureMemory, protocol.CaptureDisk}
		if !slices.Contains(modes, asked.Mode) {
			return hint.With(errors.New("mode is none that there is"), "off, memory or disk")
		}
	}
	return nil
}

// serveCaptured answers below capturePrefix: with what was said in a call, or with its cassette.
func (s *Server) serveCaptured(w http.ResponseWriter, r *http.Request) {
	if !readOnly(w, r) {
		return
	}
	id, cassette := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, capturePrefix), "/cassette")
	if !cassette {
		if said, ok := s.page.Capture.Call(id); ok {
			httpx.WriteJSON(w, http.StatusOK, said)
			return
		}
	} else {
		name, data, ok, err := s.page.Capture.Cassette(id)
		switch {
		case err != nil:
			httpx.WriteJSON(w, http.StatusConflict, protocol.Refusal{Error: err.Error(), Hint: hint.Of(err)})
			return
		case ok:
			w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
			httpx.WriteEncoded(w, http.StatusOK, data)
			return
		}
	}
	writeError(w, r.URL.Path, http.StatusNotFound, "not_found", "what was said in this call was not kept")
}

// serveCalls answers with a page of the calls, newest first.
func (s *Server) serveCalls(w http.ResponseWriter, r *http.Request) {
	asked, err := callsQuery(r.URL.RawQuery)
	var page protocol.RecordedCalls
	if err == nil {
		read := s.page.Calls
		if read == nil {
			read = s.callsInMemory
		}
		page, err = read(r.Context(), asked)
		if errors.Is(err, ErrCursor) {
			err = queryError{"before: " + ErrCursor.Error()}
		}
	}
	if bad, ok := errors.AsType[queryError](err); ok {
		writeError(w, r.URL.Path, http.StatusBadRequest, "invalid_input", bad.Error())
		return
	}
	if err != nil {
		s.log.Warn("reading calls for the console", "err", err)
		httpx.WriteJSON(w, http.StatusServiceUnavailable, protocol.Refusal{Error: err.Error(), Hint: hint.Of(err)})
		return
	}
	page.Calls = notNil(page.Calls)
	httpx.WriteJSON(w, http.StatusOK, page)
}

// queryError is an error in the parameters of a request.
type queryError struct{ text string }

func (e queryError) Error() string { return e.text }

func callsQuery(raw string) (q protocol.CallsQuery, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, queryError{"the parameters cannot be read"}
	}
	q = protocol.CallsQuery{
		Before: values.Get("before"), Model: values.Get("model"), Status: protocol.CallStatus(values.Get("status")),
		Verdict: protocol.Verdict(values.Get("verdict")), Text: values.Get("text"), Limit: 200,
	}
	if text := values.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > protocol.MaxCallsPage {
			return q, queryError{"limit: not a number from 1 to " + strconv.Itoa(protocol.MaxCallsPage)}
		}
	}
	if q.Status != "" && q.Status != protocol.CallsOK && q.Status != protocol.CallsError {
		return q, queryError{"status: neither ok nor error"}
	}
	return q, nil
}

// callsInMemory answers from the metrics where nothing is recorded. Its cursor counts the calls that ended.
func (s *Server) callsInMemory(_ context.Context, q protocol.CallsQuery) (protocol.RecordedCalls, error) {
	var answer protocol.RecordedCalls
	kept := s.metrics.After(0, 0)
	first := kept.Next - uint64(len(kept.Calls)) // the number of the one before the oldest
	before := kept.Next + 1
	if q.Before != "" {
		var err error
		if before, err = strconv.ParseUint(q.Before, 10, 63); err != nil {
			return answer, ErrCursor
		}
	}
	for i := len(kept.Calls) - 1; i >= 0; i-- {
		number := first + uint64(i) + 1
		if number >= before || !wanted(kept.Calls[i], q) {
			continue
		}
		if len(answer.Calls) == q.Limit {
			answer.Next = strconv.FormatUint(number+1, 10)
			break
		}
		answer.Calls = append(answer.Calls, kept.Calls[i])
	}
	return answer, nil
}

// wanted says of a call in memory what the history says of those that it holds.
func wanted(c protocol.Call, q protocol.CallsQuery) bool {
	if q.Model != "" && c.Model != q.Model && c.RequestModel != q.Model ||
		q.Status != "" && (q.Status == protocol.CallsError) != metrics.Failed(c.Verdict) ||
		q.Verdict != "" && c.Verdict != q.Verdict {
		return false
	}
	text := strings.ToLower(q.Text)
	return slices.ContainsFunc([]string{c.Model, c.RequestModel, c.Error, c.FinishReason, c.Upstream, c.ID}, func(part string) bool {
		return strings.Contains(strings.ToLower(part), text)
	})
}
