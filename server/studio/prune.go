package studio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

// Prune removes all but the copy to serve and one more: finished copies, those of the command-line companion and half
// ones in the cache itself, what killed updates left, a download that was broken off. What another process serves or
// is working on stays, and so does everything that looks like none of ours.
func (s *Store) Prune(ctx context.Context) (protocol.StudioPruned, error) {
	pruned, err := s.prune(ctx, true)
	if err != nil {
		return pruned, fmt.Errorf("pruning the Studio cache: %w", err)
	}
	return pruned, nil
}

// trim is the prune after an update: it only lets go of finished copies of ours that are one too many.
func (s *Store) trim(ctx context.Context) {
	pruned, err := s.prune(ctx, false)
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.Warn("old Studio copies were not removed", "err", err)
	}
	if len(pruned.Removed) > 0 {
		s.cfg.Log.Info("old Studio copies were removed", "names", pruned.Removed)
	}
}

func (s *Store) prune(ctx context.Context, all bool) (pruned protocol.StudioPruned, err error) {
	if _, err := os.Stat(s.cfg.CacheDir); errors.Is(err, fs.ErrNotExist) {
		return pruned, nil // and none is made
	}
	unlock, err := s.lock(ctx, shelfLock, func() {})
	if err != nil {
		return pruned, err
	}
	defer unlock()
	var failed []error
	if all {
		failed = append(failed, s.pruneLeftovers(&pruned))
	}
	kept := s.look()
	for _, child := range s.removable(kept, all) {
		if err := ctx.Err(); err != nil {
			return pruned, errors.Join(append(failed, context.Cause(ctx))...)
		}
		var bytes int64
		free, err := s.unclaimed(child, func() (err error) {
			bytes, err = s.discard(child)
			return err
		})
		switch {
		case err != nil:
			failed = append(failed, err)
		case !free:
			pruned.InUse = append(pruned.InUse, child)
		default:
			pruned.Removed, pruned.Bytes = append(pruned.Removed, child), pruned.Bytes+bytes
		}
	}
	return pruned, errors.Join(failed...)
}

// removable lists the folders in the cache that are ours and not kept.
func (s *Store) removable(kept shelf, all bool) []string {
	children, err := os.ReadDir(s.cfg.CacheDir)
	if err != nil {
		return nil // look has said so
	}
	var names []string
	for _, child := range children {
		dir := filepath.Join(s.cfg.CacheDir, child.Name())
		if !child.IsDir() || slices.ContainsFunc(kept.all(), func(c Copy) bool { return c.Dir == dir }) {
			continue
		}
		c, err := readCopy(dir)
		if err == nil && !c.Legacy || all && s.looksLikeOurs(child.Name()) {
			names = append(names, child.Name())
		}
	}
	return names
}

// looksLikeOurs is careful: a person may have pointed the cache at a folder with other things in it.
func (s *Store) looksLikeOurs(name string) bool {
	version, _, _ := strings.Cut(name, "~")
	if checkVersion(version) != nil {
		return false
	}
	index, err := os.Lstat(filepath.Join(s.cfg.CacheDir, name, "index.html"))
	if err == nil && index.Mode().IsRegular() {
		return true
	}
	marker, err := os.Lstat(filepath.Join(s.cfg.CacheDir, name, markerName))
	return err == nil && marker.Mode().IsRegular()
}

// discard removes a folder or file of the cache under another name, so that a kill half way leaves no half copy that
// says it is finished; the next start removes the rest.
func (s *Store) discard(name string) (bytes int64, err error) {
	bytes = sizeOf(filepath.Join(s.cfg.CacheDir, name))
	work, err := os.MkdirTemp(s.cfg.CacheDir, tempPrefix)
	if err != nil {
		return 0, err
	}
	moved := os.Rename(filepath.Join(s.cfg.CacheDir, name), filepath.Join(work, "removed"))
	if moved == nil {
		moved = s.cfg.step("discarding")
	}
	return bytes, errors.Join(moved, os.RemoveAll(work))
}

// pruneLeftovers removes what no update is working on. One that runs now, here or elsewhere, keeps all of it. The caller
// holds shelfLock.
func (s *Store) pruneLeftovers(pruned *protocol.StudioPruned) error {
	unlock, held, err := s.tryLock(updateLock)
	if err != nil || !held {
		return err
	}
	defer unlock()
	children, err := os.ReadDir(s.cfg.CacheDir)
	if err != nil {
		return err
	}
	for _, child := range children {
		if !isLeftover(child.Name()) && !isPartial(child.Name()) {
			continue
		}
		path := filepath.Join(s.cfg.CacheDir, child.Name())
		bytes := sizeOf(path)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		pruned.Removed, pruned.Bytes = append(pruned.Removed, child.Name()), pruned.Bytes+bytes
	}
	return nil
}

// sizeOf adds up what can be read of a file or folder.
func sizeOf(path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone, or not ours to read: it counts for nothing
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
