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
	// Release is what was learnt of newer releases of this program. Nil: nothing yet.
	Release *ReleaseMemory `json:"release,omitempty"`
	// ToldNoPanel is that the user was told why there is no icon.
	ToldNoPanel bool `json:"toldNoPanel,omitempty"`
}

// ReleaseMemory is what the app remembers of newer releases.
type ReleaseMemory struct {
	Asked   time.Time `json:"asked"`             // when it was asked last
	Version string    `json:"version,omitempty"` // the newest that is known
	URL     string    `json:"url,omitempty"`     // its page
	Told    string    `json:"told,omitempty"`    // the newest that the desktop was told of
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

// PeekState reads the state file and leaves a broken one where it is: it may belong to a companion that runs.
func PeekState(path string) (state State, err error) {
	data, err := wholefile.Read(path, maxState)
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		return State{}, fmt.Errorf("reading what is remembered: %w", err)
	}
	return state, nil
}

// WriteState replaces the state file whole, so that a reader finds the old State or the new.
func WriteState(path string, state State) error {
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("remembering: %w", err)
	}
	return wholefile.Write(path, append(data, '\n'), 0o600)
}
