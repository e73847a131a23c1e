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
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program with its surroundings passed in; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{args: args, stdout: stdout, stderr: stderr}
	root := c.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if !c.begun {
		err = wrongUsage(cmd, err)
	}
	return c.report(err)
}
