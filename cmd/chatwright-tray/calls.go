package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) callsCommand() *cobra.Command {
	var asJSON, follow bool
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "List the calls that passed through the proxy, oldest first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := c.daemon(cmd.Context())
			if err != nil {
				return err
			}
			if follow {
				return c.followCalls(cmd.Context(), daemon, asJSON)
			}
			page, err := daemon.Calls(cmd.Context(), 0, 0)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(page.Calls)
			}
			if len(page.Calls) == 0 {
				_, _ = fmt.Fprintln(c.stderr, "No calls yet.")
				return nil
			}
			return c.printCalls(callsHeader(), page.Calls)
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on listing calls as they end; with --json one line each")
	return cmd
}

// followCalls lists the calls so far and then each that ends. A status tells that something happened; the calls
// themselves are read from a cursor, so that none is missed.
func (c *cli) followCalls(ctx context.Context, daemon *client.Client, asJSON bool) error {
	var next uint64
	if !asJSON {
		if err := c.printCalls(callsHeader(), nil); err != nil {
			return err
		}
	}
	err := daemon.StatusEvents(ctx, func(protocol.Status) error {
		for {
			page, err := daemon.Calls(ctx, next, 0)
			if err != nil {
				return err
			}
			if page.Next < next { // another daemon, whose count began anew
				next = 0
				continue
			}
			next = page.Next
			if len(page.Calls) == 0 {
				return nil
			}
			if !asJSON {
				err = c.printCalls("", page.Calls)
			}
			for _, call := range page.Calls {
				if asJSON && err == nil {
					err = c.printJSON(call)
				}
			}
			if err != nil {
				return err
			}
		}
	}, func(error) { c.warn(lostText) })
	return untilInterrupted(ctx, err)
}

// The columns of the calls table. Model comes last but one since it is as long as its server likes.
const callsFormat = "%-8s  %6s  %-14s  %9s  %9s  %7s  %8s  %s\n"

func callsHeader() string {
	return fmt.Sprintf(callsFormat, "TIME", "STATUS", "VERDICT", "LATENCY", "FIRST", "TOKENS", "TOK/S", "MODEL")
}

func (c *cli) printCalls(header string, calls []protocol.Call) error {
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
		model := orDash(call.Model)
		if call.Error != "" {
			model += " · " + call.Error
		}
		fmt.Fprintf(&b, callsFormat, call.Timestamp.Local().Format("15:04:05"), statusText(call.Status),
			orDash(string(call.Verdict)), tray.Duration(call.LatencyMs), first, tokens, rate, printable(model))
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

// printable replaces what a terminal would obey, or what would turn the direction of a line: names and errors come from
// foreign servers.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, text)
}
