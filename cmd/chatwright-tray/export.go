package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) exportCommand() *cobra.Command {
	var which selection
	var file string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the recorded calls as CSV, for a spreadsheet",
		Long: `Writes the calls in the history as CSV (RFC 4180: a header line, CRLF, quotes where needed), oldest first.
Times are RFC 3339 in UTC, names are those of "calls --json", and what is not known is empty.

A spreadsheet would take a text that begins with = + - @ for a formula. Such texts get an apostrophe in front
where they come from callers and model servers: in model, responseFormat, error and finishReason. Numbers are
never changed. What a terminal would obey is replaced by a dot in every text.`,
		Example: `  chatwright-tray calls export --csv --since 30d -o calls.csv`,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.export(cmd.Context(), which, file) },
	}
	which.flags(cmd)
	cmd.Flags().Bool("csv", true, "as CSV, the only form so far")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write this file, whole or not at all, instead of standard output")
	return cmd
}

func (c *cli) export(ctx context.Context, which selection, file string) error {
	q, ask, done, err := c.selected(ctx, which)
	if err != nil {
		return err
	}
	defer done()
	if file == "" || file == "-" {
		_, err := writeCSV(ctx, c.stdout, ask, q)
		return err
	}
	var calls int64
	err = writeWhole(file, func(w io.Writer) (err error) {
		calls, err = writeCSV(ctx, w, ask, q)
		return err
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(c.stderr, "Wrote %s calls to %s\n", tray.Number(calls), file)
	return nil
}

// csvHeader names the columns as JSON does.
func csvHeader() []string {
	return []string{"timestamp", "model", "status", "verdict", "latencyMs", "firstTokenMs", "tokensPerSecond", "promptTokens",
		"completionTokens", "streamed", "responseFormat", "finishReason", "error", "bytesIn", "bytesOut", "overheadUs", "upstream", "id",
		"requestModel"}
}

func csvRecord(c protocol.Call) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	first, rate, prompt, completion := "", "", "", ""
	if c.FirstTokenMs != nil {
		first = number(*c.FirstTokenMs)
	}
	if c.TokensPerSecond > 0 {
		rate = strconv.FormatFloat(c.TokensPerSecond, 'f', -1, 64)
	}
	if c.UsageKnown {
		prompt, completion = number(c.PromptTokens), number(c.CompletionTokens)
	}
	return []string{c.Timestamp.UTC().Format(time.RFC3339Nano), foreign(c.Model), strconv.Itoa(c.Status), printable(string(c.Verdict)),
		number(c.LatencyMs), first, rate, prompt, completion, strconv.FormatBool(c.Streamed), foreign(c.ResponseFormat),
		foreign(c.FinishReason), foreign(c.Error), number(c.BytesIn), number(c.BytesOut), number(c.OverheadUs), printable(c.Upstream), printable(c.ID),
		foreign(c.RequestModel)}
}

// foreign is text that others wrote, made so that no spreadsheet takes it for a formula. White space in front does not
// keep one from doing so.
func foreign(text string) string {
	text = printable(text)
	if trimmed := strings.TrimLeft(text, " "); trimmed != "" && strings.ContainsRune("=+-@", rune(trimmed[0])) {
		return "'" + text
	}
	return text
}

// writeCSV writes header and records, and returns how many records.
func writeCSV(ctx context.Context, w io.Writer, ask askHistory, q protocol.HistoryQuery) (written int64, err error) {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(csvHeader()); err != nil {
		return 0, err
	}
	err = eachPage(ctx, ask, q, func(calls []protocol.Call) error {
		for _, call := range calls {
			if err := out.Write(csvRecord(call)); err != nil {
				return err
			}
			written++
		}
		return nil
	})
	out.Flush()
	return written, errors.Join(err, out.Error())
}

// writeWhole writes a file that appears whole or not at all. What is there and is no file, such as a pipe, is written
// to as it is.
func writeWhole(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
