package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// sizes says how much is measured.
type sizes struct {
	rounds, calls int // rounds of that many calls, one after another
	burst         int // calls a round with many callers
	events        int // of an unpaced stream
	warm          int // calls before memory is looked at again
	stream        int // bytes of the stream under which memory may not grow
}

// measure runs everything and prints a table.
func measure(ctx context.Context, s *stage, size sizes, out io.Writer) error {
	b := &bench{ctx: ctx, client: newClient(), table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), size: size,
		paths: []path{s.direct, s.bare, s.twin, s.ours}}
	idle := []float64{resident(s.bare.pid, "VmRSS"), resident(s.ours.pid, "VmRSS")}
	b.row("", "direct", "bare", "bare again", "ours", "ours/bare")
	for _, step := range []func() error{
		func() error { return b.latency("1 KiB", 1<<10) },
		func() error { return b.latency("100 KiB", 100<<10) },
		func() error { return b.streams() },
		func() error { return b.throughput(8) },
		func() error { return b.throughput(64) },
		func() error { return b.memory(idle) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return b.table.Flush()
}

type bench struct {
	ctx    context.Context // of the whole run: this program has no other
	client *http.Client
	table  *tabwriter.Writer
	size   sizes
	paths  []path
	// broken counts the calls of each path that did not get their whole answer: a bare proxy loses some to a fault of
	// its own (the request's body is closed while its connection is still read), and that is part of the picture.
	broken [4]atomic.Int64
}

func (b *bench) row(cells ...string) { _, _ = fmt.Fprintln(b.table, strings.Join(cells, "\t")) }

// figures prints one figure of each path, with ours as a ratio to the bare proxy.
func (b *bench) figures(name, format string, values []float64) {
	cells := []string{name}
	for _, v := range values {
		cells = append(cells, fmt.Sprintf(format, v))
	}
	b.row(append(cells, fmt.Sprintf("%.2f", values[3]/values[1]))...)
}

// each visits the paths in a random order, as often as there are rounds.
func (b *bench) each(rounds int, visit func(i int, p path) error) error {
	for range rounds {
		for _, i := range rand.Perm(len(b.paths)) {
			if err := visit(i, b.paths[i]); err != nil {
				return fmt.Errorf("%s: %w", b.paths[i].name, err)
			}
		}
	}
	return nil
}

const request = `{"model":"bench","messages":[{"role":"user","content":"Hello"}]}`

// tryCalls is how many calls may break, one after another, before a path counts as not working.
const tryCalls = 5

// call makes one call over a path, again where it breaks, and returns how long it took and when its first byte came.
func (b *bench) call(i int, query, body string) (took, first time.Duration, n int64, err error) {
	for range tryCalls {
		if took, first, n, err = b.callOnce(b.paths[i].url+query, body); err == nil || b.ctx.Err() != nil {
			return took, first, n, err
		}
		b.broken[i].Add(1)
	}
	return took, first, n, err
}

func (b *bench) callOnce(url, body string) (took, first time.Duration, n int64, err error) {
	begun := time.Now()
	req, err := http.NewRequestWithContext(b.ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0, 0, 0, fmt.Errorf("status %d", resp.StatusCode)
	}
	reader := bufio.NewReader(resp.Body)
	if _, err := reader.Peek(1); err != nil {
		return 0, 0, 0, err
	}
	first = time.Since(begun)
	n, err = io.Copy(io.Discard, reader)
	return time.Since(begun), first, n, err
}

// latency measures calls one after another: the whole time, and the processor time of the process on the way.
func (b *bench) latency(name string, bytes int) error {
	times := make([][]time.Duration, len(b.paths))
	used := make([]time.Duration, len(b.paths))
	query := "?size=" + strconv.Itoa(bytes)
	err := b.each(b.size.rounds, func(i int, p path) error {
		before := processor(p.pid)
		for range b.size.calls {
			took, _, _, err := b.call(i, query, request)
			if err != nil {
				return err
			}
			times[i] = append(times[i], took)
		}
		used[i] += processor(p.pid) - before
		return nil
	})
	if err != nil {
		return err
	}
	p50, p99, perCall := make([]float64, 4), make([]float64, 4), make([]float64, 4)
	for i := range b.paths {
		p50[i], p99[i] = micros(quantile(times[i], 0.5)), micros(quantile(times[i], 0.99))
		perCall[i] = micros(used[i]) / float64(len(times[i]))
	}
	b.added(name+" p50 µs", p50)
	b.added(name+" p99 µs", p99)
	b.figures(name+" cpu/call µs", "%.0f", perCall)
	return nil
}

// added prints what each proxy adds to the direct call: the ratio is of that, not of the whole.
func (b *bench) added(name string, values []float64) {
	direct := values[0]
	b.row(name, fmt.Sprintf("%.0f", direct), fmt.Sprintf("+%.0f", values[1]-direct), fmt.Sprintf("+%.0f", values[2]-direct),
		fmt.Sprintf("+%.0f", values[3]-direct), fmt.Sprintf("%.2f", (values[3]-direct)/(values[1]-direct)))
}

// streams measures event streams: the first event, the delay of each at a pace, and how many pass without one.
func (b *bench) streams() error {
	first, delay := make([][]time.Duration, 4), make([][]time.Duration, 4)
	speed, perEvent := make([][]time.Duration, 4), make([]float64, 4)
	const paced = 50
	err := b.each(max(b.size.rounds/8, 2), func(i int, p path) error {
		took, one, _, err := b.call(i, "?gap=2ms&events="+strconv.Itoa(paced), request)
		if err != nil {
			return err
		}
		first[i] = append(first[i], one)
		delay[i] = append(delay[i], (took-one)/(paced-1))
		before := processor(p.pid)
		took, _, _, err = b.call(i, "?events="+strconv.Itoa(b.size.events), request)
		perEvent[i] += micros(processor(p.pid)-before) / float64(b.size.events)
		speed[i] = append(speed[i], took)
		return err
	})
	if err != nil {
		return err
	}
	firsts, delays, rates := make([]float64, 4), make([]float64, 4), make([]float64, 4)
	for i := range b.paths {
		firsts[i], delays[i] = micros(quantile(first[i], 0.5)), micros(quantile(delay[i], 0.5))
		rates[i] = float64(b.size.events) / quantile(speed[i], 0.5).Seconds()
		perEvent[i] /= float64(len(first[i]))
	}
	b.added("first event p50 µs", firsts)
	b.figures("gap of events at 2 ms, µs", "%.0f", delays)
	b.figures("events/s unpaced", "%.0f", rates)
	b.figures("cpu/event µs", "%.2f", perEvent)
	return nil
}

// throughput measures calls a second with many callers.
func (b *bench) throughput(callers int) error {
	rates := make([][]float64, 4)
	err := b.each(max(b.size.rounds/8, 2), func(i int, p path) error {
		var wg sync.WaitGroup
		failed := make(chan error, callers)
		begun := time.Now()
		for range callers {
			wg.Go(func() {
				for range b.size.burst / callers {
					if _, _, _, err := b.call(i, "?size=1024", request); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		wg.Wait()
		select {
		case err := <-failed:
			return err
		default:
		}
		rates[i] = append(rates[i], float64(b.size.burst)/time.Since(begun).Seconds())
		return nil
	})
	if err != nil {
		return err
	}
	medians := make([]float64, 4)
	for i := range rates {
		slices.Sort(rates[i])
		medians[i] = rates[i][len(rates[i])/2]
	}
	b.figures(fmt.Sprintf("req/s at %d", callers), "%.0f", medians)
	return nil
}

// memory looks at the resident memory of the two proxies: idle, after many calls, and its peak under a long stream and
// a large body.
func (b *bench) memory(idle []float64) error {
	show := func(name string, values []float64) {
		b.row(name, "", fmt.Sprintf("%.1f", values[0]), "", fmt.Sprintf("%.1f", values[1]), fmt.Sprintf("%.2f", values[1]/values[0]))
	}
	show("RSS idle, MiB", idle)
	after, grownDown, grownUp := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	for at, i := range []int{1, 3} { // the bare proxy, and ours
		p := b.paths[i]
		for range b.size.warm {
			if _, _, _, err := b.call(i, "?size=1024", request); err != nil {
				return err
			}
		}
		after[at] = resident(p.pid, "VmRSS")
		if _, _, n, err := b.call(i, "?stream="+strconv.Itoa(b.size.stream), request); err != nil || n < int64(b.size.stream) {
			return fmt.Errorf("%s: a long stream: %d bytes, %w", p.name, n, err)
		}
		grownDown[at] = resident(p.pid, "VmHWM") - after[at]
		body := `{"model":"bench","messages":[{"role":"user","content":"` + strings.Repeat("a", 20<<20) + `"}]}`
		before := resident(p.pid, "VmHWM")
		if _, _, _, err := b.call(i, "?size=1024", body); err != nil {
			return fmt.Errorf("%s: a large body: %w", p.name, err)
		}
		grownUp[at] = resident(p.pid, "VmHWM") - before
	}
	show("RSS after "+strconv.Itoa(b.size.warm)+" more calls, MiB", after)
	show("peak over that in a "+strconv.Itoa(b.size.stream>>20)+" MiB stream, MiB", grownDown)
	show("peak over that with a 20 MiB body, MiB", grownUp)
	broken := make([]string, 4)
	for i := range b.broken {
		broken[i] = strconv.FormatInt(b.broken[i].Load(), 10)
	}
	b.row(append(append([]string{"broken calls"}, broken...), "")...)
	return nil
}

func quantile(times []time.Duration, q float64) time.Duration {
	slices.Sort(times)
	return times[min(int(q*float64(len(times))), len(times)-1)]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
