package control

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

const (
	defaultCalls = 200 // as many as a page of the history, which says so itself
	maxCalls     = 1000

	// maxGrace keeps a grace in milliseconds far from where a duration overflows; nobody waits longer for a daemon.
	maxGrace = time.Hour
)

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	httpx.WriteJSON(w, http.StatusOK, protocol.Health{Status: "ok"})
	return nil
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) error {
	httpx.WriteJSON(w, http.StatusOK, protocol.VersionInfo{
		Version:    s.cfg.Version,
		Protocol:   protocol.Version,
		InstanceID: s.cfg.InstanceID,
	})
	return nil
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) error {
	now := s.cfg.Now
	if now == nil {
		now = s.cfg.Status.Get
	}
	httpx.WriteJSON(w, http.StatusOK, now())
	return nil
}

func (s *Server) calls(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("reading the query: %v", err)
	}
	after, limit := uint64(0), defaultCalls
	if text := query.Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return invalid("after: %q is not a number of 0 or more", text)
		}
	}
	if limit, err = limitOf(query, limit); err != nil {
		return err
	}
	page := protocol.CallsPage{Next: after}
	if s.cfg.Calls != nil {
		page = s.cfg.Calls(after, limit)
	}
	if page.Calls == nil {
		page.Calls = []protocol.Call{} // [] and not null
	}
	httpx.WriteJSON(w, http.StatusOK, page)
	return nil
}

// limitOf reads how many calls are asked for.
func limitOf(query url.Values, otherwise int) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return otherwise, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxCalls {
		return 0, invalid("limit: %q is not a number from 1 to %d", text, maxCalls)
	}
	return limit, nil
}

func (s *Server) launch(w http.ResponseWriter, _ *http.Request) error {
	if s.cfg.Launch == nil {
		return refusal{protocol.CodeNotFound, "this daemon does not say how it was started"}
	}
	httpx.WriteJSON(w, http.StatusOK, s.cfg.Launch)
	return nil
}

func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.History == nil {
		return refusal{protocol.CodeNotFound, "this daemon keeps no history"}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("reading the query: %v", err)
	}
	asked := protocol.HistoryQuery{Model: query.Get("model"), After: query.Get("after")}
	if asked.Limit, err = limitOf(query, defaultCalls); err != nil {
		return err
	}
	for name, at := range map[string]*time.Time{"since": &asked.Since, "until": &asked.Until} {
		if text := query.Get(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return invalid("%s: %q is not a time such as 2026-11-30T15:43:53Z", name, text)
			}
		}
	}
	page, err := s.cfg.History(r.Context(), asked)
	if err != nil {
		return err
	}
	httpx.WriteJSON(w, http.StatusOK, page)
	return nil
}

func (s *Server) shutdown(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Shutdown == nil {
		return refusal{protocol.CodeNotFound, "this daemon cannot be shut down from here"}
	}
	var req protocol.ShutdownRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if req.InstanceID == "" {
		return invalid("instance_id is required")
	}
	if req.InstanceID != s.cfg.InstanceID {
		return refusal{protocol.CodeWrongInstance, "another instance is meant: this one is " + s.cfg.InstanceID}
	}
	var grace *time.Duration
	if req.GraceMs != nil {
		if *req.GraceMs < 0 || *req.GraceMs > maxGrace.Milliseconds() {
			return invalid("grace_ms: %d is not a number from 0 to %d", *req.GraceMs, maxGrace.Milliseconds())
		}
		d := time.Duration(*req.GraceMs) * time.Millisecond
		grace = &d
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	// The answer leaves before the end begins; a caller that is gone has asked all the same.
	_ = http.NewResponseController(w).Flush()
	s.cfg.Shutdown(grace)
	return nil
}

func (s *Server) open(w http.ResponseWriter, r *http.Request) error {
	var req protocol.OpenRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if req.Target != protocol.OpenStudio && req.Target != protocol.OpenConsole {
		return invalid("target: %q is neither %q nor %q", req.Target, protocol.OpenStudio, protocol.OpenConsole)
	}
	ctx, cancel := s.untilCut(r)
	defer cancel()
	open := s.cfg.Open
	if req.URLOnly {
		open = s.cfg.URL
	}
	if open == nil {
		return refusal{protocol.CodeNotFound, "this daemon opens no pages"}
	}
	opened, err := open(ctx, req.Target)
	if err != nil {
		return err
	}
	httpx.WriteJSON(w, http.StatusOK, protocol.OpenResponse{URL: opened})
	return nil
}

func (s *Server) serverAction(action protocol.ServerAction) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.cfg.Server == nil {
			return refusal{protocol.CodeNotFound, "this daemon's server cannot be steered from here"}
		}
		if err := decode(w, r, &struct{}{}); err != nil {
			return err
		}
		ctx, cancel := s.untilCut(r)
		defer cancel()
		if err := s.cfg.Server(ctx, action); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// decode reads the body of r into v. No body at all is an empty object, so that curl -X POST is enough where nothing
// is asked for.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := httpx.ReadBody(w, r, maxBody)
	if err != nil {
		return bodyError(err)
	}
	return decodeBody(body, v)
}

// bodyError makes a body that broke off the caller's error.
func bodyError(err error) error {
	if _, over := errors.AsType[*httpx.TooLargeError](err); over {
		return err
	}
	return invalid("%v", err)
}

func decodeBody(body []byte, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	if err := httpx.DecodeJSON(body, v, httpx.RefuseUnknown); err != nil {
		return invalid("decoding request body: %v", err)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return refusal{protocol.CodeInvalidInput, fmt.Sprintf(format, args...)}
}
