package studio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

// ErrNoPrevious says that a rollback has nothing to go back to.
var ErrNoPrevious = errors.New("there is no version of Studio to go back to")

const holdName = ".hold.json"

// A hold is what .hold.json keeps: the versions that a person rolled back from, until a newer one is installed. The
// file is written whole, and it is the rollback: there is no other step that a kill could leave undone.
type hold struct {
	RolledBackAt time.Time  `json:"rolledBackAt"`
	From         []heldCopy `json:"from"` // the newest rollback first
	To           heldCopy   `json:"to"`

	active bool // nothing newer was installed since
}

type heldCopy struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

func (h heldCopy) is(c Copy) bool { return !c.Legacy && h.Version == c.Version && h.SHA256 == c.SHA256 }

// from reports whether c is a copy that was rolled back from.
func (h hold) from(c Copy) bool {
	return slices.ContainsFunc(h.From, func(f heldCopy) bool { return f.is(c) })
}

// keepsOut reports whether a version is not newer than all that were rolled back from.
func (h hold) keepsOut(version string) bool {
	return slices.ContainsFunc(h.From, func(f heldCopy) bool { return !newerVersion(version, f.Version) })
}

// newerVersion reports whether version comes after old. Of versions that are not semantic every other one does.
func newerVersion(version, old string) bool {
	_, ok := parseSemver(version)
	if _, alike := parseSemver(old); ok && alike {
		return OlderVersion(old, version)
	}
	return version != old
}

// readHold returns the hold that the cache is under; none has no From.
func (s *Store) readHold() hold {
	data, err := wholefile.Read(filepath.Join(s.cfg.CacheDir, holdName), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return hold{}
	}
	var h hold
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil {
		s.cfg.Log.Warn("the record of a rollback of Studio is not readable; the newest copy is served", "err", err)
		return hold{}
	}
	return h
}

// isOver reports whether a copy was installed since that is newer than what was rolled back from.
func (h hold) isOver(copies []finished) bool {
	return slices.ContainsFunc(copies, func(c finished) bool {
		return !c.Legacy && c.InstalledAt.After(h.RolledBackAt) && !h.To.is(c.Copy) && !h.keepsOut(c.Version)
	})
}

// A shelf is what a cache holds at one moment.
type shelf struct {
	current  Copy   // to be served; zero: none
	previous Copy   // what a rollback would serve; zero: nothing to go back to
	others   []Copy // kept besides current: pages that are open may come from there
	held     string // the version that a person rolled back from; "": none
}

// all lists the copies that are kept.
func (s shelf) all() []Copy {
	if s.current.Dir == "" {
		return nil
	}
	return append([]Copy{s.current}, s.others...)
}

// look chooses from the copies on disk. The one to serve has been verified, the others have not.
func (s *Store) look() shelf {
	copies, h := s.find()
	var found shelf
	var rest []finished
	for i, c := range copies {
		if s.intact(c) {
			found.current, rest = c.Copy, copies[i+1:]
			break
		}
	}
	rest = slices.DeleteFunc(rest, func(c finished) bool { return c.Legacy })
	if at := slices.IndexFunc(rest, func(c finished) bool { return !h.from(c.Copy) }); at >= 0 {
		found.previous = rest[at].Copy
		found.others = []Copy{found.previous}
	}
	if h.active {
		found.held = h.From[0].Version
		// The way forward again is worth more than a further one back, and it is what open pages come from.
		if at := slices.IndexFunc(rest, func(c finished) bool { return h.From[0].is(c.Copy) }); at >= 0 {
			found.others = []Copy{rest[at].Copy}
		}
	}
	return found
}

// Rollback makes the version before the present one the one to serve, and returns it. That holds, over restarts, until
// a version is installed that is newer than the present one.
func (s *Store) Rollback(ctx context.Context) (Copy, error) {
	back, err := s.rollback(ctx)
	if err != nil {
		return Copy{}, fmt.Errorf("rolling Studio back: %w", err)
	}
	return back, nil
}

func (s *Store) rollback(ctx context.Context) (Copy, error) {
	nothing := hint.With(ErrNoPrevious, "two versions are kept, so there is one from the second update on")
	if current, ok := s.Current(); !ok || current.Legacy {
		return Copy{}, nothing // without making a cache for it
	}
	unlock, err := s.lock(ctx, shelfLock, func() {})
	if err != nil {
		return Copy{}, err
	}
	defer unlock()
	copies, h := s.find()
	copies = slices.DeleteFunc(copies, func(c finished) bool { return c.Legacy || !s.intact(c) })
	if len(copies) == 0 {
		return Copy{}, nothing
	}
	present, rest := copies[0].Copy, copies[1:]
	at := slices.IndexFunc(rest, func(c finished) bool { return !h.from(c.Copy) })
	if at < 0 && h.active {
		return Copy{}, hint.With(ErrNoPrevious, "this is the version that you went back to already; studio update --ignore-hold goes forward again")
	}
	if at < 0 {
		return Copy{}, nothing
	}
	back := rest[at].Copy
	next := hold{RolledBackAt: time.Now().UTC(), To: heldCopy{back.Version, back.SHA256}}
	next.From = append([]heldCopy{{present.Version, present.SHA256}}, h.From...)
	for _, c := range copies { // a clock that went back must not make an old copy look installed since
		if c.InstalledAt.After(next.RolledBackAt) {
			next.RolledBackAt = c.InstalledAt
		}
	}
	if err := s.cfg.step("rolling back"); err != nil {
		return Copy{}, err
	}
	data, err := json.Marshal(next)
	if err != nil {
		return Copy{}, err
	}
	if err := wholefile.Write(filepath.Join(s.cfg.CacheDir, holdName), data, 0o600); err != nil {
		return Copy{}, err
	}
	s.cfg.Log.Info("Studio was rolled back", "from", present.Version, "to", back.Version)
	return back, s.cfg.step("rolled back")
}
