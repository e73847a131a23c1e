package control_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// A fakeKeeper does as it is told.
type fakeKeeper struct {
	status protocol.StudioStatus
	update func(ctx context.Context, ignoreHold bool) error
	back   func(ctx context.Context) error
	pruned protocol.StudioPruned
	err    error
	cancel func()
}

func (f *fakeKeeper) Status() protocol.StudioStatus { return f.status }
func (f *fakeKeeper) Update(ctx context.Context, ignoreHold bool) error {
	return f.update(ctx, ignoreHold)
}
func (f *fakeKeeper) Rollback(ctx context.Context) error { return f.back(ctx) }
func (f *fakeKeeper) Prune(context.Context) (protocol.StudioPruned, error) {
	return f.pruned, f.err
}
func (f *fakeKeeper) Cancel() { f.cancel() }

// codedError is an error as a keeper gives it.
type codedError struct {
	error
	code protocol.ErrorCode
}

func (c codedError) ErrorCode() protocol.ErrorCode { return c.code }

func wantClientError(t *testing.T, err error, status int, code protocol.ErrorCode, message, way string) {
	t.Helper()
	answer, ok := errors.AsType[*client.Error](err)
	if !ok || answer.Status != status || answer.Code != code || answer.Message != message || answer.Hint != way {
		t.Errorf("got %#v, want %d %s %q (hint %q)", err, status, code, message, way)
	}
}

func TestStudioRoutes(t *testing.T) {
	var asked []bool
	k := &fakeKeeper{status: protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "1.0.0"}}
	k.update = func(_ context.Context, ignoreHold bool) error {
		asked = append(asked, ignoreHold)
		k.status.Version = "1.1.0"
		return nil
	}
	k.back = func(context.Context) error { k.status.Version = "1.0.0"; return nil }
	cancelled := 0
	k.cancel = func() { cancelled++ }
	d := start(t, control.Config{Studio: k})
	c := client.New(d.path)

	wantStatus := func(got protocol.StudioStatus, err error, version string) {
		t.Helper()
		if err != nil || got.Version != version {
			t.Errorf("got %+v, %v, want %s", got, err, version)
		}
	}
	got, err := c.Studio(t.Context())
	wantStatus(got, err, "1.0.0")
	got, err = c.UpdateStudio(t.Context(), protocol.StudioUpdateRequest{})
	wantStatus(got, err, "1.1.0")
	got, err = c.UpdateStudio(t.Context(), protocol.StudioUpdateRequest{IgnoreHold: true})
	wantStatus(got, err, "1.1.0")
	if len(asked) != 2 || asked[0] || !asked[1] {
		t.Errorf("ignoreHold: got %v, want false and true", asked)
	}
	got, err = c.RollBackStudio(t.Context())
	wantStatus(got, err, "1.0.0")
	if got, err = c.CancelStudio(t.Context()); err != nil || cancelled != 1 {
		t.Errorf("got %+v, %v after %d cancels", got, err, cancelled)
	}
	pruned, err := c.PruneStudio(t.Context())
	if err != nil || pruned.Removed == nil || len(pruned.Removed) != 0 {
		t.Errorf("pruned nothing: got %+v, %v, want [] and not null", pruned, err)
	}
	k.pruned = protocol.StudioPruned{Removed: []string{"0.9.0"}, Bytes: 7, InUse: []string{"0.8.0"}}
	if pruned, err = c.PruneStudio(t.Context()); err != nil || pruned.Bytes != 7 || pruned.Removed[0] != "0.9.0" || pruned.InUse[0] != "0.8.0" {
		t.Errorf("got %+v, %v", pruned, err)
	}
}

func TestStudioErrorsKeepTheirCodeAndTheirWayOut(t *testing.T) {
	k := &fakeKeeper{}
	d := start(t, control.Config{Studio: k})
	c := client.New(d.path)
	for _, tt := range []struct {
		code   protocol.ErrorCode
		status int
	}{
		{protocol.CodeUpdateFailed, http.StatusBadGateway},
		{protocol.CodeCancelled, http.StatusConflict},
		{protocol.CodeConflict, http.StatusConflict},
	} {
		fails := codedError{hint.With(errors.New("it went wrong"), "try again"), tt.code}
		k.update = func(context.Context, bool) error { return hint.With(fails, "try again") }
		k.back = func(context.Context) error { return hint.With(fails, "try again") }
		_, err := c.UpdateStudio(t.Context(), protocol.StudioUpdateRequest{})
		wantClientError(t, err, tt.status, tt.code, "it went wrong", "try again")
		_, err = c.RollBackStudio(t.Context())
		wantClientError(t, err, tt.status, tt.code, "it went wrong", "try again")
	}
	k.err = errors.New("the disk is gone")
	_, err := c.PruneStudio(t.Context())
	wantClientError(t, err, http.StatusInternalServerError, protocol.CodeInternal, "the disk is gone", "")
}

func TestADaemonWithoutStudioSaysSo(t *testing.T) {
	c := client.New(start(t, control.Config{}).path)
	for name, ask := range map[string]func() error{
		"status":   func() error { _, err := c.Studio(t.Context()); return err },
		"update":   func() error { _, err := c.UpdateStudio(t.Context(), protocol.StudioUpdateRequest{}); return err },
		"rollback": func() error { _, err := c.RollBackStudio(t.Context()); return err },
		"prune":    func() error { _, err := c.PruneStudio(t.Context()); return err },
		"cancel":   func() error { _, err := c.CancelStudio(t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			wantClientError(t, ask(), http.StatusNotFound, protocol.CodeNotFound, "this daemon keeps no offline copy of Studio", "")
		})
	}
}

// Closing the terminal is no wish to have the update ended; the end of the daemon is.
func TestAnUpdateOutlivesItsCallerAndNotTheDaemon(t *testing.T) {
	began, ended := make(chan struct{}, 1), make(chan error, 1)
	k := &fakeKeeper{update: func(ctx context.Context, _ bool) error {
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}}
	d := start(t, control.Config{Studio: k})
	ctx, leave := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := client.New(d.path).UpdateStudio(ctx, protocol.StudioUpdateRequest{})
		asked <- err
	}()
	<-began
	leave()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller: got %v, want context.Canceled", err)
	}
	select {
	case err := <-ended:
		t.Errorf("the update ended with its caller: %v", err)
	case <-time.After(50 * time.Millisecond): // it may only be too early to see it
	}
	d.stop()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the update outlives the daemon")
	}
}
