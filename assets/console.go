package assets

import (
	"embed"
	"io/fs"
)

// ConsolePolicy is the Content-Security-Policy that every file of the console is served with. The page keeps to it by
// construction: its scripts and styles are files of its own, it sends nothing elsewhere, and nobody can frame it.
const ConsolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed console
var consoleFiles embed.FS

// Console returns the files of the embedded page, index.html at the root. They name one another as "/console/…", since
// the same index.html is served at "/console/" and, without a Studio copy, at "/". Its live data is the event stream at
// "/console/events": "status" events carry protocol.Status, "calls" events carry protocol.CallsPage.
func Console() fs.FS {
	sub, err := fs.Sub(consoleFiles, "console")
	if err != nil {
		panic(err) // only for a path that is not valid, and this one is a constant
	}
	return sub
}
