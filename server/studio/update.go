package studio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"chatwright.dev/tray/server/hint"
)

// Stage is what an update is doing.
type Stage string

// The stages of an update, in order.
const (
	Checking    Stage = "checking"    // asking for the manifest
	Waiting     Stage = "waiting"     // another process is updating this cache
	Downloading Stage = "downloading" // Received counts
	Unpacking   Stage = "unpacking"
)

// Progress is how far an update is.
type Progress struct {
	Stage    Stage
	Version  string // "" while checking
	Received int64  // bytes of the archive
	Total    int64  // 0: the server did not say
}

const (
	tempPrefix = ".tmp-"

	// Two locks, since a download takes minutes and a person who rolls back waits for none. updateLock is held for a
	// whole update; shelfLock for the moments in which copies appear, go, or change their order. Who holds updateLock may
	// wait for shelfLock, never the other way round.
	updateLock = ".lock"
	shelfLock  = ".shelf.lock"
)

// UpdateOptions says how one update is made. Every zero value is useful.
type UpdateOptions struct {
	// Progress is called often and must return at once. Nil: nobody is told.
	Progress func(Progress)
	// IgnoreHold takes a version that was rolled back from as well. False: a hold ends with a newer version only.
	IgnoreHold bool
}

// Update installs the newest release unless it is installed already, or held back by a rollback, and returns the copy
// to serve. Whatever goes wrong, the copies that were there still are; the errors are ErrManifest and its neighbours,
// or ctx's.
func (s *Store) Update(ctx context.Context, opts UpdateOptions) (Copy, error) {
	if opts.Progress == nil {
		opts.Progress = func(Progress) {}
	}
	c, err := s.update(ctx, opts)
	if s.ownClient {
		s.cfg.HTTPClient.CloseIdleConnections() // the next check is a day away
	}
	if err != nil {
		return Copy{}, fmt.Errorf("updating Studio: %w", err)
	}
	return c, nil
}

func (s *Store) update(ctx context.Context, opts UpdateOptions) (Copy, error) {
	opts.Progress(Progress{Stage: Checking})
	m, raw, err := s.fetchManifest(ctx)
	if err != nil {
		return Copy{}, err
	}
	opts.Progress(Progress{Stage: Checking, Version: m.Version})
	if c, done, err := s.decide(m, opts.IgnoreHold); done || err != nil {
		return c, err
	}
	unlock, err := s.lock(ctx, updateLock, func() { opts.Progress(Progress{Stage: Waiting, Version: m.Version}) })
	if err != nil {
		return Copy{}, err
	}
	defer unlock()
	// The process that held the lock may have installed it.
	if c, done, err := s.decide(m, opts.IgnoreHold); done || err != nil {
		return c, err
	}
	return s.install(ctx, m, raw, opts)
}

// decide says whether there is nothing to install (done), the release is refused (err), or is to be installed.
func (s *Store) decide(m Manifest, ignoreHold bool) (c Copy, done bool, err error) {
	if m.UIContract != SupportedContract {
		return Copy{}, false, hint.With(
			fmt.Errorf("%w: Studio %s speaks %d, this companion speaks %d", ErrContract, m.Version, m.UIContract, SupportedContract),
			"update Chatwright Tray, then look for Studio updates again")
	}
	copies, h := s.find()
	if h.active && !ignoreHold && h.keepsOut(m.Version) {
		if c, ok := s.Current(); ok {
			return c, true, nil
		}
	}
	for _, c := range copies {
		if !c.Legacy && OlderVersion(m.Version, c.Version) && s.intact(c) {
			return Copy{}, false, hint.With(fmt.Errorf("%w: the release is %s, %s is installed", ErrOlder, m.Version, c.Version),
				"to go back all the same, remove the folder "+c.Dir)
		}
	}
	if h.active && ignoreHold {
		h = hold{}
		h.order(copies) // as they would be without
	}
	for _, c := range copies {
		if !s.intact(c) {
			continue
		}
		// A copy in the command-line companion's own folder may go at any time.
		if c.Version == m.Version && c.SHA256 == m.SHA256 && filepath.Dir(c.Dir) == filepath.Clean(s.cfg.CacheDir) {
			return c.Copy, true, s.goForward(ignoreHold)
		}
		break // a copy that is not the best would not be the one that is served: it is installed anew
	}
	return Copy{}, false, nil
}

// goForward ends a hold, when the version that was rolled back from is wanted again.
func (s *Store) goForward(ignoreHold bool) error {
	if !ignoreHold {
		return nil
	}
	err := os.Remove(filepath.Join(s.cfg.CacheDir, holdName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// lock keeps other processes, and other callers in this one, out of what name stands for. waiting is called once if it
// has to wait. The system lets go of the lock of a process that dies.
func (s *Store) lock(ctx context.Context, name string, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(s.cfg.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the Studio cache: %w", err)
	}
	lock := flock.New(filepath.Join(s.cfg.CacheDir, name))
	held, err := lock.TryLock()
	if err == nil && !held {
		waiting()
		_, err = lock.TryLockContext(ctx, 50*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the Studio cache: %w", err)
	}
	return s.unlocker(lock), nil
}

// tryLock is lock that does not wait.
func (s *Store) tryLock(name string) (unlock func(), held bool, err error) {
	lock := flock.New(filepath.Join(s.cfg.CacheDir, name))
	held, err = lock.TryLock()
	if err != nil {
		return nil, false, fmt.Errorf("locking the Studio cache: %w", err)
	}
	return s.unlocker(lock), held, nil
}

func (s *Store) unlocker(lock *flock.Flock) func() {
	return func() {
		if err := lock.Unlock(); err != nil {
			s.cfg.Log.Warn("Studio cache stays locked until this process ends", "err", err)
		}
	}
}

// install runs under the lock.
func (s *Store) install(ctx context.Context, m Manifest, raw []byte, opts UpdateOptions) (c Copy, err error) {
	work, err := os.MkdirTemp(s.cfg.CacheDir, tempPrefix)
	if err != nil {
		return Copy{}, err
	}
	defer func() {
		if left := os.RemoveAll(work); left != nil {
			s.cfg.Log.Warn("Studio update left a folder behind; the next start removes it", "dir", work, "err", left)
		}
	}()
	archive, err := s.fetch(ctx, m, opts.Progress)
	if err != nil {
		if !errors.Is(err, errDisk) {
			err = fmt.Errorf("%w: %w", ErrDownload, err)
		}
		return Copy{}, err
	}
	defer func() {
		archive.Close()
		if ctx.Err() == nil { // who cancels now need not download again
			s.dropDownload()
		}
	}()
	if err := s.cfg.step("downloaded"); err != nil {
		return Copy{}, err
	}
	opts.Progress(Progress{Stage: Unpacking, Version: m.Version})
	at := s.nextInstall(time.Now())
	files, err := s.build(ctx, filepath.Join(work, "copy"), archive, record{InstalledAt: at, SHA256: m.SHA256}, raw)
	if errors.Is(err, ErrArchive) {
		err = hint.With(err, "nothing was installed; whoever publishes this release has to mend it")
	}
	if err != nil {
		return Copy{}, err
	}
	dir, err := s.place(ctx, work, m)
	if err != nil {
		return Copy{}, fmt.Errorf("putting the new copy in place: %w", err)
	}
	if err := s.goForward(opts.IgnoreHold); err != nil {
		return Copy{}, err
	}
	s.cfg.Log.Info("Studio copy installed", "version", m.Version, "dir", dir)
	return Copy{Dir: dir, Version: m.Version, SHA256: m.SHA256, UIContract: m.UIContract, InstalledAt: at, Files: files}, nil
}

// nextInstall is the time of an install that happens now. It is after all that happened before, also where the clock
// has gone back since: the order of copies, and the end of a hold, are read from it. The caller holds updateLock.
func (s *Store) nextInstall(now time.Time) time.Time {
	copies, h := s.find()
	at := now.UTC()
	for _, c := range copies {
		if !c.Legacy && !at.After(c.InstalledAt) {
			at = c.InstalledAt.UTC().Add(time.Millisecond)
		}
	}
	if h.active && !at.After(h.RolledBackAt) {
		at = h.RolledBackAt.UTC().Add(time.Millisecond)
	}
	return at
}

// build makes a finished copy in the folder dir, which must not be there yet, and returns its files.
func (s *Store) build(ctx context.Context, dir string, archive *os.File, r record, manifest []byte) ([]File, error) {
	size, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	zipped, entries, skipped, err := readArchive(archive, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if len(skipped) > 0 {
		s.cfg.Log.Warn("Studio archive holds links or special files; they were left out", "count", len(skipped), "first", skipped[0])
	}
	if err := s.cfg.step("checked"); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // before the rename: Windows renames no open folder
	u := newUnpacker(root)
	if r.Files, err = u.unpack(ctx, zipped, entries, s.cfg.step); err != nil {
		return nil, err
	}
	return r.Files, u.finish(ctx, manifest, r, s.cfg.step)
}

// sweep removes what killed updates left, unless an update is running now.
func (s *Store) sweep() {
	children, err := os.ReadDir(s.cfg.CacheDir)
	if err != nil {
		return // no cache yet; find says so if there is one that cannot be read
	}
	if !slices.ContainsFunc(children, func(child fs.DirEntry) bool { return isLeftover(child.Name()) }) {
		return
	}
	for _, name := range []string{updateLock, shelfLock} {
		unlock, held, err := s.tryLock(name)
		if err != nil || !held {
			return
		}
		defer unlock()
	}
	for _, child := range children {
		if !isLeftover(child.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.cfg.CacheDir, child.Name())); err != nil {
			s.cfg.Log.Warn("Studio cache holds the leftovers of an update that was killed", "dir", child.Name(), "err", err)
		}
	}
}

// isLeftover knows the names of work in progress, which nothing but a kill leaves behind: our folders, and the files
// that wholefile writes before it renames them.
func isLeftover(name string) bool {
	return strings.HasPrefix(name, tempPrefix) || strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}
