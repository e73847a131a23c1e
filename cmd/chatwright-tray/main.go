// Command chatwright-tray is the Chatwright companion: a tray program, a daemon and the command line to both.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is the version of this program, as /health and "chatwright-tray version" say it.
const version = "0.1.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c := &cli{args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr}
	code := c.run(ctx, os.Stdin)
	stop()
	os.Exit(code)
}

// run is the whole program with its surroundings passed in; it returns the exit code.
func (c *cli) run(ctx context.Context, stdin io.Reader) int {
	root := c.rootCommand()
	root.SetArgs(c.args)
	root.SetIn(stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = c.unhelped
	}
	if !c.begun {
		err = wrongUsage(cmd, err)
	}
	return c.report(err)
}
