package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// cancelPatience is how long a companion may take to end an update that Ctrl-C cancelled.
const cancelPatience = 5 * time.Second

// A studioDesk is where the offline copy is looked after.
type studioDesk interface {
	status(ctx context.Context) (protocol.StudioStatus, error)
	// update returns when it is done; show hears how far it is, one call at a time. The end of ctx cancels it.
	update(ctx context.Context, req protocol.StudioUpdateRequest, show func(protocol.StudioStatus)) (protocol.StudioStatus, error)
	rollback(ctx context.Context) (protocol.StudioStatus, error)
	prune(ctx context.Context) (protocol.StudioPruned, error)

	source() string      // "companion" or "cache"
	describe() string    // the same for a person
	folder() string      // of the cache
	afterChange() string // what follows "Studio 0.5.0 is installed": where it can be seen
	close()
}

// studioDesk finds who looks after the copy: the companion that runs, else the cache itself.
func (c *cli) studioDesk(ctx context.Context) (studioDesk, error) {
	where, err := c.whereabouts()
	if err != nil {
		return nil, err
	}
	daemon, found, err := running(ctx, where)
	switch {
	case err != nil && exitCode(err) != exitNotRunning:
		return nil, err
	case err != nil:
		return c.cacheDesk(where, "no companion runs", "; the next companion with --ui serves it.")
	}
	_, err = daemon.Studio(ctx)
	if answer, ok := errors.AsType[*client.Error](err); ok && answer.Status == http.StatusNotFound {
		return c.cacheDesk(where, fmt.Sprintf("the companion that runs (pid %d) keeps no copy", found.PID),
			"; the companion that runs does not serve it: chatwright-tray restart --ui")
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"ui-url", "ui-key"} {
		if _, set := c.flags.Lookup(name); set {
			return nil, withCode(exitUsage, hint.With(fmt.Errorf("--%s: the companion that runs (pid %d) has its own", name, found.PID),
				"leave it out, or restart the companion with it"))
		}
	}
	return companionDesk{daemon, found, where.UI}, nil
}

// companionDesk asks the companion that runs.
type companionDesk struct {
	*client.Client
	found protocol.Discovery
	cache string
}

func (d companionDesk) source() string { return "companion" }
func (d companionDesk) describe() string {
	return fmt.Sprintf("the companion on http://%s (pid %d)", d.found.Addr, d.found.PID)
}
func (d companionDesk) folder() string { return d.cache }
func (d companionDesk) afterChange() string {
	return " and served on http://" + d.found.Addr + "; reload pages that are open."
}
func (d companionDesk) close() {}

func (d companionDesk) status(ctx context.Context) (protocol.StudioStatus, error) {
	return d.Studio(ctx)
}

func (d companionDesk) rollback(ctx context.Context) (protocol.StudioStatus, error) {
	return d.RollBackStudio(ctx)
}

func (d companionDesk) prune(ctx context.Context) (protocol.StudioPruned, error) {
	return d.PruneStudio(ctx)
}

// update waits for the companion's answer even when ctx has ended, since that says what became of the cancelled update.
func (d companionDesk) update(ctx context.Context, req protocol.StudioUpdateRequest, show func(protocol.StudioStatus)) (protocol.StudioStatus, error) {
	asking, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	stop := context.AfterFunc(ctx, func() {
		limited, end := context.WithTimeout(asking, cancelPatience)
		defer end()
		if _, err := d.CancelStudio(limited); err != nil {
			done() // it does not even hear that
		}
	})
	defer stop()

	following, endFollowing := context.WithCancel(asking)
	var follower sync.WaitGroup
	follower.Go(func() {
		// Only for show: what is said there and then lost is no reason to give up the update.
		_ = d.StatusEvents(following, func(s protocol.Status) error {
			if s.Studio != nil {
				show(*s.Studio)
			}
			return nil
		}, nil)
	})
	after, err := d.UpdateStudio(asking, req)
	endFollowing()
	follower.Wait()
	return after, err
}

// cacheDesk works on the cache itself.
type cacheDesk struct {
	keeper           *studio.Keeper
	cache, why, then string
}

// cacheDesk opens the cache; why says why nobody else does the work, then what follows a change.
func (c *cli) cacheDesk(where paths.Paths, why, then string) (studioDesk, error) {
	now, where, err := c.loadAt(where)
	if err != nil {
		return nil, err
	}
	store, err := studio.Open(studio.Config{CacheDir: where.UI, LegacyDir: where.LegacyUI, BaseURL: now.UIURL, PublicKey: now.UIKey})
	if err != nil {
		return nil, err
	}
	keeper := studio.NewKeeper(store, nil)
	keeper.Refresh()
	return cacheDesk{keeper, where.UI, why, then}, nil
}

func (d cacheDesk) source() string      { return "cache" }
func (d cacheDesk) describe() string    { return "the cache itself; " + d.why }
func (d cacheDesk) folder() string      { return d.cache }
func (d cacheDesk) afterChange() string { return d.then }
func (d cacheDesk) close()              { d.keeper.Close() }

func (d cacheDesk) status(context.Context) (protocol.StudioStatus, error) {
	return d.keeper.Status(), nil
}

func (d cacheDesk) rollback(ctx context.Context) (protocol.StudioStatus, error) {
	err := d.keeper.Rollback(ctx)
	return d.keeper.Status(), err
}

func (d cacheDesk) prune(ctx context.Context) (protocol.StudioPruned, error) {
	return d.keeper.Prune(ctx)
}

func (d cacheDesk) update(ctx context.Context, req protocol.StudioUpdateRequest, show func(protocol.StudioStatus)) (protocol.StudioStatus, error) {
	following, endFollowing := context.WithCancel(ctx)
	var follower sync.WaitGroup
	follower.Go(func() {
		for {
			state, changed := d.keeper.State().Watch()
			show(state)
			select {
			case <-following.Done():
				return
			case <-changed:
			}
		}
	})
	err := d.keeper.Update(ctx, req.IgnoreHold)
	endFollowing()
	follower.Wait()
	return d.keeper.Status(), err
}
