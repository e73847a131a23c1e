package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// uiFolder is a folder that is served. It holds no descriptor: a build tool may replace a folder while it is served,
// and Windows would not let a version that is open be removed.
type uiFolder struct {
	dir    string
	info   protocol.UI
	copied *studio.Copy           // nil: a folder of the user's own
	files  map[string]studio.File // what was installed; nil: nobody kept a record
	others []*uiFolder            // where pages that are open may have come from

	mu       sync.Mutex
	seen     map[string]seenFile    // what files were like when they were last hashed
	policies map[pageKey]pagePolicy // of documents
}

// seenFile is a file whose hash is known for as long as the file looks the same.
type seenFile struct {
	info fs.FileInfo
	etag string
}

// pageKey is a document, as gzip has it or not: the two have ETags of their own.
type pageKey struct {
	name   string
	packed bool
}

type pagePolicy struct{ etag, policy string }

func newUIFolder(dir string, info protocol.UI) *uiFolder {
	return &uiFolder{dir: dir, info: info, seen: map[string]seenFile{}, policies: map[pageKey]pagePolicy{}}
}

func newUICopy(c studio.Copy) *uiFolder {
	f := newUIFolder(c.Dir, protocol.UI{Source: protocol.UICopy, Version: c.Version})
	f.copied = &c
	if c.Legacy {
		return f
	}
	f.files = make(map[string]studio.File, len(c.Files))
	for _, file := range c.Files {
		f.files[file.Name] = file
	}
	return f
}

// uiFile is an opened file with what is known of it.
type uiFile struct {
	*os.File
	folder *uiFolder // that it is from: the one that is served, or another version
	info   fs.FileInfo
	etag   string
	exact  bool // etag is that of the bytes
	packed bool // as gzip has them
	twin   bool // the file is there both ways
}

var (
	errNotServed = errors.New("not a regular file of the folder")
	errDamaged   = errors.New("the copy is not as it was installed")
	errShortage  = errors.New("the system is short of descriptors or memory")
)

// damage is what it means that a file of a copy cannot be opened or read: one that the system has no descriptor for at
// the moment is as it was, and the copy as well.
func damage(err error) error {
	if isShortage(err) {
		return fmt.Errorf("%w: %w", errShortage, err)
	}
	return errDamaged
}

func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// atOnce is up to where reading a file costs less than having the system copy it to the connection.
const atOnce = 8 << 10

// content is what is sent: a small file read into memory, the file itself for the system to copy.
func (f *uiFile) content() io.ReadSeeker {
	if f.info.Size() > atOnce {
		return f.File
	}
	data := make([]byte, f.info.Size())
	if n, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) || n < len(data) {
		return f.File // which fails in its own way
	}
	return bytes.NewReader(data)
}

// openFor opens a file, as gzip has it where that is at hand and accepted.
func (f *uiFolder) openFor(name string, gzip bool) (*uiFile, error) {
	if f.files == nil {
		return f.openUnrecorded(name)
	}
	recorded, ok := f.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	packed, twin := f.files[studio.PackedName(name)]
	if twin && gzip {
		recorded = packed
	}
	file, err := f.openRecorded(recorded)
	if err != nil {
		return nil, err
	}
	file.twin, file.packed = twin, twin && gzip
	return file, nil
}

// openOther looks for a hashed file in the versions that pages may have been loaded from.
func (f *uiFolder) openOther(name string, gzip bool, err error) (*uiFile, error) {
	for _, other := range f.others {
		if file, err := other.openFor(name, gzip); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// openRecorded opens a file of a copy, whose name is from the copy's own record and not from the request. What it holds
// must have the hash that was recorded: that is looked at again whenever the file looks like another one.
func (f *uiFolder) openRecorded(recorded studio.File) (*uiFile, error) {
	path := filepath.Join(f.dir, filepath.FromSlash(recorded.Name))
	// Opening anything but a regular file may wait for ever; a link in its place may lead to one.
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil, damage(err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, damage(err)
	}
	info, err := file.Stat()
	if err != nil || info.Size() != recorded.Size {
		file.Close()
		return nil, damage(err)
	}
	etag, ok := f.known(recorded.Name, info)
	if !ok {
		sum, err := hashFile(file)
		if err != nil || hex.EncodeToString(sum) != recorded.SHA256 {
			file.Close()
			return nil, damage(err)
		}
		etag = f.note(recorded.Name, info, sum)
	}
	return &uiFile{File: file, folder: f, info: info, etag: etag, exact: true}, nil
}

// maxHashed bounds the files of a folder without records that are hashed for their ETag, and documents, which are read
// whole for the hashes of what is inline in them.
const maxHashed = 16 << 20

func (f *uiFolder) openUnrecorded(name string) (*uiFile, error) {
	file, info, err := f.open(name)
	if isShortage(err) {
		err = fmt.Errorf("%w: %w", errShortage, err) // which says nothing of whether there is such a file
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxHashed {
		return &uiFile{File: file, folder: f, info: info, etag: f.fileETag(info)}, nil
	}
	etag, ok := f.known(name, info)
	// A document is small and what matters most: a tool may have replaced it within one tick of the clock.
	if !ok || isDocument(name) {
		sum, err := hashFile(file)
		if err != nil {
			file.Close()
			return nil, err
		}
		etag = f.note(name, info, sum)
	}
	return &uiFile{File: file, folder: f, info: info, etag: etag, exact: isDocument(name)}, nil
}

// known returns the ETag of a file that looks as it did when it was hashed.
func (f *uiFolder) known(name string, info fs.FileInfo) (etag string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, ok := f.seen[name]
	if !ok || !was.info.ModTime().Equal(info.ModTime()) || was.info.Size() != info.Size() || !os.SameFile(was.info, info) {
		return "", false
	}
	return was.etag, true
}

func (f *uiFolder) note(name string, info fs.FileInfo, sum []byte) (etag string) {
	etag = sumETag(sum)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[name] = seenFile{info, etag}
	return etag
}

// hashFile returns the sha256 of a file, and leaves it at its begin.
func hashFile(file *os.File) ([]byte, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return nil, err
	}
	_, err := file.Seek(0, io.SeekStart)
	return sum.Sum(nil), err
}

// sumETag is the ETag of bytes with this sha256, as contentETag has it.
func sumETag(sum []byte) string { return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"` }

// fileETag tells apart files of the same name in different versions even where an archive gave all of them one time.
func (f *uiFolder) fileETag(info fs.FileInfo) string {
	dir := fnv.New64a()
	_, _ = dir.Write([]byte(f.dir)) // a hash takes everything
	return fmt.Sprintf(`"%x-%x-%x"`, dir.Sum64(), info.ModTime().UnixNano(), info.Size())
}

// policyFor computes the policy of a document once for as long as its bytes stay the same.
func (f *uiFolder) policyFor(name string, file *uiFile) (string, error) {
	key := pageKey{name, file.packed}
	f.mu.Lock()
	known, ok := f.policies[key]
	f.mu.Unlock()
	if ok && known.etag == file.etag {
		return known.policy, nil
	}
	plain := file
	if file.packed {
		var err error
		if plain, err = f.openFor(name, false); err != nil {
			return "", err
		}
		defer plain.Close()
	}
	body, err := io.ReadAll(io.LimitReader(plain, maxHashed+1))
	if err == nil && len(body) > maxHashed {
		err = errNotServed
	}
	if err == nil {
		_, err = plain.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", err
	}
	policy := studioPolicy(body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.policies[key] = pagePolicy{file.etag, policy}
	return policy, nil
}

// open opens a regular file of a folder without records. os.Root lets nothing out of the folder; a symlink is not
// followed even within it, so that one cannot give a second name to what is hidden.
func (f *uiFolder) open(name string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	for end := 0; end < len(name); end++ {
		next := strings.IndexByte(name[end:], '/')
		if next < 0 {
			next = len(name) - end
		}
		end += next
		info, err := root.Lstat(name[:end])
		if err != nil {
			return nil, nil, err
		}
		last := end == len(name)
		if last && !info.Mode().IsRegular() || !last && !info.IsDir() {
			return nil, nil, errNotServed
		}
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotServed
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
