package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) callsCommand() *cobra.Command {
	var asJSON, follow bool
	var which selection
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "List the calls that passed through the proxy, oldest first",
		Long: `Lists the calls of the running companion, oldest first. With --since, --until or --model it lists those in
the history, which goes back 90 days (history-days) and can be read while no companion runs too.`,
		Example: `  chatwright-tray calls --follow
  chatwright-tray calls --since 24h --model llama3.2
  chatwright-tray calls export --since 30d -o calls.csv`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if which.isSet() {
				if follow {
					return withCode(exitUsage, hint.With(errors.New("--follow lists calls as they end, and not those of the history"),
						"leave out --follow, or --since, --until and --model"))
				}
				return c.listHistory(cmd.Context(), which, asJSON)
			}
			daemon, err := c.daemon(cmd.Context())
			if err != nil {
				if exitCode(err) == exitNotRunning {
					err = hint.With(err, hint.Of(err)+"; or the history: chatwright-tray calls --since 24h")
				}
				return err
			}
			if follow {
				return c.followCalls(cmd.Context(), daemon, asJSON)
			}
			calls, err := allCalls(cmd.Context(), daemon)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(calls)
			}
			if len(calls) == 0 {
				_, _ = fmt.Fprintln(c.stderr, "No calls yet.")
				return nil
			}
			return c.printCalls(callsHeader(timeOfDay), timeOfDay, calls)
		},
	}
	jsonFlag(cmd, &asJSON)
	which.flags(cmd)
	cmd.AddCommand(c.exportCommand())
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on listing calls as they end; with --json one line each")
	return cmd
}

// callsPage is how many calls are asked for at once.
const callsPage = 1000

// allCalls reads page after page, since the first holds the oldest calls.
func allCalls(ctx context.Context, daemon *client.Client) ([]protocol.Call, error) {
	calls := []protocol.Call{} // in JSON [] and not null
	for next := uint64(0); ; {
		page, err := daemon.Calls(ctx, next, callsPage)
		if err != nil {
			return nil, err
		}
		calls = append(calls, page.Calls...)
		if next = page.Next; len(page.Calls) < callsPage {
			return calls, nil
		}
	}
}

// followCalls lists the calls so far and then each that ends. A status tells that something happened; the calls
// themselves are read from a cursor, so that none is missed. Another daemon counts anew.
func (c *cli) followCalls(ctx context.Context, daemon *client.Client, asJSON bool) error {
	if !asJSON {
		if err := c.printCalls(callsHeader(timeOfDay), timeOfDay, nil); err != nil {
			return err
		}
	}
	var next uint64
	instance := ""
	err := daemon.StatusEvents(ctx, func(s protocol.Status) error {
		if s.InstanceID != instance {
			instance, next = s.InstanceID, 0
		}
		for {
			page, err := daemon.Calls(ctx, next, callsPage)
			if _, answered := errors.AsType[*client.Error](err); err != nil && !answered {
				return nil // it ends; when it is back there is a new status, and the cursor is still good
			}
			if err != nil {
				return err
			}
			if next = page.Next; len(page.Calls) == 0 {
				return nil
			}
			if err := c.printFollowed(page.Calls, asJSON); err != nil {
				return err
			}
		}
	}, c.sayLost)
	return untilInterrupted(ctx, err)
}

func (c *cli) printFollowed(calls []protocol.Call, asJSON bool) error {
	if !asJSON {
		return c.printCalls("", timeOfDay, calls)
	}
	for _, call := range calls {
		if err := c.printJSON(call); err != nil {
			return err
		}
	}
	return nil
}

// The columns of the calls table. The error comes last, since it is as long as its server likes.
const callsFormat = "%-*s  %6s  %-14s  %9s  %9s  %7s  %8s  %-16s  %s"

// How the table shows a time, which is as wide as its layout: those of one run are mostly of one day.
const (
	timeOfDay  = "15:04:05"
	timeAndDay = "2006-01-02 15:04:05"
)

func callsHeader(layout string) string {
	return callsLine(len(layout), "TIME", "STATUS", "VERDICT", "LATENCY", "FIRST", "TOKENS", "TOK/S", "MODEL", "ERROR")
}

func callsLine(cells ...any) string {
	return strings.TrimRight(fmt.Sprintf(callsFormat, cells...), " ") + "\n"
}

func (c *cli) printCalls(header, layout string, calls []protocol.Call) error {
	var b strings.Builder
	b.WriteString(header)
	for _, call := range calls {
		first, tokens, rate := "–", "–", "–"
		if call.FirstTokenMs != nil {
			first = tray.Duration(*call.FirstTokenMs)
		}
		if call.UsageKnown {
			tokens = tray.Number(call.CompletionTokens)
		}
		if call.TokensPerSecond > 0 {
			rate = strings.TrimSuffix(tray.Rate(call.TokensPerSecond), " tok/s") // the heading says it
		}
		b.WriteString(callsLine(len(layout), call.Timestamp.Local().Format(layout), statusText(call.Status),
			orDash(printable(string(call.Verdict))), tray.Duration(call.LatencyMs), first, tokens, rate,
			printable(orDash(call.Model)), printable(call.Error)))
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// statusText is the HTTP status of an answer; a call that got none has none.
func statusText(status int) string {
	if status == 0 {
		return "–"
	}
	return strconv.Itoa(status)
}
