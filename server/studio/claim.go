package studio

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
)

// usePrefix makes the name of the file that a process which serves a copy holds a shared lock on: {cache}/.use-1.0.0.
// It is beside the copy and not in it, since Windows neither renames nor removes a folder with an open file.
const usePrefix = ".use-"

// claims are the copies that this process serves, or may yet serve parts of. A claim ends with the process, however
// that ends.
type claims []claim

type claim struct {
	dir  string
	lock *flock.Flock
}

// claim tells other processes not to remove these copies. Where a lock cannot be had (a cache that may only be read)
// nobody prunes either.
func (s *Store) claim(copies []Copy) claims {
	var taken claims
	for _, c := range copies {
		if filepath.Dir(c.Dir) != filepath.Clean(s.cfg.CacheDir) {
			continue // of the command-line companion's, which we never remove
		}
		lock := flock.New(filepath.Join(s.cfg.CacheDir, usePrefix+filepath.Base(c.Dir)))
		if held, err := lock.TryRLock(); err != nil || !held {
			s.cfg.Log.Debug("Studio copy cannot be marked as in use", "dir", c.Dir, "err", err)
			continue
		}
		taken = append(taken, claim{c.Dir, lock})
	}
	return taken
}

func (c claims) release() {
	for _, one := range c {
		_ = one.lock.Close() // what could fail is the close of a file that was never written
	}
}

// cover reports whether the claims are on just these copies.
func (c claims) cover(copies []Copy) bool {
	return slices.EqualFunc(c, copies, func(one claim, copied Copy) bool { return one.dir == copied.Dir })
}

// unclaimed calls remove if no process has a claim on the copy, and keeps new claims away meanwhile.
func (s *Store) unclaimed(name string, remove func() error) (free bool, err error) {
	path := filepath.Join(s.cfg.CacheDir, usePrefix+name)
	lock := flock.New(path)
	if held, err := lock.TryLock(); err != nil || !held {
		return false, err
	}
	defer lock.Close()
	if err := remove(); err != nil {
		return true, err
	}
	// Who opened the file a moment ago gets its lock on a file without a name; claiming again (Keeper.Refresh) finds the
	// copy gone.
	_ = os.Remove(path) // Windows removes no open file: an empty one stays, for the next copy of that name
	return true, nil
}

// Use tells other processes not to remove the copy in dir, which this one serves by itself, until release is called. A
// folder that is no copy of ours needs that from nobody.
func Use(dir string) (release func()) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return func() {}
	}
	if c, err := readCopy(dir); err != nil || c.Legacy {
		return func() {}
	}
	lock := flock.New(filepath.Join(filepath.Dir(dir), usePrefix+filepath.Base(dir)))
	// Where a lock cannot be had nobody prunes either, as with claim.
	_, _ = lock.TryRLock()
	return claims{{dir, lock}}.release
}
