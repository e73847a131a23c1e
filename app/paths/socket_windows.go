package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"chatwright.dev/tray/server/hint"
)

const pipePrefix = `\\.\pipe\`

// withRuntime names the pipe after the folder that a socket would lie in: pipes have no folders, and each user and
// each state folder needs its own.
func (p Paths) withRuntime(folder string) Paths {
	sum := sha256.Sum256([]byte(strings.ToLower(folder)))
	p.Runtime, p.Socket = "", pipePrefix+"chatwright-"+hex.EncodeToString(sum[:8])
	return p
}

func (p Paths) withSocket(path string) (Paths, error) {
	if !strings.HasPrefix(strings.ToLower(path), pipePrefix) {
		return p, hint.With(fmt.Errorf("%q is not the name of a pipe", path), `give one such as \\.\pipe\chatwright`)
	}
	p.Runtime, p.Socket = "", path
	return p, nil
}

func isOurFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
