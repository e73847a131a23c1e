// Command bench measures what the companion adds to a call, beside a direct call and a bare httputil.ReverseProxy, all
// in one run:
//
//	go run ./build/bench            # about two minutes; -quick for a first look
//
// The upstream, the bare proxies and the companion run as processes of their own on loopback; the companion is the
// program as it is shipped, with its guard and all metering on. Each round visits the paths in an order of its own,
// since a fixed order favours one of them. A second bare proxy shows how far two that are the same differ in this run:
// a difference within that spread says nothing. Quote ratios and medians; the absolute figures are the machine's.
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
	if err := flags.Parse(args); err != nil {
		return err
	}
	size := sizes{rounds: 40, calls: 100, burst: 2000, events: 20000, warm: 10000, stream: 100 << 20}
	if *quick {
		size = sizes{rounds: 8, calls: 50, burst: 500, events: 4000, warm: 1000, stream: 20 << 20}
	}
	stage, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer stage.end()
	return measure(ctx, stage, size, out)
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
