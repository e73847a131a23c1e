// Package release asks, at most once a day, whether there is a newer release of this program. It tells and never
// installs; nothing is sent but the request, which says neither who asks nor which version asks.
package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"chatwright.dev/tray/server/hint"
)

// DefaultURL answers with the newest release, in the shape of GitHub's releases.
const DefaultURL = "https://api.github.com/repos/chatwright/tray/releases/latest"

const (
	period  = 24 * time.Hour
	timeout = 30 * time.Second
	// firstAfter and spread keep a start fast, and the machines of a team from asking all at once.
	firstAfter = time.Minute
	spread     = 10 * time.Minute
	maxAnswer  = 1 << 20
	maxText    = 200
)

// Release is one that can be had.
type Release struct {
	Version string // without a leading v
	URL     string // of the page that has it; http or https
}

// Config configures Watch. All but Client and Log are required.
type Config struct {
	// URL answers with a JSON object: {"version", "url"}, or GitHub's {"tag_name", "html_url"}.
	URL string
	// Current is the version that runs, and Older says whether the first of two versions comes before the second.
	Current string
	Older   func(a, b string) bool
	// LastAsked says when it was asked last, also by an earlier process; Asked remembers that it was now.
	LastAsked func() time.Time
	Asked     func(time.Time)
	// Found is called with a release that is newer than Current.
	Found func(Release)
	// Client asks. Nil: one that honours the proxies of the environment.
	Client *http.Client
	// Log hears why nothing could be learnt, which nobody else is told: it is no trouble of theirs. Nil: nothing is
	// logged.
	Log *slog.Logger
}

// Watch asks once a day until ctx ends, and returns nil. It sleeps on the wall clock, so that a machine that slept does
// not ask a day late.
func Watch(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	wait := max(firstAfter, time.Until(cfg.LastAsked().Add(period))) + rand.N(spread)
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		cfg.Asked(time.Now())
		switch found, err := ask(ctx, cfg); {
		case err != nil:
			cfg.Log.Info("newer release not asked for", "err", err)
		case cfg.Older(cfg.Current, found.Version):
			cfg.Found(found)
		}
		wait = period + rand.N(spread)
	}
}

// CheckURL says what is wrong with a URL to ask.
func CheckURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return hint.With(fmt.Errorf("%q is not the URL of a page", text), "write one such as "+DefaultURL)
	}
	return nil
}

func ask(ctx context.Context, cfg Config) (Release, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.URL, nil)
	if err != nil {
		return Release{}, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "chatwright-tray") // without a version: that is nobody's business
	client := cfg.Client
	if client == nil {
		client = &http.Client{}
	}
	answer, err := client.Do(r)
	if err != nil {
		return Release{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return Release{}, fmt.Errorf("status %d", answer.StatusCode)
	}
	return parse(io.LimitReader(answer.Body, maxAnswer))
}

// parse reads either shape. What is shown to a person, or opened for them, is checked.
func parse(from io.Reader) (Release, error) {
	var both struct {
		Version string `json:"version"`
		URL     string `json:"url"`
		Tag     string `json:"tag_name"`
		Page    string `json:"html_url"`
	}
	if err := json.NewDecoder(from).Decode(&both); err != nil {
		return Release{}, fmt.Errorf("reading the newest release: %w", err)
	}
	found := Release{both.Version, both.URL}
	if both.Tag != "" { // there "url" is for programs
		found = Release{both.Tag, both.Page}
	}
	if len(found.Version) > 1 && found.Version[0] == 'v' {
		found.Version = found.Version[1:]
	}
	switch {
	case found.Version == "" || len(found.Version) > maxText:
		return Release{}, errors.New("reading the newest release: it has no version")
	case CheckURL(found.URL) != nil:
		return Release{}, errors.New("reading the newest release: it has no page")
	}
	return found, nil
}
