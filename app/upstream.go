package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

const (
	probeTimeout = 2 * time.Second
	// failuresInARow is how many answers that are errors make a reachable upstream count as down.
	failuresInARow = 3
	// Sleep is noticed by a wall clock that ran ahead of the ticks by more than wakeJump.
	wakePeriod = 15 * time.Second
	wakeJump   = 30 * time.Second
)

// causeUpstream is the cause of the notice that says why the upstream cannot be used.
const causeUpstream = "upstream"

// A scout knows how the way to the upstream is: from a probe at start, after the machine slept and when somebody
// looks, and from every call that ends. It never probes in a loop.
type scout struct {
	selector *upstream.Selector
	board    board
	log      *slog.Logger
	memory   *memory          // when each upstream last answered
	ask      chan struct{}    // capacity 1: one more probe is wanted
	look     chan struct{}    // capacity 1: model servers are to be looked for
	clock    func() time.Time // the wall clock; it runs on while the machine sleeps
	reach    func(context.Context, *upstream.Target) (protocol.Reach, string)
	find     func(ctx context.Context, asked bool) // looks for model servers, if that is asked or needed; nil: nobody does
	changed  func()                                // told when another upstream is in use, or its reach has changed; nil: nobody is
	woke     func()                                // told after each sleep; nil: nobody is
	failed   int                                   // 5xx answers in a row; used by observe alone
	slept    atomic.Pointer[sleep]
}

// sleep is when the machine slept: it was awake at asleep, and again at woke.
type sleep struct{ asleep, woke time.Time }

// lastSleep is the last sleep that was noticed; the zero value when there was none.
func (s *scout) lastSleep() sleep {
	if slept := s.slept.Load(); slept != nil {
		return *slept
	}
	return sleep{}
}

// Ask wants the upstream probed soon. It never blocks.
func (s *scout) Ask() {
	select {
	case s.ask <- struct{}{}:
	default: // one is wanted already
	}
}

// Look wants model servers looked for soon, and then the upstream probed. It never blocks.
func (s *scout) Look() {
	select {
	case s.look <- struct{}{}:
	default: // it is wanted already
	}
}

// looks looks for model servers, and then asks the upstream that is in use.
func (s *scout) looks(ctx context.Context, asked bool) {
	if s.find != nil {
		s.find(ctx, asked)
	}
	s.probe(ctx)
}

// again says anew what is known of the upstream in use: what it is called may have been found out.
func (s *scout) again() {
	target, now := s.selector.Load(), s.board.Get().upstream
	if target.String() == now.BaseURL {
		s.report(target, now.Reach, now.Detail)
	}
}

// Run probes and looks when asked, and after the machine slept.
func (s *scout) Run(ctx context.Context) error {
	ticker := time.NewTicker(wakePeriod)
	defer ticker.Stop()
	last := s.clock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ask:
			s.probe(ctx)
		case <-s.look:
			s.looks(ctx, true)
		case <-ticker.C:
			now := s.clock()
			if now.Sub(last) > wakePeriod+wakeJump {
				s.slept.Store(&sleep{asleep: last, woke: now})
				s.log.Info("woke from sleep", "slept", now.Sub(last).Round(time.Second))
				if s.woke != nil {
					s.woke()
				}
				s.looks(ctx, false)
			}
			last = now
		}
	}
}

func (s *scout) probe(ctx context.Context) {
	target := s.selector.Load()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	reach, detail := s.reach(ctx, target)
	if errors.Is(ctx.Err(), context.Canceled) { // the app ends: what the probe says means nothing
		return
	}
	s.log.Debug("upstream probed", "upstream", target.Name, "reach", reach, "detail", detail)
	s.report(target, reach, detail)
}

// observe learns from calls that ended, oldest first.
func (s *scout) observe(calls []protocol.Call) {
	target := s.selector.Load()
	for _, c := range calls {
		if c.Upstream != target.Name { // it went to the one before
			continue
		}
		switch {
		case c.Verdict == protocol.VerdictUnreachable:
			s.failed = 0
			s.report(target, protocol.ReachDown, c.Error)
		case c.Verdict == protocol.VerdictLoading:
			s.failed = 0
			s.report(target, protocol.ReachLoading, loadingText(c.Model))
		case c.Status >= 500 || c.Verdict == protocol.VerdictStreamError || c.Verdict == protocol.VerdictTruncated:
			if s.failed++; s.failed >= failuresInARow {
				s.report(target, protocol.ReachDown, failureText(target, c))
			}
		case c.Status == http.StatusNotFound && s.board.Get().upstream.Reach == protocol.ReachOK:
			// A model that is not there, or a base URL that is wrong: what the probe said of it stands.
			s.failed = 0
		case c.Verdict != protocol.VerdictCancelled:
			s.failed = 0
			s.report(target, protocol.ReachOK, "")
		}
	}
}

// failureText says in the upstream's own words, where it has any, why its answers are no answers.
func failureText(target *upstream.Target, c protocol.Call) string {
	who := c.Model
	if who == "" {
		who = target.Name
	}
	switch {
	case c.Error != "":
		return who + ": " + c.Error
	case c.Verdict == protocol.VerdictTruncated:
		return who + ": answers are cut short"
	}
	return fmt.Sprintf("%s: answers are errors (status %d)", who, c.Status)
}

func loadingText(model string) string {
	if model == "" {
		return "the model is loading"
	}
	return model + " is loading"
}

// report records what is known of target and tells, or stops telling, the person about it.
func (s *scout) report(target *upstream.Target, reach protocol.Reach, detail string) {
	before := s.board.Get()
	next := describe(target, reach, detail)
	if kind := kindOf(before.found, target); kind != "" && target.Name == target.BaseURL.Host { // it has no name of its own
		next.Name = kind
	}
	if before.upstream != next {
		s.board.Update(func(p parts) parts { p.upstream = next; return p })
		if s.changed != nil {
			s.changed()
		}
	}
	if reach == protocol.ReachOK && !target.Inside() {
		s.memory.Answered(next.BaseURL, time.Now())
	}
	if reach == protocol.ReachOK && strings.HasSuffix(detail, upstream.WrongBase) {
		s.board.notify(protocol.Notice{Cause: causeUpstream, Text: target.Name + " " + detail,
			Hint: "The base URL of most model servers ends in /v1.", Since: time.Now()})
		return
	}
	if reach != protocol.ReachDown {
		s.board.clear(causeUpstream)
		return
	}
	s.board.notify(protocol.Notice{Cause: causeUpstream, Text: detail, Hint: s.wayOut(target, next), Since: time.Now()})
}

// wayOut says what to do about an upstream that does not answer. Nothing switches by itself: whoever tests a bot wants to
// know which model answered.
func (s *scout) wayOut(target *upstream.Target, now protocol.Upstream) string {
	if target.Inside() {
		return "Record what is missing: chatwright-tray --record FOLDER."
	}
	way := "Start your model server, or use the demo model: in the menu, or with --upstream demo."
	if other := s.board.Get().offer(); other != "" {
		way = other
	}
	if at, ok := s.memory.LastAnswered(now.BaseURL); ok {
		way = "It last answered " + at.Local().Format("2 January, 15:04") + ". " + way
	}
	return way
}

func describe(target *upstream.Target, reach protocol.Reach, detail string) protocol.Upstream {
	return protocol.Upstream{Name: target.Name, BaseURL: target.String(), Demo: target.Demo, Reach: reach, Detail: detail}
}
