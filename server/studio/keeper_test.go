package studio_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

func TestAKeeperServesUpdatesRollsBackAndPrunes(t *testing.T) {
	r := newRelease(t)
	s, cfg := open(t, r.URL, nil)
	k, seen := keep(t, s)
	seen.wants(t)
	if got := k.Status(); got != (protocol.StudioStatus{Stage: protocol.StudioIdle}) {
		t.Errorf("with nothing: got %+v", got)
	}
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		r.publish(t, version, studioSite(version))
		if err := k.Update(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	seen.wants(t, "1.0.0", "1.1.0 1.0.0", "1.2.0 1.1.0")
	wantNothingBut(t, cfg.CacheDir, "1.1.0", "1.2.0") // two are kept, without anybody asking
	got := k.Status()
	if time.Since(got.CheckedAt) > time.Minute {
		t.Errorf("checked at %s", got.CheckedAt)
	}
	got.CheckedAt = time.Time{}
	if want := (protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "1.2.0", Previous: "1.1.0"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}

	if err := k.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := k.Update(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	seen.wants(t, "1.0.0", "1.1.0 1.0.0", "1.2.0 1.1.0", "1.1.0 1.2.0")
	got = k.Status()
	got.CheckedAt = time.Time{}
	if want := (protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "1.1.0", Held: "1.2.0", Available: "1.2.0"}); got != want {
		t.Errorf("rolled back: got %+v, want %+v", got, want)
	}
	if err := k.Rollback(t.Context()); !errors.Is(err, studio.ErrNoPrevious) || codeOf(err) != protocol.CodeConflict {
		t.Errorf("got %v (%s), want ErrNoPrevious, a conflict", err, codeOf(err))
	}
	if got := k.Status(); !strings.Contains(got.Error, "no version of Studio to go back to") || got.Hint == "" {
		t.Errorf("got %+v, want it said", got)
	}
	if err := k.Update(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := k.Status(); got.Version != "1.2.0" || got.Held != "" || got.Error != "" || got.Previous != "1.1.0" {
		t.Errorf("forward again: got %+v", got)
	}
	if pruned, err := k.Prune(t.Context()); err != nil || len(pruned.Removed) > 0 || len(pruned.InUse) > 0 {
		t.Errorf("pruned: got %+v, %v", pruned, err)
	}
}

// studio.md: "A finished copy is served at once".
func TestAKeeperStartsWithWhatIsThere(t *testing.T) {
	_, s, cfg := versions(t, "1.0.0", "1.1.0")
	rollback(t, s)
	k, seen := keep(t, reopen(t, cfg))
	seen.wants(t, "1.0.0 1.1.0")
	if got, want := k.Status(), (protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "1.0.0", Held: "1.1.0"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAFailedUpdateIsSaidAndForgottenWithTheNext(t *testing.T) {
	r, s, _ := versions(t, "1.0.0")
	k, seen := keep(t, s)
	r.serve(fail(503), nil)
	err := k.Update(t.Context(), false)
	if !errors.Is(err, studio.ErrManifest) || codeOf(err) != protocol.CodeUpdateFailed {
		t.Errorf("got %v (%s), want ErrManifest, update_failed", err, codeOf(err))
	}
	got := k.Status()
	if got.Stage != protocol.StudioIdle || !strings.Contains(got.Error, "503 Service Unavailable") || !strings.Contains(got.Hint, "--ui-url") || got.Version != "1.0.0" {
		t.Errorf("got %+v, want the cause, the way out, and 1.0.0 still", got)
	}
	r.publish(t, "1.1.0", studioSite("1.1.0"))
	if err := k.Update(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := k.Status(); got.Error != "" || got.Hint != "" || got.Version != "1.1.0" {
		t.Errorf("got %+v, want it forgotten", got)
	}
	seen.wants(t, "1.0.0", "1.1.0 1.0.0")
}

// Whoever asks once an update is said to have ended gets an answer of their own, not the one of before.
func TestAQuestionAfterTheEndIsAskedAnew(t *testing.T) {
	r, s, _ := versions(t, "1.0.0")
	k, _ := keep(t, s)
	good := r.handler(&r.manifest)
	for range 300 {
		asked := make(chan struct{}, 8)
		r.serve(func(w http.ResponseWriter, req *http.Request) { asked <- struct{}{}; good(w, req) }, nil)
		first := make(chan error, 1)
		go func() { first <- k.Update(t.Context(), false) }()
		<-asked
		for {
			now, changed := k.State().Watch()
			if now.Stage == protocol.StudioIdle {
				break
			}
			<-changed
		}
		r.serve(fail(503), nil)
		if err := k.Update(t.Context(), false); !errors.Is(err, studio.ErrManifest) {
			t.Fatalf("got %v, want what the server says now", err)
		}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
	}
}

// A release that is refused is still there to be named.
func TestAnAvailableVersionThatIsRefusedIsNamed(t *testing.T) {
	r, s, _ := versions(t, "1.0.0")
	k, _ := keep(t, s)
	r.serve(answer(manifest("2.0.0", strings.Repeat("ab", 32), 2)), nil)
	if err := k.Update(t.Context(), false); !errors.Is(err, studio.ErrContract) {
		t.Errorf("got %v, want ErrContract", err)
	}
	if got := k.Status(); got.Available != "2.0.0" || got.Version != "1.0.0" || got.Hint == "" {
		t.Errorf("got %+v", got)
	}
}

func TestCancelEndsAnUpdateForAllWhoWait(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0")
	goOn := stalled(t, r)
	k, seen := keep(t, s)
	k.Cancel() // of nothing is nothing
	ended := make(chan error, 3)
	for range 3 {
		go func() { ended <- k.Update(t.Context(), false) }()
	}
	// Bytes may be shown only up to a moment ago; what counts is that the download is on.
	got := until(t, k, "the download", func(s protocol.StudioStatus) bool { return s.Stage == protocol.StudioDownloading })
	if got.Available != "1.1.0" || got.Total == 0 || got.Version != "1.0.0" {
		t.Errorf("got %+v", got)
	}
	k.Cancel()
	cancelled := 0
	for range 3 {
		// One that came only after the cancel is an update of its own.
		select {
		case err := <-ended:
			if !errors.Is(err, studio.ErrCancelled) || codeOf(err) != protocol.CodeCancelled {
				t.Errorf("got %v (%s), want ErrCancelled", err, codeOf(err))
			}
			cancelled++
		case <-time.After(time.Minute):
			t.Fatalf("%d of 3 ended", cancelled)
		}
		k.Cancel()
	}
	if got := k.Status(); got.Stage != protocol.StudioIdle || got.Error != "" || got.Bytes != 0 || got.Version != "1.0.0" {
		t.Errorf("got %+v, want it idle and no error: somebody wanted this", got)
	}
	goOn()
	if err := k.Update(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	seen.wants(t, "1.0.0", "1.1.0 1.0.0")
	wantNothingBut(t, cfg.CacheDir, "1.0.0", "1.1.0")
}

func TestARollbackDoesNotWaitForADownload(t *testing.T) {
	r, s, _ := versions(t, "0.9.0", "1.0.0")
	stalled(t, r)
	k, _ := keep(t, s)
	ended := make(chan error, 1)
	go func() { ended <- k.Update(t.Context(), false) }()
	until(t, k, "the download", func(s protocol.StudioStatus) bool { return s.Stage == protocol.StudioDownloading })
	if err := k.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, studio.ErrCancelled) {
		t.Errorf("the update: got %v, want ErrCancelled", err)
	}
	if got := k.Status(); got.Version != "0.9.0" || got.Held != "1.0.0" {
		t.Errorf("got %+v", got)
	}
}

// Neither does it wait for one of another process.
func TestARollbackDoesNotWaitForAnotherProcess(t *testing.T) {
	r, s, cfg := versions(t, "0.9.0", "1.0.0")
	r.publish(t, "1.1.0", studioSite("1.1.0"))
	other := startChild(t, cfg, "unpacking")
	defer other.kill(t)
	if c := rollback(t, s); c.Version != "0.9.0" {
		t.Errorf("got %s", c.Version)
	}
}

func TestWhoWaitsForAnUpdateMayLeave(t *testing.T) {
	r, s, _ := versions(t, "1.0.0")
	goOn := stalled(t, r)
	k, _ := keep(t, s)
	ended := make(chan error, 1)
	go func() { ended <- k.Update(t.Context(), false) }()
	until(t, k, "the download", func(s protocol.StudioStatus) bool { return s.Stage == protocol.StudioDownloading })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Update(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if got := k.Status(); got.Stage != protocol.StudioDownloading {
		t.Errorf("got %+v, want the other's update to go on", got)
	}
	goOn()
	k.Cancel()
	<-ended
}

// Who wants the version that was rolled back from gets it, whatever else is being looked for at the moment.
func TestGoingForwardIsNotLostInAnotherUpdate(t *testing.T) {
	r, s, _ := versions(t, "1.0.0", "1.1.0")
	k, _ := keep(t, s)
	if err := k.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	goOn, asked := make(chan struct{}), make(chan struct{}, 2)
	current := r.handler(&r.manifest)
	r.serve(func(w http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		<-goOn
		current(w, req)
	}, nil)
	ended := make(chan error, 2)
	go func() { ended <- k.Update(t.Context(), false) }()
	<-asked
	go func() { ended <- k.Update(t.Context(), true) }()
	close(goOn)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if got := k.Status(); got.Version != "1.1.0" || got.Held != "" {
		t.Errorf("got %+v, want 1.1.0", got)
	}
}

func TestTheEndOfTheContextIsNoFailure(t *testing.T) {
	r, s, _ := versions(t, "1.0.0")
	stalled(t, r)
	k, _ := keep(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Update(ctx, false) }()
	until(t, k, "the download", func(s protocol.StudioStatus) bool { return s.Stage == protocol.StudioDownloading })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if got := k.Status(); got.Error != "" || got.Stage != protocol.StudioIdle {
		t.Errorf("got %+v", got)
	}
}

// security.md 19: "a served folder that no longer matches is not served, the previous version is".
func TestADamagedCopyGivesWayToThePreviousOne(t *testing.T) {
	_, s, cfg := versions(t, "1.0.0", "1.1.0")
	k, seen := keep(t, s)
	k.Damaged() // it is not
	if got := k.Status(); got.Error != "" {
		t.Errorf("got %+v", got)
	}
	write(t, filepath.Join(cfg.CacheDir, "1.1.0", "index.html"), "changed")
	k.Damaged()
	seen.wants(t, "1.1.0 1.0.0", "1.0.0")
	got := k.Status()
	if got.Version != "1.0.0" || !strings.Contains(got.Error, "Studio 1.1.0 was changed after it was installed") || got.Hint == "" {
		t.Errorf("got %+v", got)
	}
	if err := k.Update(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	seen.wants(t, "1.1.0 1.0.0", "1.0.0", "1.1.0 1.0.0")
	if got := k.Status(); got.Error != "" || got.Version != "1.1.0" {
		t.Errorf("got %+v", got)
	}
}

// studio.md: "Two processes that update at once do not harm each other." Each ends with the newest served.
func TestTwoKeepersOfOneCache(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0")
	one, _ := keep(t, s)
	two, _ := keep(t, reopen(t, cfg))
	for _, version := range []string{"1.1.0", "1.2.0", "1.3.0"} {
		r.publish(t, version, studioSite(version))
		var wg sync.WaitGroup
		for _, k := range []*studio.Keeper{one, two} {
			wg.Go(func() {
				if err := k.Update(t.Context(), false); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for name, k := range map[string]*studio.Keeper{"one": one, "two": two} {
			c, _ := k.Served()
			if c.Version != version {
				t.Errorf("%s serves %s, want %s", name, c.Version, version)
			}
			wantSite(t, c.Dir, studioSite(version))
		}
	}
	if got := r.downloads.Load(); got != 4 {
		t.Errorf("got %d downloads, want one a version", got)
	}
	if _, err := one.Prune(t.Context()); err != nil {
		t.Error(err)
	}
	wantNothingBut(t, cfg.CacheDir, "1.2.0", "1.3.0")
}
