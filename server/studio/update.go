package studio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	lockName   = ".lock"
)

// Update installs the newest release unless it is installed already, and returns its copy. Whatever goes wrong, the
// copies that were there still are; the errors are ErrManifest and its neighbours, or ctx's. progress, which may be
// nil, is called often and must return at once.
func (s *Store) Update(ctx context.Context, progress func(Progress)) (Copy, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	c, err := s.update(ctx, progress)
	if s.ownClient {
		s.cfg.HTTPClient.CloseIdleConnections() // the next check is a day away
	}
	if err != nil {
		return Copy{}, fmt.Errorf("updating Studio: %w", err)
	}
	return c, nil
}

func (s *Store) update(ctx context.Context, progress func(Progress)) (Copy, error) {
	progress(Progress{Stage: Checking})
	m, raw, err := s.fetchManifest(ctx)
	if err != nil {
		return Copy{}, err
	}
	if c, done, err := s.decide(m); done || err != nil {
		return c, err
	}
	unlock, err := s.lock(ctx, func() { progress(Progress{Stage: Waiting, Version: m.Version}) })
	if err != nil {
		return Copy{}, err
	}
	defer unlock()
	// The process that held the lock may have installed it.
	if c, done, err := s.decide(m); done || err != nil {
		return c, err
	}
	return s.install(ctx, m, raw, progress)
}

// decide says whether the release is installed already (done), is refused (err), or is to be installed.
func (s *Store) decide(m Manifest) (c Copy, done bool, err error) {
	if m.UIContract != SupportedContract {
		return Copy{}, false, hint.With(
			fmt.Errorf("%w: Studio %s speaks %d, this companion speaks %d", ErrContract, m.Version, m.UIContract, SupportedContract),
			"update Chatwright Tray, then look for Studio updates again")
	}
	copies := s.find()
	for _, c := range copies {
		if !c.Legacy && olderVersion(m.Version, c.Version) && s.intact(c) {
			return Copy{}, false, hint.With(fmt.Errorf("%w: the release is %s, %s is installed", ErrOlder, m.Version, c.Version),
				"to go back all the same, remove the folder "+c.Dir)
		}
	}
	target := filepath.Join(s.cfg.CacheDir, m.Version)
	for _, c := range copies {
		// A legacy copy will do as long as there is no better one; else Current would answer with another than this.
		if c.Dir == target && c.SHA256 == m.SHA256 && c.Legacy == copies[0].Legacy && s.intact(c) {
			return c.Copy, true, nil
		}
	}
	return Copy{}, false, nil
}

// lock keeps other updates of this cache out, in this process and in others. waiting is called once if it has to wait.
func (s *Store) lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(s.cfg.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the Studio cache: %w", err)
	}
	lock := flock.New(filepath.Join(s.cfg.CacheDir, lockName))
	held, err := lock.TryLock()
	if err == nil && !held {
		waiting()
		_, err = lock.TryLockContext(ctx, 50*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the Studio cache: %w", err)
	}
	return func() {
		if err := lock.Unlock(); err != nil {
			s.cfg.Log.Warn("Studio cache stays locked until this process ends", "err", err)
		}
	}, nil
}

// install runs under the lock.
func (s *Store) install(ctx context.Context, m Manifest, raw []byte, progress func(Progress)) (c Copy, err error) {
	work, err := os.MkdirTemp(s.cfg.CacheDir, tempPrefix)
	if err != nil {
		return Copy{}, err
	}
	defer func() {
		if left := os.RemoveAll(work); left != nil {
			s.cfg.Log.Warn("Studio update left a folder behind; the next start removes it", "dir", work, "err", left)
		}
	}()
	archive, err := os.OpenFile(filepath.Join(work, archiveFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Copy{}, err
	}
	defer archive.Close()
	if err := s.download(ctx, m, archive, progress); err != nil {
		return Copy{}, fmt.Errorf("%w: %w", ErrDownload, err)
	}
	if err := s.cfg.step("downloaded"); err != nil {
		return Copy{}, err
	}
	progress(Progress{Stage: Unpacking, Version: m.Version})
	at := time.Now().UTC()
	if err := s.build(ctx, filepath.Join(work, "copy"), archive, m, raw, at); err != nil {
		return Copy{}, err
	}
	dir, err := s.place(work, m)
	if err != nil {
		return Copy{}, fmt.Errorf("putting the new copy in place: %w", err)
	}
	s.cfg.Log.Info("Studio copy installed", "version", m.Version, "dir", dir)
	return Copy{Dir: dir, Version: m.Version, SHA256: m.SHA256, UIContract: m.UIContract, InstalledAt: at}, nil
}

// build makes a finished copy in the folder dir, which must not be there yet.
func (s *Store) build(ctx context.Context, dir string, archive *os.File, m Manifest, raw []byte, at time.Time) error {
	size, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	r, entries, skipped, err := readArchive(archive, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if len(skipped) > 0 {
		s.cfg.Log.Warn("Studio archive holds links or special files; they were left out", "count", len(skipped), "first", skipped[0])
	}
	if err := s.cfg.step("checked"); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // before the rename: Windows renames no open folder
	files, err := (&unpacker{root: root}).unpack(ctx, r, entries, s.cfg.step)
	if err != nil {
		return err
	}
	return describeCopy(root, raw, record{at, m.SHA256, files}, s.cfg.step)
}

// place gives the finished folder work/copy its name. Folders cannot be exchanged in one step everywhere, so a copy that
// has the name already (the same version with another archive) first takes another, under which it is as finished as
// before: at each moment one of the two can be served. What cannot be served goes into work, and with it.
func (s *Store) place(work string, m Manifest) (string, error) {
	target := filepath.Join(s.cfg.CacheDir, m.Version)
	moved := ""
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		moved = filepath.Join(work, "replaced")
		if old, err := readCopy(target); err == nil && old.SHA256 != m.SHA256 && s.intact(old) {
			moved = target + "~" + old.SHA256[:12]
			// The same archive may have been replaced once before.
			if err := os.Rename(moved, filepath.Join(work, "replaced")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if err := os.Rename(target, moved); err != nil {
			return "", hint.With(err, "close the programs that use the folder "+target)
		}
	}
	err := s.cfg.step("moved the old copy")
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

// sweep removes what killed updates left, unless an update is running now.
func (s *Store) sweep() {
	children, err := os.ReadDir(s.cfg.CacheDir)
	if err != nil {
		return // no cache yet; find says so if there is one that cannot be read
	}
	for _, child := range children {
		if !strings.HasPrefix(child.Name(), tempPrefix) {
			continue
		}
		lock := flock.New(filepath.Join(s.cfg.CacheDir, lockName))
		if held, err := lock.TryLock(); err != nil || !held {
			return
		}
		err := os.RemoveAll(filepath.Join(s.cfg.CacheDir, child.Name()))
		if err = errors.Join(err, lock.Unlock()); err != nil {
			s.cfg.Log.Warn("Studio cache holds the leftovers of an update that was killed", "dir", child.Name(), "err", err)
		}
	}
}
