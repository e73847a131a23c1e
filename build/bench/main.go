// Command bench measures what the companion adds to a call, beside a direct call and a bare httputil.ReverseProxy, all
// in one run:
//
//	go run ./build/bench              # about two minutes
//	go run ./build/bench -quick       # a first look
//	go run ./build/bench -only held   # one of 1k 100k first paced unpaced rate memory held
//
// The upstream, the bare proxies and the companion run as processes of their own on loopback; the companion is the
// program as it is shipped, with its guard, its metering and its history on. Each round visits the paths in a random
// order, since a fixed one favours one of them, and makes few calls on each, so that what else the machine does meets
// all of them alike. Memory is measured on processes that have done nothing else.
//
// The columns: the direct call, two bare proxies that are the same, and ours; how far those two differ; and ours as a
// ratio to the mean of the two. A ratio that is no further from 1 than "again/bare" is says nothing. Where the direct
// call is measured too, the other columns and the ratios are of what is added to it, and "–" stands where that is lost
// in the noise. Quote ratios and medians; the absolute figures are the machine's.
//
// The rows:
//
//   - 1 KiB, 100 KiB: JSON answers of that size, one call after another: median and 99th percentile of what is added,
//     and the processor time that the process on the way used for a call.
//   - first event: the time until the first event of a stream is there.
//   - gap of events, cpu/event at 2 ms: the mean time between events that the upstream sends 2 ms apart, and the processor
//     time for each, with a hundredth of that for the call; the median of the rounds.
//   - events/s, cpu/event unpaced: a stream as fast as it goes, each event flushed by the upstream; the median of the
//     rounds. A proxy that is quick enough to find the events one by one pays for each of them, a slower one gets many
//     at once: these two rows jump between two states, and only together they say something.
//   - req/s at 8 and 64: answers of 1 KiB with that many callers; the median of the rounds.
//   - RSS: resident memory, idle and after calls of 1 KiB.
//   - a stream of 100 MiB, a body of 20 MiB: how far the peak of resident memory is above what it was before.
//   - KiB a held-open stream: growth of resident memory by 1,000 streams that have sent one event, for each.
//   - broken calls: those that did not get their whole answer, and were made again. A bare proxy loses some to a fault of
//     its own: it closes the request's body while net/http still reads the connection.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run plays the role that its first argument names, or measures.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 1 && args[0] == roleUpstream {
		return serve(ctx, args[1], upstreamHandler())
	}
	if len(args) > 2 && args[0] == roleBare {
		return serve(ctx, args[1], bareProxy(args[2]))
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "fewer rounds: a first look, not figures to quote")
	only := flags.String("only", "", "measure one of: 1k 100k first paced unpaced rate memory held")
	if err := flags.Parse(args); err != nil {
		return err
	}
	size := sizes{rounds: 200, calls: 20, bursts: 15, burst: 2000, events: 20000, warm: 10000, stream: 100 << 20, held: 1000}
	if *quick {
		size = sizes{rounds: 30, calls: 20, bursts: 4, burst: 500, events: 4000, warm: 1000, stream: 20 << 20, held: 200}
	}
	stage, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer stage.end()
	return measure(ctx, stage, size, *only, out)
}

// serve serves until ctx ends.
func serve(ctx context.Context, addr string, handler http.Handler) error {
	server := &http.Server{Addr: addr, Handler: handler}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}
