package instance

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/wholefile"
)

// maxDiscovery is far more than daemon.json ever has.
const maxDiscovery = 64 << 10

// NewInstanceID returns a name for one run of the daemon that no other has and nobody can guess.
func NewInstanceID() string { return strings.ToLower(rand.Text()) }

// WriteDiscovery replaces daemon.json whole, mode 0600. It is written once all listeners are ready: whoever reads it
// may connect.
func WriteDiscovery(path string, d protocol.Discovery) error {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("writing daemon.json: %w", err)
	}
	return wholefile.Write(path, append(data, '\n'), 0o600)
}

// ReadDiscovery reads daemon.json. A missing file satisfies errors.Is(err, fs.ErrNotExist). One without an instance or
// a socket is an error, since nothing can be asked of it.
func ReadDiscovery(path string) (protocol.Discovery, error) {
	data, err := wholefile.Read(path, maxDiscovery)
	if err != nil {
		return protocol.Discovery{}, fmt.Errorf("reading daemon.json: %w", err)
	}
	var d protocol.Discovery
	if err := json.Unmarshal(data, &d); err != nil {
		return protocol.Discovery{}, fmt.Errorf("reading daemon.json: %w", err)
	}
	if d.InstanceID == "" || d.Socket == "" {
		return protocol.Discovery{}, errors.New("reading daemon.json: it names no instance or no socket")
	}
	return d, nil
}

// RemoveDiscovery removes daemon.json if it still is that of instanceID. The caller holds the lock of the instance, so
// that nobody writes it meanwhile. A missing file is no error.
func RemoveDiscovery(path, instanceID string) error {
	d, err := ReadDiscovery(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if d.InstanceID != instanceID {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing daemon.json: %w", err)
	}
	return nil
}
