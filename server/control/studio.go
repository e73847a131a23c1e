package control

import (
	"context"
	"net/http"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

// Studio is the keeper of the offline copy, as the /v1/studio routes ask it. An error with a method
// ErrorCode() protocol.ErrorCode is answered with that code, as one made by Refuse is.
type Studio interface {
	Status() protocol.StudioStatus
	// Update installs the newest release, if it is newer, and returns when that is done. ignoreHold takes one that was
	// rolled back from as well.
	Update(ctx context.Context, ignoreHold bool) error
	// Rollback serves the version before the present one again.
	Rollback(ctx context.Context) error
	// Prune removes what is neither served nor what a rollback would serve.
	Prune(ctx context.Context) (protocol.StudioPruned, error)
	// Cancel ends a running update, and does nothing when there is none.
	Cancel()
}

// withStudio answers for a daemon that keeps no copy.
func (s *Server) withStudio(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.cfg.Studio == nil {
			return refusal{protocol.CodeNotFound, "this daemon keeps no offline copy of Studio"}
		}
		return handle(w, r)
	}
}

func (s *Server) studio(w http.ResponseWriter, _ *http.Request) error {
	httpx.WriteJSON(w, http.StatusOK, s.cfg.Studio.Status())
	return nil
}

func (s *Server) studioUpdate(w http.ResponseWriter, r *http.Request) error {
	var req protocol.StudioUpdateRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	return s.studioAction(w, r, func(ctx context.Context) error { return s.cfg.Studio.Update(ctx, req.IgnoreHold) })
}

func (s *Server) studioRollback(w http.ResponseWriter, r *http.Request) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	return s.studioAction(w, r, s.cfg.Studio.Rollback)
}

func (s *Server) studioCancel(w http.ResponseWriter, r *http.Request) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	s.cfg.Studio.Cancel()
	return s.studio(w, r)
}

func (s *Server) studioPrune(w http.ResponseWriter, r *http.Request) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	ctx, cancel := s.untilStopping(r)
	defer cancel()
	pruned, err := s.cfg.Studio.Prune(ctx)
	if err != nil {
		return err
	}
	if pruned.Removed == nil {
		pruned.Removed = []string{} // [] and not null
	}
	httpx.WriteJSON(w, http.StatusOK, pruned)
	return nil
}

// studioAction answers with the state that the action has led to.
func (s *Server) studioAction(w http.ResponseWriter, r *http.Request, act func(context.Context) error) error {
	ctx, cancel := s.untilStopping(r)
	defer cancel()
	if err := act(ctx); err != nil {
		return err
	}
	return s.studio(w, r)
}

// untilStopping returns a context that outlives the caller's connection, since closing a terminal is no wish to have an
// update ended (there is a route for that), but not the daemon's wish to end: a download can be resumed.
func (s *Server) untilStopping(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-s.cfg.StreamsEnd:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
