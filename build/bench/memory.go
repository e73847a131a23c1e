package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// memory looks at the resident memory of the two kinds of proxies: idle, after many calls, and its peak under a long
// stream and a large body.
func (b *bench) memory(ctx context.Context) error {
	var idle, after, down, up [2]float64
	for at, i := range []int{bare, ours} {
		p, err := b.stage.fresh(ctx, i)
		if err != nil {
			return err
		}
		idle[at] = resident(p.pid, "VmRSS")
		for range b.size.warm {
			if _, err := b.call(ctx, i, p, "?size=1024", request); err != nil {
				return err
			}
		}
		after[at] = resident(p.pid, "VmRSS")
		if down[at], err = b.peak(ctx, i, "?stream="+strconv.Itoa(b.size.stream), request, int64(b.size.stream)); err != nil {
			return fmt.Errorf("%s: a long stream: %w", p.name, err)
		}
		image := `{"model":"bench","messages":[{"role":"user","content":"` + strings.Repeat("a", 20<<20) + `"}]}`
		if up[at], err = b.peak(ctx, i, "?size=1024", image, 1); err != nil {
			return fmt.Errorf("%s: a large body: %w", p.name, err)
		}
	}
	b.table.pair("RSS idle, MiB", "%.1f", idle[0], idle[1])
	b.table.pair(fmt.Sprintf("RSS after %d calls, MiB", b.size.warm), "%.1f", after[0], after[1])
	b.table.pair(fmt.Sprintf("peak over that in a stream of %d MiB, MiB", b.size.stream>>20), "%.1f", down[0], down[1])
	b.table.pair("peak over that with a body of 20 MiB, MiB", "%.1f", up[0], up[1])
	return nil
}

// warmUp is how many calls a fresh process serves before its memory is the starting point: the first ones load code and
// fill pools.
const warmUp = 200

// peak is how far the peak of resident memory rises by one call to a fresh process. The answer must have that many bytes.
func (b *bench) peak(ctx context.Context, i int, query, body string, bytes int64) (float64, error) {
	p, err := b.warm(ctx, i)
	if err != nil {
		return 0, err
	}
	before := resident(p.pid, "VmHWM")
	t, err := b.call(ctx, i, p, query, body)
	if err == nil && t.bytes < bytes {
		err = fmt.Errorf("the answer has %d bytes of %d", t.bytes, bytes)
	}
	return resident(p.pid, "VmHWM") - before, err
}

func (b *bench) warm(ctx context.Context, i int) (path, error) {
	p, err := b.stage.fresh(ctx, i)
	if err != nil {
		return p, err
	}
	for range warmUp {
		if _, err := b.call(ctx, i, p, "?size=1024", request); err != nil {
			return p, err
		}
	}
	return p, nil
}

// heldOpen measures what a stream costs that has begun and goes on, on processes that keep many of them.
func (b *bench) heldOpen(ctx context.Context) error {
	var each [2]float64
	for at, i := range []int{bare, ours} {
		p, err := b.warm(ctx, i)
		if err != nil {
			return err
		}
		before := resident(p.pid, "VmRSS")
		open, leave := context.WithCancel(ctx)
		err = b.hold(open, p)
		each[at] = (resident(p.pid, "VmRSS") - before) * 1024 / float64(b.size.held)
		leave()
		if err != nil {
			return fmt.Errorf("%s: %d streams at once: %w", p.name, b.size.held, err)
		}
	}
	b.table.pair("KiB a held-open stream", "%.0f", each[0], each[1])
	return nil
}

// hold opens streams, until each has its first event. They end with ctx.
func (b *bench) hold(ctx context.Context, p path) error {
	for range b.size.held {
		resp, err := b.open(ctx, p.url+"?hold=1", request)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = resp.Body.Close() })
		if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}
