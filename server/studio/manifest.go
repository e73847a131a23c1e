package studio

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
)

// Manifest describes one release. Its JSON is a contract with Studio's releases.
type Manifest struct {
	Version    string
	SHA256     string // lower case
	UIContract int
}

// The names of a release's files.
const (
	manifestFile = "studio-ui.manifest.json"
	archiveFile  = "studio-ui.zip"
)

// ParseManifest reads a manifest and checks its form, not whether it is one to follow. Members that it does not know
// are left to later releases.
func ParseManifest(data []byte) (Manifest, error) {
	var wire struct {
		Version    string `json:"version"`
		SHA256     string `json:"sha256"`
		UIContract *int   `json:"uiContract"`
	}
	if err := httpx.DecodeJSON(data, &wire, httpx.IgnoreUnknown); err != nil {
		if start := bytes.TrimSpace(data); len(start) > 0 && start[0] == '<' {
			return Manifest{}, errors.New("the answer is a page, not a manifest (does this network want a login?)")
		}
		return Manifest{}, fmt.Errorf("decoding the manifest: %w", err)
	}
	if err := checkVersion(wire.Version); err != nil {
		return Manifest{}, err
	}
	sum := strings.ToLower(wire.SHA256)
	if !isSHA256(sum) {
		return Manifest{}, errors.New("the manifest's sha256 is not 64 hexadecimal digits")
	}
	if wire.UIContract == nil {
		return Manifest{}, errors.New("the manifest has no uiContract")
	}
	return Manifest{wire.Version, sum, *wire.UIContract}, nil
}

func isSHA256(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 64
}

// checkVersion wants a version that is one plain folder name on every system. It starts with a letter or digit, so it
// is none of our dot names; "~" is left out, since it marks a replaced copy.
func checkVersion(version string) error {
	if version == "" {
		return errors.New("the manifest's version is empty")
	}
	plain := !strings.ContainsFunc(version, func(r rune) bool { return !isAlnum(r) && !strings.ContainsRune("._+-", r) })
	if !plain || !isAlnum(rune(version[0])) || len(version) > 100 || checkComponent(version) != nil {
		return fmt.Errorf("the manifest's version %.100q is not a safe folder name", version)
	}
	return nil
}

func isAlnum(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
