package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// causeRecording is the cause of the notice that a call could not be recorded.
const causeRecording = "recording"

// replayWord stands where the base URL of an upstream is shown.
const replayWord = "recordings"

// errReplaying refuses to choose an upstream while every call is answered from recordings.
var errReplaying = hint.With(control.Refuse(protocol.CodeConflict, "calls are answered from recordings, and from nothing else"),
	"start without --replay to use an upstream: chatwright-tray restart --upstream URL")

// newReplay returns the upstream that answers from the recordings of the settings; nil when they name none.
func newReplay(now settings.Settings) (*upstream.Target, error) {
	if now.Replay == "" {
		return nil, nil
	}
	player, err := cassette.NewPlayer(now.Replay, now.ReplaySpeed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", now.Source("replay"), err)
	}
	target := upstream.NewHandler("Replay of "+filepath.Base(now.Replay), replayWord, player)
	target.Verbatim = true
	return target, nil
}

// replaying is the recordings as the one upstream that there is.
func (c *choice) replaying() candidate {
	return candidate{upstream.ConfiguredName, upstream.ConfiguredName, protocol.SourceConfigured, c.replay, ""}
}

// newRecorder returns what every call to an upstream passes through that is recorded; nil when the settings want none.
// What cannot be written costs no call anything, and is said.
func newRecorder(now settings.Settings, b board, log *slog.Logger) (func(*upstream.Target, http.RoundTripper) http.RoundTripper, error) {
	if now.Record == "" {
		return nil, nil
	}
	recorder, err := cassette.NewRecorder(now.Record, log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", now.Source("record"), err)
	}
	recorder.Done = func(err error) {
		if err == nil {
			b.clear(causeRecording)
			return
		}
		b.notify(protocol.Notice{Cause: causeRecording, Text: "A call was not recorded: " + err.Error(), Since: time.Now(),
			Hint: "The call itself was answered. Make room in " + strconv.Quote(now.Record) + ", and repeat it."})
	}
	return func(t *upstream.Target, next http.RoundTripper) http.RoundTripper {
		return recorder.Wrap(t.BaseURL.Path, next)
	}, nil
}

// baseOf is the name of a folder, which tells less of a machine than its path.
func baseOf(folder string) string {
	if folder == "" {
		return ""
	}
	return filepath.Base(folder)
}
