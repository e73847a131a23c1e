package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
)

// A selection is which calls of the history are wanted, as the flags say it.
type selection struct{ since, until, model string }

func (s *selection) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.since, "since", "", `from then on: a time ago such as 90m, 24h or 7d, a day, or an RFC 3339 time`)
	cmd.Flags().StringVar(&s.until, "until", "", "until then, written like --since")
	cmd.Flags().StringVar(&s.model, "model", "", "of this model")
}

func (s *selection) isSet() bool { return *s != selection{} }

func (s *selection) query(now time.Time) (protocol.HistoryQuery, error) {
	q := protocol.HistoryQuery{Model: s.model, Limit: 1000}
	for _, bound := range []struct {
		flag, text string
		at         *time.Time
	}{{"--since", s.since, &q.Since}, {"--until", s.until, &q.Until}} {
		if bound.text == "" {
			continue
		}
		at, ok := parseMoment(bound.text, now)
		if !ok {
			return q, withCode(exitUsage, hint.With(fmt.Errorf("%s: %q is not a time", bound.flag, printable(bound.text)),
				"write a time ago (90m, 24h, 7d), a day (2026-11-30) or a moment (2026-11-30T14:00:00Z)"))
		}
		*bound.at = at
	}
	return q, nil
}

// parseMoment reads a time ago, a day, which begins at midnight here, or an RFC 3339 time.
func parseMoment(text string, now time.Time) (time.Time, bool) {
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), ago >= 0
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return now.AddDate(0, 0, -n), err == nil && n >= 0 && n <= 100_000
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day, true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// askHistory answers one page of a query.
type askHistory func(context.Context, protocol.HistoryQuery) (protocol.HistoryPage, error)

// history finds who knows the history: the companion that runs, else the file that the last one left.
func (c *cli) history(ctx context.Context) (ask askHistory, done func(), err error) {
	where, err := c.whereabouts()
	if err != nil {
		return nil, nil, err
	}
	daemon, _, err := running(ctx, where)
	if err == nil {
		return daemon.History, func() {}, nil
	}
	if exitCode(err) != exitNotRunning {
		return nil, nil, err
	}
	reader, openErr := history.Open(ctx, where.History)
	if errors.Is(openErr, fs.ErrNotExist) {
		return nil, nil, notRunning(err)
	}
	if openErr != nil {
		return nil, nil, fmt.Errorf("reading the history: %w", openErr)
	}
	return reader.Calls, func() { _ = reader.Close() }, nil
}

// eachPage calls show with one page after another, so that no history is too long.
func eachPage(ctx context.Context, ask askHistory, q protocol.HistoryQuery, show func([]protocol.Call) error) error {
	for {
		page, err := ask(ctx, q)
		if err != nil {
			return err
		}
		if err := show(page.Calls); err != nil {
			return err
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// selected returns the question that a selection of recorded calls is, and whom to ask; done ends the asking.
func (c *cli) selected(ctx context.Context, which selection) (q protocol.HistoryQuery, ask askHistory, done func(), err error) {
	if q, err = which.query(time.Now()); err != nil {
		return q, nil, nil, err
	}
	ask, done, err = c.history(ctx)
	return q, ask, done, err
}

// listHistory lists recorded calls as "calls" lists those of this run.
func (c *cli) listHistory(ctx context.Context, which selection, asJSON bool) error {
	q, ask, done, err := c.selected(ctx, which)
	if err != nil {
		return err
	}
	defer done()
	if asJSON {
		return c.printHistoryJSON(ctx, ask, q)
	}
	header, none := callsHeader(timeAndDay), true
	err = eachPage(ctx, ask, q, func(calls []protocol.Call) error {
		if len(calls) == 0 {
			return nil
		}
		err := c.printCalls(header, timeAndDay, calls)
		header, none = "", false
		return err
	})
	if err == nil && none {
		_, _ = fmt.Fprintln(c.stderr, printable(noCallsText(q)))
	}
	return err
}

// noCallsText says what was looked for: a bound that was meant otherwise is seen in it.
func noCallsText(q protocol.HistoryQuery) string {
	text := "No calls"
	if q.Model != "" {
		text += " of " + q.Model
	}
	if !q.Since.IsZero() {
		text += " from " + q.Since.Local().Format(timeAndDay)
	}
	if !q.Until.IsZero() {
		text += " until " + q.Until.Local().Format(timeAndDay)
	}
	return text + " in the history."
}

// printHistoryJSON prints one array, as "calls --json" does, without ever holding all of it.
func (c *cli) printHistoryJSON(ctx context.Context, ask askHistory, q protocol.HistoryQuery) error {
	next := "["
	err := eachPage(ctx, ask, q, func(calls []protocol.Call) error {
		for _, call := range calls {
			line, err := jsonLine(call)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(c.stdout, next+strings.TrimSuffix(string(line), "\n")); err != nil {
				return err
			}
			next = ",\n"
		}
		return nil
	})
	if err != nil {
		return err
	}
	if next == "[" {
		next += "]\n"
	} else {
		next = "]\n"
	}
	_, err = io.WriteString(c.stdout, next)
	return err
}
