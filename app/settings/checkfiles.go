package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

// CheckFiles says whether the files and folders that the settings name are there, as a start needs them.
func (s Settings) CheckFiles() error {
	if err := checkIs(s.DatastateFixtures, "a file", fs.FileMode.IsRegular); err != nil {
		return blame(s.Source("datastate-fixtures"), err)
	}
	if _, err := s.Holders(); err != nil {
		return err
	}
	if err := checkIs(s.UIDir, "a folder", fs.FileMode.IsDir); err != nil {
		return blame(s.Source("ui-dir"), err)
	}
	if s.UIDir != "" {
		if err := checkIs(filepath.Join(s.UIDir, "index.html"), "a file", fs.FileMode.IsRegular); err != nil {
			return blame(s.Source("ui-dir"), hint.With(err, "name the folder of a Studio build: the one with its index.html"))
		}
	}
	if err := checkIs(s.Replay, "a folder", fs.FileMode.IsDir); err != nil {
		return blame(s.Source("replay"), hint.With(err, "record some calls first: chatwright-tray --record "+s.Replay))
	}
	_, err := s.ReadRemoteToken()
	return err
}

func checkIs(path, what string, is func(fs.FileMode) bool) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return hint.With(err, "check the path")
	}
	if !is(info.Mode()) {
		return hint.With(fmt.Errorf("%s is not %s", path, what), "check the path")
	}
	return nil
}

// ReadRemoteToken reads the token that remote callers must send, without the line end; nil when remote access is off.
// A file that others can read is refused, on systems where modes say so.
func (s Settings) ReadRemoteToken() ([]byte, error) {
	if !s.AllowRemote {
		return nil, nil
	}
	token, err := readToken(s.RemoteTokenFile)
	if err != nil {
		return nil, blame(s.Source("remote-token-file"), err)
	}
	return token, nil
}

func readToken(path string) ([]byte, error) {
	const way = "make one with: (umask 077; openssl rand -hex 32 > token)"
	data, err := wholefile.Read(path, 64<<10)
	if err != nil {
		return nil, hint.With(err, way)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, hint.With(err, way)
	}
	if tooOpen(info.Mode()) {
		return nil, hint.With(fmt.Errorf("%s has mode %04o, want 0600", path, info.Mode().Perm()), "chmod 600 '"+path+"'")
	}
	token := bytes.TrimSpace(data)
	if len(token) < server.MinRemoteToken {
		return nil, hint.With(fmt.Errorf("%s holds a token of less than %d bytes", path, server.MinRemoteToken), way)
	}
	if bytes.ContainsAny(token, " \t\r\n") {
		return nil, hint.With(errors.New(path+" holds more than one word"), way)
	}
	return token, nil
}
