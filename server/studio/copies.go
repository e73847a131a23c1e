package studio

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A record is what .copy.json holds.
type record struct {
	InstalledAt time.Time `json:"installedAt"`
	SHA256      string    `json:"sha256"`
	Files       []File    `json:"files"`
}

// A File is what was installed under a name; names use slashes.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// A finished copy, of which it is not known yet whether it is intact.
type finished struct{ Copy }

// Current returns the copy to serve: the newest that is finished, speaks our contract and is as it was installed, each
// file hashed anew. A legacy copy is the last choice. It touches no network.
func (s *Store) Current() (Copy, bool) {
	copies, _ := s.find()
	for _, c := range copies {
		if s.intact(c) {
			return c.Copy, true
		}
	}
	return Copy{}, false
}

// find lists the finished copies, best first, without looking into their files, and the hold that they are under.
func (s *Store) find() ([]finished, hold) {
	own := s.findIn(s.cfg.CacheDir)
	if s.cfg.LegacyDir != "" && filepath.Clean(s.cfg.LegacyDir) != filepath.Clean(s.cfg.CacheDir) {
		for _, c := range s.findIn(s.cfg.LegacyDir) {
			if c.Legacy { // a folder that is only read vouches for nothing
				own = append(own, c)
			}
		}
	}
	h := s.readHold()
	h.active = len(h.From) > 0 && !h.isOver(own)
	h.order(own)
	return own, h
}

// order puts the best copy first. What a person rolled back from is better than nothing, and than what nobody vouches
// for.
func (h hold) order(copies []finished) {
	slices.SortStableFunc(copies, func(a, b finished) int {
		return cmp.Or(
			boolOrder(a.Legacy, b.Legacy),
			boolOrder(h.from(a.Copy), h.from(b.Copy)),
			boolOrder(!h.active || !h.To.is(a.Copy), !h.active || !h.To.is(b.Copy)),
			b.InstalledAt.Compare(a.InstalledAt),
			boolOrder(OlderVersion(a.Version, b.Version), OlderVersion(b.Version, a.Version)),
		)
	})
}

// boolOrder puts false before true.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (s *Store) findIn(dir string) []finished {
	children, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.cfg.Log.Warn("Studio cache cannot be read", "dir", dir, "err", err)
		}
		return nil
	}
	var found []finished
	for _, child := range children {
		if !child.IsDir() || strings.HasPrefix(child.Name(), ".") {
			continue
		}
		c, err := readCopy(filepath.Join(dir, child.Name()))
		switch {
		case errors.Is(err, errUnfinished):
		case err != nil:
			s.cfg.Log.Warn("Studio copy is not usable", "dir", filepath.Join(dir, child.Name()), "err", err)
		default:
			found = append(found, c)
		}
	}
	return found
}

var errUnfinished = errors.New("the copy was never finished")

// readCopy reads what a copy says of itself.
func readCopy(dir string) (finished, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return finished{}, err
	}
	defer root.Close()
	marker, err := readSmall(root, markerName, 1<<10)
	sum := strings.ToLower(strings.TrimSpace(string(marker)))
	if err != nil || !isSHA256(sum) {
		return finished{}, errUnfinished
	}
	version, _, _ := strings.Cut(filepath.Base(dir), "~")
	c := finished{Copy: Copy{Dir: dir, Version: version, SHA256: sum}}
	raw, noManifest := readSmall(root, manifestName, maxManifest)
	recorded, noRecord := readSmall(root, recordName, maxUnpacked)
	if errors.Is(noManifest, fs.ErrNotExist) && errors.Is(noRecord, fs.ErrNotExist) {
		return readLegacy(root, c)
	}
	if err := errors.Join(noManifest, noRecord); err != nil {
		return finished{}, err
	}
	m, err := ParseManifest(raw)
	if err != nil {
		return finished{}, err
	}
	var r record
	if err := json.Unmarshal(recorded, &r); err != nil {
		return finished{}, fmt.Errorf("decoding %s: %w", recordName, err)
	}
	switch {
	case m.Version != version || m.SHA256 != sum || r.SHA256 != sum:
		return finished{}, errors.New("its records do not belong together")
	case m.UIContract != SupportedContract:
		return finished{}, fmt.Errorf("%w: %d", ErrContract, m.UIContract)
	}
	c.UIContract, c.InstalledAt, c.Files = m.UIContract, r.InstalledAt, r.Files
	return c, nil
}

// readLegacy accepts a copy of the command-line companion: a marker, an index.html, and contract 1 by assumption.
func readLegacy(root *os.Root, c finished) (finished, error) {
	index, err := root.Lstat("index.html")
	switch {
	case err != nil || !index.Mode().IsRegular():
		return c, errUnfinished
	case checkVersion(c.Version) != nil:
		return c, errUnfinished
	case SupportedContract != 1:
		return c, ErrContract
	}
	marker, err := root.Stat(markerName)
	if err != nil {
		return c, err
	}
	c.Legacy, c.UIContract, c.InstalledAt = true, 1, marker.ModTime()
	return c, nil
}

func readSmall(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is not a plain file of ours", name)
	}
	return root.ReadFile(name)
}

// intact reports whether a copy's files are those that were installed, and logs what is not.
func (s *Store) intact(c finished) bool {
	if c.Legacy {
		return true
	}
	if err := verify(c); err != nil {
		s.cfg.Log.Warn("Studio copy was changed after it was installed and is not served", "dir", c.Dir, "err", err)
		return false
	}
	return true
}

// verify reads every file again. A file too many is as bad as one that changed: it would be served too. Names that
// start with a dot never are, so what a file manager leaves there does no harm.
func verify(c finished) error {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	known := make(map[string]File, len(c.Files))
	for _, f := range c.Files {
		known[f.Name] = f
	}
	if _, has := known["index.html"]; !has {
		return errors.New("index.html is not recorded")
	}
	buf := make([]byte, 128<<10) // one for all files: this runs at every start
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		wanted, has := known[name]
		switch {
		case !has && strings.HasPrefix(d.Name(), "."):
			return nil
		case !has:
			return fmt.Errorf("%s was not installed", name)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		}
		delete(known, name)
		return verifyFile(root, wanted, buf)
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

func verifyFile(root *os.Root, wanted File, buf []byte) error {
	file, err := root.Open(wanted.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.CopyBuffer(sum, struct{ io.Reader }{file}, buf) // a bare *os.File would bring a buffer of its own
	switch {
	case err != nil:
		return err
	case size != wanted.Size || hex.EncodeToString(sum.Sum(nil)) != wanted.SHA256:
		return fmt.Errorf("%s changed", wanted.Name)
	}
	return nil
}

// finish writes a copy's records; the marker comes last, once all else is on disk.
func (u *unpacker) finish(ctx context.Context, manifest []byte, r record, step func(string) error) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	names := []string{manifestName, recordName}
	for i, content := range [][]byte{manifest, data} {
		if _, err := writeFile(u.root, names[i], bytes.NewReader(content)); err != nil {
			return err
		}
		if err := step("wrote " + names[i]); err != nil {
			return err
		}
	}
	for _, f := range r.Files {
		names = append(names, f.Name)
	}
	if err := u.sync(ctx, names); err != nil {
		return err
	}
	if err := step("synced"); err != nil {
		return err
	}
	if _, err := writeFile(u.root, markerName, strings.NewReader(r.SHA256+"\n")); err != nil {
		return err
	}
	if err := errors.Join(syncFile(u.root, markerName), syncFolder(u.root, ".")); err != nil {
		return err
	}
	return step("wrote " + markerName)
}
