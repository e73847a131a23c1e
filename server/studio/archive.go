package studio

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
)

// Bounds of an archive. A release today is about a tenth of each.
const (
	maxEntries   = 20_000
	maxUnpacked  = 256 << 20
	maxFile      = 64 << 20
	maxRatio     = 200
	ratioMatters = 1 << 20 // small files of one letter compress better than any bomb
	maxDepth     = 64
)

// The files in a copy that are ours, not the release's.
const (
	manifestName = ".manifest.json"
	recordName   = ".copy.json"
	markerName   = ".sha256"
	packedDir    = ".gzip"
)

// An entry is a regular file or a folder that will be written.
type entry struct {
	name string // without a last slash
	file *zip.File
	dir  bool
}

// readArchive judges the whole archive before anything is written. Sizes in headers are only taken at their word when
// they are too big; unpacking counts for itself. skipped names symlinks and special files.
func readArchive(file io.ReaderAt, size int64) (r *zip.Reader, entries []entry, skipped []string, err error) {
	if err := countHeaders(io.NewSectionReader(file, 0, size)); err != nil {
		return nil, nil, nil, err
	}
	r, err = zip.NewReader(file, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // insecure paths are named below
		return nil, nil, nil, fmt.Errorf("reading its directory: %w", err)
	}
	if len(r.File) > maxEntries {
		return nil, nil, nil, errTooMany
	}
	names, hasIndex, unpacked := newNameTree(), false, uint64(0)
	for _, f := range r.File {
		special := f.Mode()&fs.ModeType&^fs.ModeDir != 0
		e := entry{name: strings.TrimSuffix(f.Name, "/"), file: f, dir: f.Mode().IsDir()}
		err := names.add(e.name, e.dir && !special)
		if err == nil && !special {
			err = checkHeader(f)
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("the entry %.200q %w", f.Name, err)
		}
		if special {
			skipped = append(skipped, e.name)
			continue
		}
		// No overflow: each size is at most maxFile.
		if unpacked += f.UncompressedSize64; unpacked > maxUnpacked {
			return nil, nil, nil, errTooBig
		}
		hasIndex = hasIndex || e.name == "index.html" && !e.dir
		entries = append(entries, e)
	}
	if !hasIndex {
		return nil, nil, nil, errors.New("it has no index.html at its root")
	}
	return r, entries, skipped, nil
}

var (
	errTooMany = fmt.Errorf("it has more than %d entries", maxEntries)
	errTooBig  = fmt.Errorf("it unpacks to more than %s", httpx.FormatSize(maxUnpacked))
)

func checkHeader(f *zip.File) error {
	switch {
	case f.Flags&1 != 0:
		return errors.New("is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("is packed with method %d, which is not supported", f.Method)
	case f.UncompressedSize64 > maxFile:
		return errFileTooBig
	}
	return nil
}

var errFileTooBig = fmt.Errorf("is over %s", httpx.FormatSize(maxFile))

// countHeaders refuses an archive with too many directory entries before zip.NewReader takes ten times their size in
// memory. It counts signatures, so it may see too many (in a stored zip within the zip) but never too few.
func countHeaders(r io.Reader) error {
	signature := []byte("PK\x01\x02")
	buf := make([]byte, 256<<10)
	kept, count := 0, 0
	for {
		n, err := r.Read(buf[kept:])
		chunk := buf[:kept+n]
		if count += bytes.Count(chunk, signature); count > maxEntries {
			return errTooMany
		}
		kept = copy(buf, chunk[max(0, len(chunk)-len(signature)+1):]) // a signature may be cut in two
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A nameTree holds the names seen so far, folded, so that no two of them meet on a file system that tells less apart
// than this one.
type nameTree struct {
	folding  folding
	root     *nameNode
	implied  int
	reserved map[string]bool
}

type nameNode struct {
	spelled  string
	isFolder bool
	listed   bool // it is an entry of its own, not only the folder of another
	children map[string]*nameNode
}

func newNameTree() *nameTree {
	return &nameTree{
		folding:  newFolding(),
		root:     &nameNode{isFolder: true},
		reserved: map[string]bool{manifestName: true, recordName: true, markerName: true, packedDir: true},
	}
}

// add checks name by itself and against all names before it. The errors continue "the entry NAME …".
func (t *nameTree) add(name string, isFolder bool) error {
	if err := checkName(name); err != nil {
		return err
	}
	parts := strings.Split(name, "/")
	if len(parts) > maxDepth {
		return fmt.Errorf("is over %d folders deep", maxDepth)
	}
	node := t.root
	for i, part := range parts {
		last := i == len(parts)-1
		folded := t.folding.fold(part)
		if i == 0 && t.reserved[folded] {
			return errors.New("has a name that is kept for the copy's own records")
		}
		child, seen := node.children[folded]
		if !seen {
			if child = node.put(folded, part, !last || isFolder); !last {
				if t.implied++; t.implied > maxEntries {
					return errTooMany
				}
			}
		}
		switch {
		case seen && child.spelled != part:
			return fmt.Errorf("is %q on a system that does not tell cases or forms apart", child.spelled)
		case seen && child.isFolder != (!last || isFolder):
			return errors.New("is a file where another entry needs a folder, or the other way round")
		case last && child.listed:
			return errors.New("is there twice")
		}
		child.listed = child.listed || last
		node = child
	}
	return nil
}

func (n *nameNode) put(folded, spelled string, isFolder bool) *nameNode {
	child := &nameNode{spelled: spelled, isFolder: isFolder}
	if n.children == nil {
		n.children = map[string]*nameNode{}
	}
	n.children[folded] = child
	return child
}
