package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"chatwright.dev/tray/server/wholefile"
)

// A file is one that a package installs.
type file struct {
	name string // slashes, below the root of the package
	mode fs.FileMode
	data []byte
}

// sorted puts files in the order of their names: packages list them so, whoever made them.
func sorted(files []file) []file {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files
}

// tarGz packs files into an archive with one folder at the top, so that unpacking it makes no mess.
func tarGz(top string, files []file, when time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range sorted(files) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: top + "/" + f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)),
			ModTime: when, Uname: "root", Gname: "root", Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return gzipped(packed.Bytes())
}

// gzipped compresses without a name and a time, which would differ from one run to the next.
func gzipped(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped packs files into an archive with one folder at the top.
func zipped(top string, files []file, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range sorted(files) {
		header := &zip.FileHeader{Name: top + "/" + f.name, Method: zip.Deflate, Modified: when}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := io.Copy(entry, bytes.NewReader(f.data)); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// lay writes files below a folder, which holds nothing else afterwards. Modes and times are those of the package,
// whatever the umask of this machine: packers copy them.
func lay(folder string, files []file, when time.Time) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := makeFolders(folder, filepath.Dir(path)); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil {
			return err
		}
		if err := os.Chtimes(path, when, when); err != nil {
			return err
		}
	}
	return nil
}

// makeFolders makes a folder and those above it, down from base, open to everybody as installed folders are.
func makeFolders(base, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for ; len(folder) >= len(base); folder = filepath.Dir(folder) {
		if err := os.Chmod(folder, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// put writes one file of the release, whole or not at all.
func (r *release) put(name string, data []byte) error {
	path := filepath.Join(r.dist, name)
	if err := wholefile.Write(path, data, 0o644); err != nil {
		return err
	}
	return r.made(path)
}

// read reads a file of the checkout.
func (r *release) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
}
