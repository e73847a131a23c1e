package studio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"chatwright.dev/tray/server/hint"
)

// place gives the finished folder work/copy its name, {version}. Folders cannot be exchanged in one step everywhere, so
// a copy that has the name already (the same version with another archive) first takes another, under which it is as
// finished as before: at each moment one of the two can be served. One that a process is serving keeps its name, and
// the new one takes the other. What cannot be served goes into work, and with it.
func (s *Store) place(ctx context.Context, work string, m Manifest) (string, error) {
	unlock, err := s.lock(ctx, shelfLock, func() {})
	if err != nil {
		return "", err
	}
	defer unlock()
	target, moved, err := s.makeRoom(work, m)
	if err != nil {
		return "", err
	}
	err = s.cfg.step("made room")
	if err == nil {
		err = os.Rename(filepath.Join(work, "copy"), target)
	}
	if err != nil {
		if moved != "" {
			err = errors.Join(err, os.Rename(moved, target))
		}
		return "", err
	}
	root, err := os.OpenRoot(s.cfg.CacheDir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := syncFolder(root, "."); err != nil {
		return "", err
	}
	return target, s.cfg.step("in place")
}

// makeRoom returns the free name for a release, and what had it and was moved: "" for nothing.
func (s *Store) makeRoom(work string, m Manifest) (target, moved string, err error) {
	target = filepath.Join(s.cfg.CacheDir, m.Version)
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return target, "", nil
	}
	moved = filepath.Join(work, "replaced")
	old, err := readCopy(target)
	if err != nil || old.Legacy || !s.intact(old) {
		// A copy of the command-line companion makes room as well: nothing vouches for it.
		return target, moved, hint.With(os.Rename(target, moved), "close the programs that use the folder "+target)
	}
	free, err := s.unclaimed(m.Version, func() (err error) {
		if moved, err = s.beside(target, old.SHA256, work); err != nil {
			return err
		}
		return hint.With(os.Rename(target, moved), "close the programs that use the folder "+target)
	})
	if err != nil || free {
		return target, moved, err
	}
	target, err = s.beside(target, m.SHA256, work)
	return target, "", err
}

// beside returns the first of {version}~{hash}, {version}~{hash}-2 … that nobody serves from, and frees it: the same
// archive may have been replaced once before.
func (s *Store) beside(base, sum, work string) (string, error) {
	for n := 1; ; n++ {
		name := filepath.Base(base) + "~" + sum[:12]
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		path := filepath.Join(s.cfg.CacheDir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		free, err := s.unclaimed(name, func() error { return os.Rename(path, filepath.Join(work, "displaced")) })
		if err != nil || free {
			return path, err
		}
	}
}
