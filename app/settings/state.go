package settings

import (
	"errors"
	"time"
)

// State is what the app itself remembers between runs. It is a convenience: losing it loses no work.
type State struct {
	Upstreams map[string]UpstreamMemory `json:"upstreams,omitempty"` // by base URL
}

// UpstreamMemory is what the app remembers of an upstream.
type UpstreamMemory struct {
	LastAnswered time.Time `json:"lastAnswered"`
}

// ReadState reads the state file. A missing one is an empty State. A broken one is renamed, setAside says to what, and
// the State is empty: memory never stops a start.
func ReadState(path string) (state State, setAside string, err error) {
	return State{}, "", errors.ErrUnsupported
}

// WriteState replaces the state file whole.
func WriteState(path string, state State) error { return errors.ErrUnsupported }
