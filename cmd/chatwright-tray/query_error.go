package main

import (
	"errors"
	"regexp"
	"strings"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
)

// queryError is an answer's detail as an error for a person, or nil where the query ran and all that was expected holds.
// The detail itself is part of the API, with the names of the layers that it came through; --json shows it as it is.
func queryError(answer server.QueryAnswer, noStore error) error {
	switch {
	case answer.Verdict == server.VerdictPass:
		return nil
	case answer.Verdict == server.VerdictUnsupported && answer.Evidence == nil: // nothing was there to ask
		return withCode(exitUnsupported, noStore)
	}
	text, way := plainDetail(answer.Detail), answer.Hint
	if before, meant, ok := strings.Cut(text, ": did you mean "); ok {
		text, way = before, "did you mean "+meant
	}
	failed := strings.HasPrefix(answer.Detail, "datastate: assertion failed: ")
	switch {
	case way != "" || failed:
	case answer.Verdict == server.VerdictUnsupported:
		way = "write the query without it"
	case strings.HasSuffix(text, " is not bound"):
		way = "bind it: --param NAME=VALUE"
	case strings.Contains(text, "cannot be reached"):
		way = "see that the database runs, and that its DSN is right"
	default:
		way = "see how a query is written: chatwright-tray query --help"
	}
	err := errors.New(text)
	if way != "" {
		err = hint.With(err, way)
	}
	if answer.Verdict == server.VerdictUnsupported {
		return withCode(exitUnsupported, err)
	}
	return err
}

// plainDetail leaves out the layers that a detail came through, and counts as people do.
func plainDetail(detail string) string {
	for _, layer := range []string{"datastate: ", "assertion failed: ", "query execution failed: ", "datastate-query: "} {
		detail = strings.TrimPrefix(detail, layer)
	}
	detail = regexp.MustCompile(`\b1 row\(s\)`).ReplaceAllString(detail, "1 row")
	return strings.ReplaceAll(detail, "row(s)", "rows")
}

// What is said where there is no data to ask, here and at the companion.
const waysToData = "--datastate NAME=DSN or --datastate-fixtures FILE"

func noDataHere() error {
	return hint.With(errors.New("no database and no fixtures are named here"), "name them: "+waysToData)
}

func noDataThere() error {
	return hint.With(errors.New("the companion that runs has no database and no fixtures"),
		"name them here, or restart it with them: chatwright-tray restart "+waysToData)
}
