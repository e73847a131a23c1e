package metrics

import (
	"math"
	"slices"
	"time"

	"chatwright.dev/tray/server/protocol"
)

const (
	// windowLength is how far back quantiles and medians look from the last call.
	windowLength = time.Hour
	// How many samples are kept for them. In a busy hour the window is shorter, and says so.
	totalSamples = 1024
	modelSamples = 256
)

// sums are the running sums of some calls, and samples of the last of them.
type sums struct {
	calls, inFlight int64
	prompt, answer  int64
	verdicts        [len(verdictWords)]int64
	samples         []sample // a ring once it has reached its capacity
	capacity        int
	next            int // where the ring goes on
}

// verdictWords are the verdicts that are counted, each by its place. Words that another program made up are not.
var verdictWords = [...]protocol.Verdict{
	protocol.VerdictComplete, protocol.VerdictNoDone, protocol.VerdictTruncated, protocol.VerdictCancelled,
	protocol.VerdictStreamError, protocol.VerdictUpstreamError, protocol.VerdictLoading, protocol.VerdictUnreachable,
}

func newSums(capacity int) sums { return sums{capacity: capacity} }

// add adds a call, given with what add needs of it.
func (s *sums) add(c *protocol.Call, one *sample) {
	s.calls++
	s.prompt += c.PromptTokens
	s.answer += c.CompletionTokens
	if one.verdict >= 0 {
		s.verdicts[one.verdict]++
	}
	if len(s.samples) < s.capacity {
		s.samples = append(s.samples, *one)
		return
	}
	s.samples[s.next] = *one
	if s.next++; s.next == s.capacity {
		s.next = 0
	}
}

// fold adds the counts of other, but not its samples: they are of a model that nobody looks at.
func (s *sums) fold(other *sums) {
	s.calls += other.calls
	s.prompt += other.prompt
	s.answer += other.answer
	for i, n := range other.verdicts {
		s.verdicts[i] += n
	}
}

// copy returns sums that do not change, with the samples oldest first.
func (s *sums) copy() sums {
	c := *s
	c.samples = slices.Concat(s.samples[s.next:], s.samples[:s.next])
	c.next = 0
	return c
}

// sample is what is kept of a call for quantiles.
type sample struct {
	ended   int64  // Unix time in milliseconds
	latency uint32 // milliseconds, like the next; 49 days are enough
	first   int32  // negative: unknown
	rate    uint32 // hundredths of a token a second; 0: unknown
	verdict int8   // its place in verdictWords; negative: none of them
	failed  bool
	told    bool // its times say how fast the model is
}

func sampleOf(c *protocol.Call, errorType string) sample {
	one := sample{
		ended:   c.Timestamp.UnixMilli() + c.LatencyMs,
		latency: uint32(min(max(c.LatencyMs, 0), math.MaxUint32)),
		first:   -1,
		verdict: -1,
		failed:  Failed(c.Verdict),
		// A refused connection takes no time and a call that the user gave up on takes theirs: neither tells.
		told: errorType == "",
	}
	for i := range verdictWords {
		if c.Verdict == verdictWords[i] {
			one.verdict = int8(i)
			break
		}
	}
	if c.FirstTokenMs != nil {
		one.first = int32(min(max(*c.FirstTokenMs, 0), math.MaxInt32))
	}
	if rate := c.TokensPerSecond * 100; rate > 0 {
		one.rate = uint32(math.Round(min(rate, math.MaxUint32)))
	}
	return one
}

// ends are the verdicts that came, nil when none did, and how many of them were errors.
func (s *sums) ends() (counts map[protocol.Verdict]int64, errors int64) {
	for i, n := range s.verdicts {
		if n == 0 {
			continue
		}
		if counts == nil {
			counts = map[protocol.Verdict]int64{}
		}
		counts[verdictWords[i]] = n
		if Failed(verdictWords[i]) {
			errors += n
		}
	}
	return counts, errors
}

// times are the quantiles of the calls in the window.
type times struct {
	window          *protocol.Window
	p50, p95, p99   *int64
	firstToken      *int64
	tokensPerSecond float64
}

// times computes them from a copy of the sums.
func (s *sums) times() times {
	if len(s.samples) == 0 {
		return times{}
	}
	last := s.samples[len(s.samples)-1].ended
	since, until := last, last
	w := &protocol.Window{}
	var latency, first, rate []int64
	for _, one := range s.samples {
		if one.ended < last-windowLength.Milliseconds() {
			continue
		}
		// The clock of a machine may be set back: then the last call is not the latest.
		since, until = min(since, one.ended), max(until, one.ended)
		w.Calls++
		if one.failed {
			w.Errors++
		}
		if !one.told {
			continue
		}
		latency = append(latency, int64(one.latency))
		if one.first >= 0 {
			first = append(first, int64(one.first))
		}
		if one.rate > 0 {
			rate = append(rate, int64(one.rate))
		}
	}
	w.Since, w.Until = time.UnixMilli(since).UTC(), time.UnixMilli(until).UTC()
	slices.Sort(latency)
	slices.Sort(first)
	slices.Sort(rate)
	t := times{window: w,
		p50: quantile(latency, 50), p95: quantile(latency, 95), p99: quantile(latency, 99), firstToken: quantile(first, 50)}
	if median := quantile(rate, 50); median != nil {
		t.tokensPerSecond = float64(*median) / 100
	}
	return t
}

// quantile is the nearest-rank quantile of sorted values: always one that was measured. Nil when nothing was.
func quantile(sorted []int64, percent int) *int64 {
	if len(sorted) == 0 {
		return nil
	}
	value := sorted[(len(sorted)*percent+99)/100-1]
	return &value
}
