package server

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/studio"
)

const (
	// DefaultUIBaseURL is where Studio's newest release is.
	DefaultUIBaseURL = studio.DefaultBaseURL
	// SupportedUIContract is the contract between Studio and its server that this companion speaks.
	SupportedUIContract = studio.SupportedContract
)

// OfflineUIOptions says where ResolveOfflineUI looks. Every zero value is useful.
type OfflineUIOptions struct {
	BaseURL    string       // of a release, with or without the last slash; "": DefaultUIBaseURL
	CacheDir   string       // "": DefaultUICacheDir()
	HTTPClient *http.Client // nil: honours the proxies of the environment
	Logger     *log.Logger  // nil: silent

	// LegacyDir holds copies of the command-line companion, a last resort that is only ever read. "": none.
	LegacyDir string
}

// ResolveOfflineUI returns the folder of the newest Studio: the release's, downloaded if it is not there yet, or, when
// the release cannot be had, the newest finished copy. A release that speaks another UI contract is an error even so.
// It may take as long as a download; who must not wait asks a studio.Store for its Current copy and updates later.
func ResolveOfflineUI(ctx context.Context, opts OfflineUIOptions) (dir string, err error) {
	logger := slog.New(slog.DiscardHandler)
	if opts.Logger != nil {
		logger = slog.New(plainHandler(opts.Logger))
	}
	if opts.CacheDir == "" {
		opts.CacheDir = DefaultUICacheDir()
	}
	store, err := studio.Open(studio.Config{
		CacheDir:   opts.CacheDir,
		LegacyDir:  opts.LegacyDir,
		BaseURL:    opts.BaseURL,
		HTTPClient: opts.HTTPClient,
		Log:        logger,
	})
	if err != nil {
		return "", err
	}
	fresh, err := store.Update(ctx, studio.UpdateOptions{})
	switch {
	case err == nil:
		return fresh.Dir, nil
	case ctx.Err() != nil, errors.Is(err, studio.ErrContract):
		return "", err
	}
	if installed, ok := store.Current(); ok {
		logger.Warn("Studio was not updated; the installed copy is served", "version", installed.Version, "err", err)
		return installed.Dir, nil
	}
	if hint.Of(err) == "" {
		err = hint.With(err, "try again, or serve a folder of your own with --ui-dir")
	}
	return "", err
}

// DefaultUICacheDir is where Studio copies are kept: ui in $CHATWRIGHT_HOME, else chatwright/ui in the user's cache
// folder ($XDG_CACHE_HOME). It is "" when the environment names no home.
func DefaultUICacheDir() string {
	if home := os.Getenv("CHATWRIGHT_HOME"); home != "" {
		if dir, err := filepath.Abs(filepath.Join(home, "ui")); err == nil {
			return dir
		}
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) { // a relative one is to be ignored, says its specification
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			home, err := os.UserHomeDir()
			if err != nil {
				return ""
			}
			cache = filepath.Join(home, ".cache")
		}
	}
	return filepath.Join(cache, "chatwright", "ui")
}
