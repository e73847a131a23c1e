package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/wholefile"
)

// fileEnd is the end of the name of a file; what stands before it is the id of its call.
const fileEnd = ".json"

// ours are the names of files that a store writes. Nothing else in the folder is read, counted or removed.
var ours = regexp.MustCompile(`^(call_[0-9a-v]{1,20})\.json$`)

// leftover is what a process that died leaves of a file that it was writing.
var leftover = regexp.MustCompile(`^call_[0-9a-v]{1,20}\.json\.\d+\.tmp$`)

// makeFolder sees to it that there is a folder which is the owner's alone.
func (s *Store) makeFolder() error {
	if s.cfg.Folder == "" {
		return errors.New("there is no folder to keep calls in")
	}
	if err := os.MkdirAll(s.cfg.Folder, 0o700); err != nil {
		return fmt.Errorf("making the folder of captured calls: %w", err)
	}
	info, err := os.Lstat(s.cfg.Folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", s.cfg.Folder)
	}
	if err == nil && info.Mode().Perm() != 0o700 {
		err = os.Chmod(s.cfg.Folder, 0o700)
	}
	if err != nil {
		return fmt.Errorf("looking at the folder of captured calls: %w", err)
	}
	return nil
}

func (s *Store) path(id string) string { return filepath.Join(s.cfg.Folder, id+fileEnd) }

// load looks, once, what earlier runs left. It is called with settling held.
func (s *Store) load() {
	if s.loaded || s.cfg.Folder == "" {
		return
	}
	s.loaded = true
	entries, err := os.ReadDir(s.cfg.Folder) // by name, and so by time
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.cfg.Log.Warn("reading the folder of captured calls", "err", err)
		}
		return
	}
	var gone []string
	for _, entry := range entries {
		if leftover.MatchString(entry.Name()) {
			_ = os.Remove(filepath.Join(s.cfg.Folder, entry.Name()))
			continue
		}
		name := ours.FindStringSubmatch(entry.Name())
		info, err := entry.Info()
		if name == nil || err != nil || !info.Mode().IsRegular() {
			continue
		}
		s.mu.Lock()
		gone = append(gone, s.disk.put(name[1], info.Size(), struct{}{})...)
		s.mu.Unlock()
	}
	if err := s.remove(gone); err != nil {
		s.cfg.Log.Warn("removing captured calls", "err", err)
	}
}

// write writes one call, and removes the oldest that have no room beside it. It is called with settling held.
func (s *Store) write(id string, tape cassette.Tape) error {
	if !ours.MatchString(id + fileEnd) {
		return errors.New("the id of the call is no name of a file")
	}
	data, err := cassette.Marshal(tape)
	if err != nil {
		return err
	}
	if err := wholefile.Write(s.path(id), data, 0o600); err != nil {
		return err
	}
	s.mu.Lock()
	gone := s.disk.put(id, int64(len(data)), struct{}{})
	s.mu.Unlock()
	return s.remove(gone)
}

func (s *Store) read(id string) (cassette.Tape, error) {
	data, err := wholefile.Read(s.path(id), s.cfg.DiskLimit)
	if err != nil {
		return cassette.Tape{}, err
	}
	tape, err := cassette.Parse(data)
	if err != nil {
		return tape, fmt.Errorf("%s: %w", id+fileEnd, err)
	}
	return tape, nil
}

// remove removes files; one that is gone already is as it should be.
func (s *Store) remove(ids []string) error {
	var troubles []string
	for _, id := range ids {
		if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			troubles = append(troubles, err.Error())
		}
	}
	if len(troubles) > 0 {
		return errors.New("removing captured calls: " + strings.Join(troubles, "; "))
	}
	return nil
}
