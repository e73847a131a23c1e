package studio

import (
	"archive/zip"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// An unpacker writes an archive that readArchive let pass, and counts what really comes out of it.
type unpacker struct {
	root     *os.Root
	total    int64
	consumed int64 // compressed bytes of the present file
}

// unpack writes all entries and returns what it wrote. step is told after each file.
func (u *unpacker) unpack(ctx context.Context, r *zip.Reader, entries []entry, step func(string) error) ([]fileRecord, error) {
	r.RegisterDecompressor(zip.Deflate, func(compressed io.Reader) io.ReadCloser {
		return flate.NewReader(reading{compressed, func(n int) { u.consumed += int64(n) }})
	})
	var files []fileRecord
	folders := map[string]bool{".": true}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		folder := e.name
		if !e.dir {
			folder = path.Dir(e.name)
		}
		if err := u.folder(folder, folders); err != nil {
			return nil, err
		}
		if e.dir {
			continue
		}
		written, err := u.file(e)
		if err != nil {
			return nil, fmt.Errorf("unpacking %q: %w", e.name, err)
		}
		files = append(files, written)
		if err := step("unpacking"); err != nil {
			return nil, err
		}
	}
	for folder := range folders {
		if err := syncFolder(u.root, folder); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// folder makes name and the folders above it, and notes each in made.
func (u *unpacker) folder(name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	if err := u.root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	for ; !made[name]; name = path.Dir(name) {
		made[name] = true
	}
	return nil
}

func (u *unpacker) file(e entry) (fileRecord, error) {
	from, err := e.file.Open()
	if err != nil {
		return fileRecord{}, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	defer from.Close()
	u.consumed = 0
	sum := sha256.New()
	counted := reading{io.LimitReader(archiveReader{from}, maxFile+1), func(n int) { u.total += int64(n) }}
	size, err := writeFile(u.root, e.name, io.TeeReader(io.LimitReader(counted, maxUnpacked-u.total+1), sum))
	switch {
	case err != nil:
		return fileRecord{}, err
	case size > maxFile:
		return fileRecord{}, fmt.Errorf("%w: it %w", ErrArchive, errFileTooBig)
	case u.total > maxUnpacked:
		return fileRecord{}, fmt.Errorf("%w: %w", ErrArchive, errTooBig)
	case e.file.Method != zip.Store && size > ratioMatters && size > maxRatio*u.consumed:
		return fileRecord{}, fmt.Errorf("%w: it is packed more than %d to 1", ErrArchive, maxRatio)
	}
	return fileRecord{e.name, size, hex.EncodeToString(sum.Sum(nil))}, nil
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

// writeFile makes a file that is not there yet, whole and on disk.
func writeFile(root *os.Root, name string, from io.Reader) (int64, error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(file, from)
	if err == nil {
		err = file.Sync()
	}
	return size, errors.Join(err, file.Close())
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
