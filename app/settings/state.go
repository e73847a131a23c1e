package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"chatwright.dev/tray/server/wholefile"
)

// State is what the app itself remembers between runs. It is a convenience: losing it loses no work.
type State struct {
	Upstreams map[string]UpstreamMemory `json:"upstreams,omitempty"` // by base URL
	// Upstream is the name of the one that was chosen last; "": the configured one.
	Upstream string `json:"upstream,omitempty"`
}

// UpstreamMemory is what the app remembers of an upstream.
type UpstreamMemory struct {
	LastAnswered time.Time `json:"lastAnswered"`
}

const maxState = 1 << 20

// ReadState reads the state file. A missing one is an empty State. A broken one is renamed, setAside says to what, and
// the State is empty: memory never stops a start. The error says what could not be done; the State is usable even then.
func ReadState(path string) (state State, setAside string, err error) {
	data, err := wholefile.Read(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, "", nil
	}
	if err == nil {
		if err = json.Unmarshal(data, &state); err == nil {
			return state, "", nil
		}
	}
	setAside = path + ".broken"
	if renameErr := os.Rename(path, setAside); renameErr != nil {
		return State{}, "", fmt.Errorf("reading what is remembered: %w", errors.Join(err, renameErr))
	}
	return State{}, setAside, nil
}

// WriteState replaces the state file whole, so that a reader finds the old State or the new.
func WriteState(path string, state State) error {
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("remembering: %w", err)
	}
	return wholefile.Write(path, append(data, '\n'), 0o600)
}
