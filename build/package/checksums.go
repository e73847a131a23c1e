package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const sumsFile = "SHA256SUMS"

// makeChecksums writes the sums of all files of the release, as sha256sum reads them.
func (r *release) makeChecksums(context.Context) error {
	sums, err := checksums(r.dist, r.version)
	if err != nil {
		return err
	}
	return r.put(sumsFile, sums)
}

// checksums are those of the files of a version in a folder, in the order of their names. What other versions left
// there is no part of the release, nor are the sums themselves and their signature.
func checksums(folder, version string) ([]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.Contains(e.Name(), version) {
			continue
		}
		sum, err := sumOf(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(&out, "%s  %s\n", sum, e.Name())
	}
	return []byte(out.String()), nil
}

// sumOf is the SHA-256 of a file, in hexadecimal.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
