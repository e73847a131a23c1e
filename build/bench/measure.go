package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// sizes says how much is measured.
type sizes struct {
	rounds, calls int // rounds of that many calls on each path, one after another
	bursts, burst int // rounds of that many calls with many callers; also the rounds of streams
	events        int // of an unpaced stream
	warm          int // calls before memory is looked at again
	stream        int // bytes of the stream under which memory may not grow
	held          int // streams that are open at once
}

// measure runs what only names, or everything, and prints a table.
func measure(ctx context.Context, s *stage, size sizes, only string, out io.Writer) error {
	b := &bench{client: newClient(), table: newTable(out), size: size, stage: s}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"1k", func(ctx context.Context) error { return b.latency(ctx, "1 KiB", 1<<10) }},
		{"100k", func(ctx context.Context) error { return b.latency(ctx, "100 KiB", 100<<10) }},
		{"first", b.firstEvent},
		{"paced", b.pacedEvents},
		{"unpaced", b.unpacedEvents},
		{"rate", func(ctx context.Context) error { return errors.Join(b.throughput(ctx, 8), b.throughput(ctx, 64)) }},
		{"memory", b.memory},
		{"held", b.heldOpen},
	} {
		if only != "" && only != step.name {
			continue
		}
		if err := step.run(ctx); err != nil {
			return err
		}
	}
	cells := []string{"broken calls"}
	for i := range b.broken {
		cells = append(cells, strconv.FormatInt(b.broken[i].Load(), 10))
	}
	b.table.cells(cells...)
	return b.table.w.Flush()
}

type bench struct {
	client *http.Client
	table  *table
	size   sizes
	stage  *stage
	broken [pathCount]atomic.Int64
}

// each visits the paths in a random order, as often as there are rounds.
func (b *bench) each(rounds int, visit func(i int, p path) error) error {
	for range rounds {
		for _, i := range rand.Perm(pathCount) {
			p := b.stage.paths[i]
			if err := visit(i, p); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

const request = `{"model":"bench","messages":[{"role":"user","content":"Hello"}]}`

// tryCalls is how many calls may break, one after another, before a path counts as not working.
const tryCalls = 5

// timing is how one call went.
type timing struct {
	took, first time.Duration // until its end, and until its first byte
	bytes       int64
}

// call makes one call over path i, again where it breaks.
func (b *bench) call(ctx context.Context, i int, p path, query, body string) (t timing, err error) {
	for range tryCalls {
		if t, err = b.callOnce(ctx, p.url+query, body); err == nil || ctx.Err() != nil {
			return t, err
		}
		b.broken[i].Add(1)
	}
	return t, err
}

func (b *bench) callOnce(ctx context.Context, url, body string) (t timing, err error) {
	begun := time.Now()
	resp, err := b.open(ctx, url, body)
	if err != nil {
		return t, err
	}
	defer func() { _ = resp.Body.Close() }()
	reader := bufio.NewReader(resp.Body)
	if _, err := reader.Peek(1); err != nil {
		return t, err
	}
	t.first = time.Since(begun)
	t.bytes, err = io.Copy(io.Discard, reader)
	t.took = time.Since(begun)
	return t, err
}

// open makes a call and leaves its answer to be read.
func (b *bench) open(ctx context.Context, url, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp, nil
}

// latency measures calls one after another: the whole time, and the processor time of the process on the way.
func (b *bench) latency(ctx context.Context, name string, bytes int) error {
	var times [pathCount][]time.Duration
	var used [pathCount]time.Duration
	query := "?size=" + strconv.Itoa(bytes)
	err := b.each(b.size.rounds, func(i int, p path) error {
		before := processor(p.pid)
		for range b.size.calls {
			t, err := b.call(ctx, i, p, query, request)
			if err != nil {
				return err
			}
			times[i] = append(times[i], t.took)
		}
		used[i] += processor(p.pid) - before
		return nil
	})
	if err != nil {
		return err
	}
	var p50, p99, perCall figures
	for i := range times {
		p50[i], p99[i] = quantile(times[i], 0.5), quantile(times[i], 0.99)
		perCall[i] = micros(used[i]) / float64(len(times[i]))
	}
	b.table.added(name+": p50, µs", p50)
	b.table.added(name+": p99, µs", p99)
	b.table.whole(name+": cpu/call, µs", "%.0f", perCall)
	return nil
}

func (b *bench) firstEvent(ctx context.Context) error {
	var first [pathCount][]time.Duration
	err := b.each(b.size.rounds, func(i int, p path) error {
		t, err := b.call(ctx, i, p, "?gap=1ms&events=2", request)
		first[i] = append(first[i], t.first)
		return err
	})
	if err != nil {
		return err
	}
	var p50 figures
	for i := range first {
		p50[i] = quantile(first[i], 0.5)
	}
	b.table.added("first event: p50, µs", p50)
	return nil
}

func (b *bench) pacedEvents(ctx context.Context) error {
	const events = 100
	var delay [pathCount][]time.Duration
	var costs [pathCount][]float64
	err := b.each(b.size.bursts, func(i int, p path) error {
		before := processor(p.pid)
		t, err := b.call(ctx, i, p, "?gap=2ms&events="+strconv.Itoa(events), request)
		costs[i] = append(costs[i], micros(processor(p.pid)-before)/events)
		delay[i] = append(delay[i], (t.took-t.first)/(events-1))
		return err
	})
	if err != nil {
		return err
	}
	var gap, cost figures
	for i := range delay {
		gap[i], cost[i] = quantile(delay[i], 0.5), median(costs[i])
	}
	b.table.whole("gap of events at 2 ms, µs", "%.0f", gap)
	b.table.whole("cpu/event at 2 ms, µs", "%.1f", cost)
	return nil
}

func (b *bench) unpacedEvents(ctx context.Context) error {
	var rates, costs [pathCount][]float64
	err := b.each(b.size.bursts, func(i int, p path) error {
		before := processor(p.pid)
		t, err := b.call(ctx, i, p, "?events="+strconv.Itoa(b.size.events), request)
		costs[i] = append(costs[i], micros(processor(p.pid)-before)/float64(b.size.events))
		rates[i] = append(rates[i], float64(b.size.events)/t.took.Seconds())
		return err
	})
	if err != nil {
		return err
	}
	var rate, cost figures
	for i := range rates {
		rate[i], cost[i] = median(rates[i]), median(costs[i])
	}
	b.table.whole("events/s unpaced", "%.0f", rate)
	b.table.whole("cpu/event unpaced, µs", "%.2f", cost)
	return nil
}

// throughput measures calls a second with many callers.
func (b *bench) throughput(ctx context.Context, callers int) error {
	var rates [pathCount][]float64
	err := b.each(b.size.bursts, func(i int, p path) error {
		var wg sync.WaitGroup
		failed := make(chan error, callers)
		begun := time.Now()
		calls := b.size.burst / callers
		for range callers {
			wg.Go(func() {
				for range calls {
					if _, err := b.call(ctx, i, p, "?size=1024", request); err != nil {
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
		rates[i] = append(rates[i], float64(calls*callers)/time.Since(begun).Seconds())
		return nil
	})
	if err != nil {
		return err
	}
	var rate figures
	for i := range rates {
		rate[i] = median(rates[i])
	}
	b.table.whole(fmt.Sprintf("req/s at %d", callers), "%.0f", rate)
	return nil
}
