package studio

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// An unpacker writes an archive that readArchive let pass, and counts what really comes out of it.
type unpacker struct {
	root     *os.Root
	total    int64
	consumed byteCounter // compressed bytes of the present file
	folders  map[string]bool
	files    []File
}

func newUnpacker(root *os.Root) *unpacker {
	return &unpacker{root: root, folders: map[string]bool{".": true}}
}

// unpack writes all entries and returns what it wrote, which sync puts on disk. step is told after each file.
func (u *unpacker) unpack(ctx context.Context, r *zip.Reader, entries []entry, step func(string) error) ([]File, error) {
	r.RegisterDecompressor(zip.Deflate, func(compressed io.Reader) io.ReadCloser {
		u.consumed = byteCounter{from: bufio.NewReader(compressed)}
		return flate.NewReader(&u.consumed)
	})
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		folder := e.name
		if !e.dir {
			folder = path.Dir(e.name)
		}
		if err := u.folder(folder); err != nil {
			return nil, err
		}
		if e.dir {
			continue
		}
		if err := u.entry(e, step); err != nil {
			return nil, err
		}
	}
	return u.files, nil
}

// entry writes a file and, where it is worth it, its packed twin.
func (u *unpacker) entry(e entry, step func(string) error) error {
	written, checksum, err := u.file(e)
	if err != nil {
		return fmt.Errorf("unpacking %q: %w", e.name, err)
	}
	u.files = append(u.files, written)
	if err := step("unpacking"); err != nil {
		return err
	}
	twin, made, err := u.pack(e, written, checksum)
	if err != nil {
		return fmt.Errorf("packing %q: %w", e.name, err)
	}
	if made {
		u.files = append(u.files, twin)
		return step("packing")
	}
	return nil
}

// folder makes name and the folders above it, and notes each.
func (u *unpacker) folder(name string) error {
	if u.folders[name] {
		return nil
	}
	if err := u.root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	for ; !u.folders[name]; name = path.Dir(name) {
		u.folders[name] = true
	}
	return nil
}

func (u *unpacker) file(e entry) (written File, checksum uint32, err error) {
	from, err := e.file.Open()
	if err != nil {
		return written, 0, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	defer from.Close()
	sum, crc := sha256.New(), crc32.NewIEEE()
	counted := reading{io.LimitReader(archiveReader{from}, maxFile+1), func(n int) { u.total += int64(n) }}
	bounded := io.LimitReader(counted, maxUnpacked-u.total+1)
	size, err := writeFile(u.root, e.name, io.TeeReader(bounded, io.MultiWriter(sum, crc)))
	switch {
	case err != nil:
		return written, 0, err
	case size > maxFile:
		return written, 0, fmt.Errorf("%w: it %w", ErrArchive, errFileTooBig)
	case u.total > maxUnpacked:
		return written, 0, fmt.Errorf("%w: %w", ErrArchive, errTooBig)
	case e.file.Method != zip.Store && size > ratioMatters && size > maxRatio*u.consumed.n:
		return written, 0, fmt.Errorf("%w: it is packed more than %d to 1", ErrArchive, maxRatio)
	}
	return File{e.name, size, hex.EncodeToString(sum.Sum(nil))}, crc.Sum32(), nil
}

// byteCounter counts what is taken from it. It hands out single bytes, so that flate takes none too many.
type byteCounter struct {
	from *bufio.Reader
	n    int64
}

func (c *byteCounter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *byteCounter) ReadByte() (byte, error) {
	b, err := c.from.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// archiveReader tells a broken archive apart from a full disk.
type archiveReader struct{ io.Reader }

func (r archiveReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return n, err
}

// writeFile makes a file that is not there yet, whole.
func writeFile(root *os.Root, name string, from io.Reader) (int64, error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(file, from)
	return size, errors.Join(err, file.Close())
}

// syncers is how many files are synced at a time. One after another each waits for the disk to turn; together they
// share a write of the file system's journal.
const syncers = 16

// sync puts these files and all folders on disk.
func (u *unpacker) sync(ctx context.Context, files []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(syncers)
	for _, name := range files {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return syncFile(u.root, name)
		})
	}
	for folder := range u.folders {
		group.Go(func() error { return syncFolder(u.root, folder) })
	}
	return group.Wait()
}

// syncFile opens a file for writing, as Windows wants it of who syncs one.
func syncFile(root *os.Root, name string) error {
	file, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncFolder makes the names in a folder last. Windows, and some file systems, cannot: they answer as below, and the
// file hashes notice what a power cut took.
func syncFolder(root *os.Root, name string) error {
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
