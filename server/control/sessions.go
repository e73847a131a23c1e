package control

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/policy"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

const (
	defaultMaxSessions = 1000
	maxTurnBody        = 32 << 20 // with images
)

// Builder makes the session that a client asks for.
type Builder func(req protocol.CreateSessionRequest) (*session.Session, error)

// places counts the sessions that are being made, so that two at once do not both take the last place.
type places struct {
	mu     sync.Mutex
	making int
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Manager == nil || s.cfg.Build == nil {
		return refusal{protocol.CodeNotFound, "this daemon holds no sessions"}
	}
	var req protocol.CreateSessionRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if req.SandboxMode != "" && !policy.SandboxMode(req.SandboxMode).Valid() {
		return invalid("sandbox_mode: %q is none of %q", req.SandboxMode, policy.SandboxModes())
	}
	if req.SandboxMode == "" && req.Resume == "" {
		req.SandboxMode = string(s.cfg.DefaultMode)
	}
	if err := s.takePlace(); err != nil {
		return err
	}
	made, err := s.cfg.Build(req)
	s.places.mu.Lock()
	s.places.making--
	s.places.mu.Unlock()
	if err != nil {
		return err
	}
	httpx.WriteJSON(w, http.StatusCreated, made.Info())
	return nil
}

func (s *Server) takePlace() error {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	if len(s.cfg.Manager.Live())+s.places.making >= s.cfg.MaxSessions {
		return hint.With(refusal{protocol.CodeMaxSessions, "there are " + strconv.Itoa(s.cfg.MaxSessions) + " live sessions, which is the most"},
			"end one that is not needed; what was said in it stays")
	}
	s.places.making++
	return nil
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("reading the query: %v", err)
	}
	recorded, err := flag(query, "recorded")
	if err != nil {
		return err
	}
	list := protocol.SessionList{Sessions: []protocol.Session{}} // [] and not null
	if s.cfg.Manager != nil {
		if list.Sessions, err = s.cfg.Manager.List(recorded, query.Get("workspace")); err != nil {
			return err
		}
	}
	httpx.WriteJSON(w, http.StatusOK, list)
	return nil
}

// flag reads a parameter that is on or off.
func flag(query url.Values, name string) (bool, error) {
	switch value := query.Get(name); value {
	case "", "0", "false":
		return false, nil
	case "1", "true":
		return true, nil
	default:
		return false, invalid("%s: %q is neither 1 nor 0", name, value)
	}
}

func (s *Server) showSession(w http.ResponseWriter, _ *http.Request, id string) error {
	info, err := s.cfg.Manager.Info(id)
	if err != nil {
		return err
	}
	httpx.WriteJSON(w, http.StatusOK, info)
	return nil
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request, id string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("reading the query: %v", err)
	}
	purge, err := flag(query, "purge")
	if err != nil {
		return err
	}
	ctx, cancel := s.untilCut(r)
	defer cancel()
	if err := s.cfg.Manager.Delete(ctx, id, purge); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) renameSession(w http.ResponseWriter, r *http.Request, id string) error {
	var req protocol.RenameRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := s.cfg.Manager.Rename(id, req.Name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// liveSession returns the session that something is to be done in.
func (s *Server) liveSession(id string) (*session.Session, error) {
	if live := s.cfg.Manager.Get(id); live != nil {
		return live, nil
	}
	if _, err := s.cfg.Manager.Info(id); err != nil {
		return nil, err
	}
	return nil, hint.With(refusal{protocol.CodeConflict, "the session has ended"}, "begin a new one that resumes it")
}

func (s *Server) startTurn(w http.ResponseWriter, r *http.Request, id string) error {
	body, err := httpx.ReadBody(w, r, maxTurnBody)
	if err != nil {
		return bodyError(err)
	}
	var req protocol.TurnRequest
	if err := decodeBody(body, &req); err != nil {
		return err
	}
	if len(body) > maxBody && len(req.Images) == 0 {
		return hint.With(&httpx.TooLargeError{Limit: maxBody}, "say it in parts")
	}
	live, err := s.liveSession(id)
	if err != nil {
		return err
	}
	turnID, err := live.StartTurn(req)
	if err != nil {
		return err
	}
	httpx.WriteJSON(w, http.StatusAccepted, protocol.TurnResponse{TurnID: turnID})
	return nil
}

func (s *Server) interrupt(w http.ResponseWriter, r *http.Request, id string) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	if live := s.cfg.Manager.Get(id); live != nil {
		live.Interrupt()
	} else if _, err := s.cfg.Manager.Info(id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) steer(w http.ResponseWriter, r *http.Request, id string) error {
	var req protocol.SteerRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	live, err := s.liveSession(id)
	if err != nil {
		return err
	}
	if err := live.Steer(req.Text); err != nil {
		return err
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// undo has nothing to put back: no turn changes files yet.
func (s *Server) undo(w http.ResponseWriter, r *http.Request, id string) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	if _, err := s.liveSession(id); err != nil {
		return err
	}
	return refusal{protocol.CodeNotFound, "no turn of this session has changed a file"}
}

// approve has nothing to answer: no turn asks yet.
func (s *Server) approve(w http.ResponseWriter, r *http.Request, id string) error {
	var req protocol.ApprovalRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	switch req.Decision {
	case protocol.DecisionAllow, protocol.DecisionAllowSession, protocol.DecisionAllowProject, protocol.DecisionAllowAlways, protocol.DecisionDeny:
	default:
		return invalid("decision: %q is none of allow, allow_session, allow_project, allow_always, deny", req.Decision)
	}
	if _, err := s.liveSession(id); err != nil {
		return err
	}
	return refusal{protocol.CodeNotFound, "there is no such approval"}
}

func (s *Server) specs(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("reading the query: %v", err)
	}
	workspace := query.Get("workspace")
	if err := session.CheckWorkspace(workspace); err != nil {
		return err
	}
	list := protocol.SpecList{Folders: []protocol.SpecFolder{}} // [] and not null
	if s.cfg.Specs != nil {
		if found := s.cfg.Specs(r.Context(), workspace); found != nil {
			list.Folders = found
		}
	}
	httpx.WriteJSON(w, http.StatusOK, list)
	return nil
}

// eventsPage answers those who want events as a page.
func (s *Server) eventsPage(w http.ResponseWriter, id string, from uint64) error {
	page, err := s.cfg.Manager.After(id, session.Cursor{Seq: from - 1}, 0)
	if err != nil {
		return err
	}
	answer := struct { // protocol.EventsPage, whose events are encoded already
		Events []json.RawMessage `json:"events"`
		Next   uint64            `json:"next"`
	}{make([]json.RawMessage, 0, len(page.Entries)), page.Next.Seq + 1}
	for _, entry := range page.Entries {
		answer.Events = append(answer.Events, entry.JSON)
	}
	httpx.WriteJSON(w, http.StatusOK, answer)
	return nil
}
