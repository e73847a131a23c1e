package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/hint"
)

func (c *cli) cassetteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cassette",
		Short: "List, show and check recordings of calls",
		Long: `Recordings of calls, made with --record FOLDER and answered from with --replay FOLDER: one file a call, made to be
read and kept under version control. These commands read files alone and need no companion.`,
		Example: `  chatwright-tray --headless --record cassettes    record what passes
  chatwright-tray --headless --replay cassettes    answer from it, with no model server
  chatwright-tray cassette verify cassettes        check the files, in CI`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.cassetteListCommand(), c.cassetteShowCommand(), c.cassetteVerifyCommand())
	return cmd
}

// readTapes reads a file, or all that a folder holds. What is broken is in the error; the others are returned with it.
func readTapes(path string) ([]cassette.Named, error) {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no %s", path)
		}
		return nil, hint.With(fmt.Errorf("reading recordings: %w", err), "name a folder of recordings, or one of its files")
	}
	if info.IsDir() {
		return cassette.Load(path)
	}
	one, err := cassette.LoadFile(path)
	if err != nil {
		return nil, err
	}
	return []cassette.Named{one}, nil
}

// brokenOnes are the files that an error of readTapes names; false when it is about something else.
func brokenOnes(err error) (broken []*cassette.BrokenError, only bool) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, one := range all {
		b, ok := errors.AsType[*cassette.BrokenError](one)
		if !ok {
			return nil, false
		}
		broken = append(broken, b)
	}
	return broken, true
}

func onePath(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return withCode(exitUsage, hint.With(errors.New("one folder or file is needed, and nothing else"), "write: "+cmd.CommandPath()+" FOLDER"))
}

// tapeSummary is a recording as a list has it.
type tapeSummary struct {
	File      string `json:"file"`
	Hash      string `json:"hash"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Query     string `json:"query,omitempty"`
	Model     string `json:"model"`
	Status    int    `json:"status"`
	Chunks    int    `json:"chunks"`
	Bytes     int    `json:"bytes"`
	TookMs    int64  `json:"tookMs"`
	Truncated bool   `json:"truncated,omitempty"`

	target string // path and query
}

func summaryOf(n cassette.Named) tapeSummary {
	req, a := n.Tape.Request, n.Tape.Answer
	return tapeSummary{
		File: n.Name, Hash: req.Hash, Method: req.Method, Path: req.Path, Query: req.Query, Model: req.Model(), Status: a.Status,
		Chunks: len(a.Chunks), Bytes: len(a.Bytes()), TookMs: a.Duration().Milliseconds(), Truncated: a.Truncated, target: req.Target(),
	}
}

func (c *cli) cassetteListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list FOLDER|FILE", Short: "List recordings: the request, the model, the answer and how long it took", Args: onePath,
		RunE: func(_ *cobra.Command, args []string) error {
			tapes, err := readTapes(args[0])
			if err != nil {
				return err
			}
			list := make([]tapeSummary, 0, len(tapes))
			for _, n := range tapes {
				list = append(list, summaryOf(n))
			}
			if asJSON {
				return c.printJSON(list)
			}
			if len(list) == 0 {
				_, _ = fmt.Fprintln(c.stderr, "No recordings in", printable(args[0])+".")
				return nil
			}
			_, err = io.WriteString(c.stdout, tapeTable(list))
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func tapeTable(list []tapeSummary) string {
	file, model := len("FILE"), len("MODEL")
	for _, s := range list {
		file, model = max(file, len([]rune(printable(s.File)))), max(model, len([]rune(printable(s.Model))))
	}
	var b strings.Builder
	row := func(name, m, status, chunks, took, request string) {
		fmt.Fprintf(&b, "%-*s  %-*s  %-6s  %6s  %9s  %s\n", file, name, model, m, status, chunks, took, request)
	}
	row("FILE", "MODEL", "STATUS", "CHUNKS", "TOOK", "REQUEST")
	for _, s := range list {
		request := s.Method + " " + s.target
		if s.Truncated {
			request += " · broke off"
		}
		row(printable(s.File), orDash(printable(s.Model)), statusText(s.Status), fmt.Sprint(s.Chunks), tray.Duration(s.TookMs), printable(request))
	}
	return b.String()
}

func (c *cli) cassetteShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show FOLDER|FILE", Short: "Show what was asked and what was answered", Args: onePath,
		RunE: func(_ *cobra.Command, args []string) error {
			tapes, err := readTapes(args[0])
			if err != nil {
				return err
			}
			for i, n := range tapes {
				if asJSON {
					err = c.printJSON(n.Tape)
				} else {
					_, err = io.WriteString(c.stdout, strings.Repeat("\n", min(i, 1))+tapeText(n))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// tapeText is a recording for a person: the bodies as they are, and when their pieces came.
func tapeText(n cassette.Named) string {
	req, a := n.Tape.Request, n.Tape.Answer
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s %s\n%s\n\n", printable(n.Name), printable(req.Method), printable(req.Target()), printable(req.Hash))
	body := []byte(req.BodyText)
	switch {
	case req.Body != nil:
		var pretty bytes.Buffer
		if body = req.Body; json.Indent(&pretty, req.Body, "", "  ") == nil {
			body = pretty.Bytes()
		}
	case req.BodyBase64 != nil:
		body = fmt.Appendf(nil, "(%d bytes)", len(req.BodyBase64))
	}
	if text := printableLines(string(body)); text != "" {
		b.WriteString(text + "\n")
	}
	fmt.Fprintf(&b, "── %s", statusText(a.Status))
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		fmt.Fprintf(&b, " · %s: %s", printable(name), printable(a.Headers[name]))
	}
	if a.Encoding != "" {
		b.WriteString(" · it came as " + printable(a.Encoding))
	}
	b.WriteString("\n")
	var at time.Duration
	for _, chunk := range a.Chunks {
		at += time.Duration(chunk.AfterMs) * time.Millisecond
		fmt.Fprintf(&b, "── after %s\n%s", tray.Duration(at.Milliseconds()), printableLines(string(chunk.Bytes())))
	}
	if a.Truncated {
		b.WriteString("── it broke off here\n")
	}
	return b.String()
}

// printableLines is printable for a text of several lines; it ends with a line break where there is any text.
func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			b.WriteString(printable(line) + "\n")
		}
	}
	return b.String()
}

func (c *cli) cassetteVerifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify FOLDER|FILE", Short: "Check that every recording is whole; exit code 1 names those that are not",
		Long: `Checks that every file can be replayed: it is of the version that this program reads, and its hash is that of its
request. A recording that was changed by hand needs its new hash, which the error names.`,
		Args: onePath,
		RunE: func(_ *cobra.Command, args []string) error {
			tapes, err := readTapes(args[0])
			broken, only := brokenOnes(err)
			if err != nil && !only {
				return err
			}
			return c.sayVerified(len(tapes), broken, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// brokenTape is what verify says of a file in JSON.
type brokenTape struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

func (c *cli) sayVerified(whole int, broken []*cassette.BrokenError, asJSON bool) error {
	list := []brokenTape{}
	for _, b := range broken {
		list = append(list, brokenTape{b.Name, b.Err.Error()})
	}
	if asJSON {
		result := struct {
			Whole  int          `json:"whole"`
			Broken []brokenTape `json:"broken"`
		}{whole, list}
		if err := c.printJSON(result); err != nil {
			return err
		}
	} else {
		for _, b := range list {
			_, _ = fmt.Fprintln(c.stdout, printable(b.File+": "+b.Error))
		}
	}
	if len(list) > 0 {
		return hint.With(fmt.Errorf("%s broken, %d whole", tray.Plural(int64(len(list)), "recording"), whole), "record the calls again (chatwright-tray --record FOLDER), or give a file that you have changed the hash that is named")
	}
	_, _ = fmt.Fprintf(c.stderr, "%s, all whole\n", tray.Plural(int64(whole), "recording"))
	return nil
}
