package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

const (
	// speedQueue is how many calls wait to be looked at; in a flood of more, calls share the model and say nothing.
	speedQueue = 64
	// maxBaselines is how many models are remembered, the last that were called.
	maxBaselines = 64
	// tellingTokens is how long an answer must be for its rate to say something.
	tellingTokens = 16
	// overlap is the part of a call's time for which it may share the model with others and still count as alone.
	overlap    = 0.1
	spanMemory = 16 // calls that are remembered for that
	// loadedTimeout bounds the question where the model runs.
	loadedTimeout = 300 * time.Millisecond
)

// A speedometer notices when a model answers slower than it usually does, and says so with the reason where it can be
// known. Only calls that had the model for themselves count: those that share it are slow for a reason.
type speedometer struct {
	board    board
	log      *slog.Logger
	selector *upstream.Selector
	inFlight func() int64 // calls now
	slept    func() sleep // the last sleep of the machine
	loaded   func(context.Context, *upstream.Target) ([]upstream.Loaded, error)
	seen     chan seenCall

	// Used by Run alone.
	baselines map[modelAt]*baseline
	recent    []modelAt // those, in the order of their last calls
	spans     []span    // of the last calls
}

func newSpeedometer(b board, log *slog.Logger, selector *upstream.Selector) *speedometer {
	return &speedometer{
		board: b, log: log, selector: selector,
		loaded:    upstream.LoadedModels,
		seen:      make(chan seenCall, speedQueue),
		baselines: map[modelAt]*baseline{},
	}
}

// modelAt is a model of one upstream: the same name may be another elsewhere, and runs on another machine.
type modelAt struct{ upstream, model string }

func (m modelAt) cause() string { return "slow " + m.upstream + " " + m.model }

type seenCall struct {
	protocol.Call
	last bool // no other call was in flight when it ended
}

// span is when a call was going on.
type span struct{ from, to time.Time }

func spanOf(c protocol.Call) span {
	return span{c.Timestamp, c.Timestamp.Add(time.Duration(c.LatencyMs) * time.Millisecond)}
}

// observe is told of each call that ended, on the call's goroutine.
func (s *speedometer) observe(c protocol.Call) {
	select {
	case s.seen <- seenCall{c, s.inFlight() == 0}:
	default:
	}
}

// Run looks at calls until ctx ends.
func (s *speedometer) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-s.seen:
			s.take(ctx, c)
		}
	}
}

func (s *speedometer) take(ctx context.Context, c seenCall) {
	target := s.selector.Load()
	s.leave(target.Name)
	if alone := s.alone(c); !alone || !telling(c.Call) || c.Upstream != target.Name || target.Demo {
		return
	}
	which := modelAt{c.Upstream, c.RequestModel}
	if which.model == "" {
		which.model = c.Model
	}
	b := s.of(which)
	before := b.isSlow()
	usual, _ := b.usual()
	b.add(c.TokensPerSecond, spanOf(c.Call).to)
	switch {
	case !before && b.isSlow():
		s.tell(ctx, target, which, *b, usual)
	case before && !b.isSlow():
		s.board.clear(which.cause())
	}
}

// telling says whether the rate of a call says how fast the model is.
func telling(c protocol.Call) bool {
	whole := c.Verdict == protocol.VerdictComplete || c.Verdict == protocol.VerdictNoDone
	return whole && c.TokensPerSecond > 0 && (!c.UsageKnown || c.CompletionTokens >= tellingTokens)
}

// alone says whether a call had the upstream for itself, among the calls seen so far, and remembers it for the next.
func (s *speedometer) alone(c seenCall) bool {
	own := spanOf(c.Call)
	shared := time.Duration(0)
	for _, other := range s.spans {
		from, to := own.from, own.to
		if other.from.After(from) {
			from = other.from
		}
		if other.to.Before(to) {
			to = other.to
		}
		shared += max(0, to.Sub(from))
	}
	s.spans = append(s.spans, own)
	s.spans = s.spans[max(0, len(s.spans)-spanMemory):]
	return c.last && shared.Seconds() <= overlap*own.to.Sub(own.from).Seconds()
}

// of returns the baseline of a model, and forgets the one that was not called for the longest time if there are too
// many.
func (s *speedometer) of(which modelAt) *baseline {
	b := s.baselines[which]
	if b == nil {
		b = &baseline{}
		s.baselines[which] = b
	}
	for i, old := range s.recent {
		if old == which {
			s.recent = append(s.recent[:i], s.recent[i+1:]...)
			break
		}
	}
	s.recent = append(s.recent, which)
	if len(s.recent) > maxBaselines {
		s.board.clear(s.recent[0].cause())
		delete(s.baselines, s.recent[0])
		s.recent = s.recent[1:]
	}
	return b
}

// leave ends what is said of other upstreams than the one that is used now.
func (s *speedometer) leave(now string) {
	for which, b := range s.baselines {
		if which.upstream != now && b.isSlow() {
			b.slow = 0
			s.board.clear(which.cause())
		}
	}
}

// tell shows that a model has become slow, and why as far as that is known. The reason is in the text: the row in the
// menu has no room for much more, and the way out stands in the console then.
func (s *speedometer) tell(ctx context.Context, target *upstream.Target, which modelAt, b baseline, usual float64) {
	reason, way := "", ""
	if target.Loopback() {
		way = "Look at what else keeps this machine busy."
		reason = s.onCPU(ctx, target, which.model)
	}
	if reason != "" {
		way = "Free memory of the GPU, or choose a smaller model."
	}
	slept := s.slept()
	sinceWake := slept.woke.After(b.lastUsual) && b.firstSlow.After(slept.asleep)
	if sinceWake {
		reason += " since wake"
		if target.Loopback() {
			way = "Restart the model server: some lose the GPU when the machine sleeps."
		}
	}
	text := fmt.Sprintf("%s is slower than usual: %s, usually %s", which.name(), tray.Rate(b.rate),
		strings.TrimSuffix(tray.Rate(usual), " tok/s"))
	if reason != "" {
		text += ", " + strings.TrimSpace(reason)
	}
	s.log.Info("a model is slower than usual", "upstream", which.upstream, "rate", b.rate, "usual", usual, "reason", reason)
	s.board.notify(protocol.Notice{Cause: which.cause(), Text: text, Hint: way, Since: time.Now()})
}

// onCPU says how much of the model does not run on a GPU: "on CPU", "38 % on CPU"; "" when it all does, or when the
// model server does not tell.
func (s *speedometer) onCPU(ctx context.Context, target *upstream.Target, model string) string {
	ctx, cancel := context.WithTimeout(ctx, loadedTimeout)
	defer cancel()
	models, err := s.loaded(ctx, target)
	if err != nil {
		s.log.Debug("where the model runs is not known", "upstream", target.Name, "err", err)
	}
	for _, m := range models {
		switch {
		case !m.Is(model) || m.VRAM >= m.Size:
		case m.VRAM <= 0:
			return "on CPU"
		default:
			return fmt.Sprintf("%d %% on CPU", 100*(m.Size-m.VRAM)/m.Size)
		}
	}
	return ""
}

func (m modelAt) name() string {
	if m.model == "" {
		return "the model"
	}
	return m.model
}
