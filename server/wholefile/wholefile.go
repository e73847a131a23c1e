// Package wholefile reads and replaces small files whole: a reader, or a start after a power cut, finds the old content
// or the new and never half of one. Studio's copies, which must not leave their folder, are written in package studio.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces the file at path with data. Its mode is the given one whatever it was before.
func Write(path string, data []byte, mode os.FileMode) (err error) {
	// The name tells whose leftover it is, should we be killed before the rename.
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("writing %s: %w", filepath.Base(path), err)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	SyncFolder(filepath.Dir(path))
	return nil
}

// SyncFolder makes what was made, renamed or removed in a folder last through a power cut. Not every system can sync a
// folder; without it the old content may come back, whole.
func SyncFolder(folder string) {
	if f, err := os.Open(folder); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// Read reads the file at path, refusing what is not a regular file (a FIFO would never end) and what has more than
// limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, nil
}
