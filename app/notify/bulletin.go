package notify

import (
	"context"
	"time"
)

const (
	// answerTimeout is how long the desktop may take to show or take back a notification.
	answerTimeout = 5 * time.Second
	// endPatience is what is left of that once we are to end.
	endPatience = 500 * time.Millisecond
)

// bulletin is what was told of which cause.
type bulletin struct {
	notifier *Notifier
	desktop  desktop // nil until something is to be shown
	told     map[string]*told
}

type told struct {
	since   time.Time // the cause stands since then
	stands  bool
	posted  time.Time // zero: not yet, in all the time that it is remembered
	id      uint32    // 0: not on the screen, or not known to be
	refused bool      // the desktop would not show it; asked again when the cause comes again
}

// catchUp tells of causes that have come and takes back those that went. It returns when the next is due; 0: none is.
func (b *bulletin) catchUp(ctx context.Context, notices []Notice) (wait time.Duration) {
	now := time.Now()
	standing := map[string]bool{}
	for _, n := range notices {
		standing[n.Cause] = true
		t := b.told[n.Cause]
		if t == nil {
			t = &told{}
			b.told[n.Cause] = t
		}
		if !t.stands {
			t.stands, t.since, t.refused = true, now, false
		}
		if left := t.wait(now, b.notifier.settle); left > 0 {
			wait = sooner(wait, left)
		} else if left == 0 {
			b.post(ctx, n, t)
		}
	}
	for cause, t := range b.told {
		if standing[cause] {
			continue
		}
		if t.id != 0 {
			b.withdraw(ctx, t.id)
		}
		t.stands, t.id = false, 0
		if now.Sub(t.posted) >= quiet { // nothing that would have to be remembered
			delete(b.told, cause)
		}
	}
	return wait
}

// wait is how long it is until the cause is due to be told of; negative: it is not going to be.
func (t *told) wait(now time.Time, settle time.Duration) time.Duration {
	switch {
	case t.refused, !t.posted.IsZero() && !t.posted.Before(t.since):
		return -1
	case !t.posted.IsZero() && now.Sub(t.posted) < quiet:
		return max(t.posted.Add(quiet).Sub(now), t.since.Add(settle).Sub(now))
	}
	return max(t.since.Add(settle).Sub(now), 0)
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

func (b *bulletin) post(ctx context.Context, n Notice, t *told) {
	ctx, cancel := patient(ctx)
	defer cancel()
	var err error
	if b.desktop == nil {
		b.desktop, err = b.notifier.dial(ctx, b.notifier.cfg)
	}
	if err == nil {
		t.id, err = b.desktop.post(ctx, n)
	}
	if err != nil {
		t.refused = true
		b.notifier.cfg.Log.Info("a notification was not shown", "cause", n.Cause, "err", err)
		return
	}
	t.posted = time.Now()
}

// patient lasts a little longer than ctx: of a notification that is being shown when we end, only the answer tells how
// to take it back.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(endPatience, cancel) })
	return longer, func() { stop(); cancel() }
}

func (b *bulletin) withdraw(ctx context.Context, id uint32) {
	ctx, cancel := patient(ctx)
	defer cancel()
	b.desktop.withdraw(ctx, id)
}

// events is nil, and so never ready, while there is no desktop.
func (b *bulletin) events() <-chan event {
	if b.desktop == nil {
		return nil
	}
	return b.desktop.events()
}

// heard takes note of what a person did.
func (b *bulletin) heard(e event, open bool) {
	if !open { // the desktop session is over; a later notice looks for another
		b.desktop.close()
		b.desktop = nil
		for _, t := range b.told {
			t.id = 0
		}
		return
	}
	for cause, t := range b.told {
		switch {
		case t.id != e.id || e.id == 0:
		case e.action == "":
			t.id = 0
		default: // and it is closed by that
			t.id = 0
			b.notifier.cfg.Chosen(cause, e.action)
		}
	}
}

// end takes back what is up. ctx is over.
func (b *bulletin) end(ctx context.Context) {
	if b.desktop == nil {
		return
	}
	for _, t := range b.told {
		if t.id != 0 {
			b.withdraw(ctx, t.id)
		}
	}
	b.desktop.close()
}
