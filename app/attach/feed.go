package attach

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
)

// A feed follows a session, and the one that carries it on when it is told to.
type feed struct {
	daemon Daemon
	next   chan protocol.Session // the session to follow from now on
}

// What a feed tells. News are in order.
type (
	// events are events of the session, at least one.
	events []protocol.Event
	// lost says that the companion does not answer any more; it is asked again.
	lost struct{}
	// back says that it does again.
	back struct{}
	// trouble says that nothing can be recorded, so that nothing is shown.
	trouble struct{ text string }
	// ended says that nothing more will come of the session. It may be there to be read; err is why it is not.
	ended struct {
		session protocol.Session
		err     error
	}
)

// maxBatch is how many events are told at once, at most.
const maxBatch = 1024

// run tells of a session until ctx ends. While what it is told is worked on, events wait and are told together.
func (f *feed) run(ctx context.Context, s protocol.Session, tell func(any)) error {
	news := make(chan any, maxBatch)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return passOn(ctx, news, tell) })
	group.Go(func() error {
		for {
			if end := f.follow(ctx, s, news); !put(ctx, news, end) {
				return ctx.Err()
			}
			select {
			case s = <-f.next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return group.Wait()
}

// follow tells of one session to its end, or until there is another to follow.
func (f *feed) follow(ctx context.Context, s protocol.Session, news chan<- any) ended {
	err := f.daemon.Follow(ctx, s.ID, 1, client.Follower{
		Event: func(e protocol.Event) error {
			if !put(ctx, news, e) {
				return ctx.Err()
			}
			return nil
		},
		Lost:    func(error) { put(ctx, news, lost{}) },
		Back:    func() { put(ctx, news, back{}) },
		Trouble: func(t protocol.Error) { put(ctx, news, trouble{t.Message}) },
	})
	if err == nil {
		var now protocol.Session
		if now, err = f.daemon.Session(ctx, s.ID); err == nil {
			s = now
		}
	}
	s.Live = false
	return ended{s, err}
}

func put(ctx context.Context, news chan<- any, one any) bool {
	select {
	case news <- one:
		return true
	case <-ctx.Done():
		return false
	}
}

// passOn tells what is in news, the events that wait in it together.
func passOn(ctx context.Context, news <-chan any, tell func(any)) error {
	for {
		var one any
		select {
		case one = <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
		batch, other := gather(one, news)
		if len(batch) > 0 {
			tell(batch)
		}
		if other != nil {
			tell(other)
		}
	}
}

// gather takes the events that wait, beginning with first, up to the first of what is none.
func gather(first any, news <-chan any) (batch events, other any) {
	for one := first; ; {
		e, ok := one.(protocol.Event)
		if !ok {
			return batch, one
		}
		if batch = append(batch, e); len(batch) == maxBatch {
			return batch, nil
		}
		select {
		case one = <-news:
		default:
			return batch, nil
		}
	}
}

// isOver reports whether err is that of a context which ended: somebody left.
func isOver(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
