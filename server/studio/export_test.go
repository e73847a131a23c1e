package studio

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// What the tests reach into: the steps of an update, the check of one name, and an archive without a download.

// OnStep has f told each step of an update; an error ends the update there.
func (c *Config) OnStep(f func(name string) error) { c.step = f }

// MaxEntries and the others are the bounds of an archive.
const (
	MaxEntries  = maxEntries
	MaxFile     = maxFile
	MaxUnpacked = maxUnpacked
)

// CheckName judges one name of an archive.
func CheckName(name string) error { return checkName(name) }

// OlderVersion orders versions.

// NewClient is the client of a Config without one.
func NewClient() *http.Client { return newClient() }

// Unpack judges an archive and, if it passes, unpacks it into dir. It returns the names that were left out.
func Unpack(ctx context.Context, archive []byte, dir string) (skipped []string, err error) {
	r, entries, skipped, err := readArchive(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	_, err = newUnpacker(root).unpack(ctx, r, entries, func(string) error { return nil })
	return skipped, err
}

// Meter is how progress becomes a state.
func Meter(state *watch.Value[protocol.StudioStatus]) func(Progress) {
	return (&meter{state: state, now: time.Now}).report
}
