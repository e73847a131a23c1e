// Package coding undoes the content codings of answers: gzip, deflate, br and zstd.
package coding

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// None asks for an answer as it is, in Accept-Encoding: who says nothing accepts any coding.
const None = "identity"

// maxWindow bounds the memory of a zstd decoder; RFC 9659 gives 8 MiB to the coding in HTTP.
const maxWindow = 8 << 20

// Of is the coding of an answer with that header, in the spelling that Knows and Open take; "" for none.
func Of(h http.Header) string {
	return Clean(strings.Join(h.Values("Content-Encoding"), ","))
}

// Clean is a value of Content-Encoding in that spelling.
func Clean(value string) string {
	name := strings.ToLower(strings.TrimSpace(value))
	if name == None {
		return ""
	}
	return name
}

// Knows reports whether Open can undo a coding.
func Knows(name string) bool {
	switch name {
	case "gzip", "x-gzip", "br", "zstd", "deflate":
		return true
	}
	return false
}

// Open returns what packed holds. It reads nothing before the first Read, since that waits for bytes; where there are
// none, that is the end. Close closes packed.
func Open(name string, packed io.ReadCloser) io.ReadCloser {
	return &body{name: name, packed: packed}
}

type body struct {
	name   string
	packed io.ReadCloser
	plain  io.ReadCloser
	err    error
}

func (b *body) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	// The decoders of other people meet hostile bytes here.
	defer func() {
		if panicked := recover(); panicked != nil {
			n, err = 0, fmt.Errorf("unpacking the answer: %v", panicked)
		}
		b.err = err
	}()
	if b.plain == nil {
		if b.plain, err = unpack(b.name, b.packed); err != nil {
			b.plain = nil
			return 0, err // io.EOF where there is no body at all
		}
	}
	return b.plain.Read(p)
}

func (b *body) Close() error {
	if b.plain != nil {
		_ = b.plain.Close()
	}
	return b.packed.Close()
}

func unpack(name string, from io.Reader) (io.ReadCloser, error) {
	switch name {
	case "gzip", "x-gzip":
		return gzip.NewReader(from)
	case "br":
		return io.NopCloser(brotli.NewReader(from)), nil
	case "zstd":
		d, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case "deflate":
		return openDeflate(from)
	default:
		return nil, fmt.Errorf("unpacking the answer: the coding %q is not known", name)
	}
}

// openDeflate tells the two things that are called deflate apart: zlib, as the standard has it, and the bare stream
// that some servers send.
func openDeflate(from io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(from)
	head, err := buffered.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0F == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}
