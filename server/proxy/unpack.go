package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"chatwright.dev/tray/server/proxy/internal/meter"
)

var errCoding = errors.New("the upstream compressed its answer in a way that was not asked for and is not known")

// unpack takes the content coding from the answer to a call that a key of ours went up with. None was asked for, but some
// servers compress all that they send, and behind a coding maskKey would see nothing.
func unpack(answer *http.Response) error {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(answer.Header.Values("Content-Encoding"), ",")))
	if coding == "" || coding == "identity" {
		return nil
	}
	if !meter.Knows(coding) {
		return errCoding
	}
	answer.Header.Del("Content-Encoding")
	answer.Header.Del("Content-Length")
	answer.ContentLength = -1
	answer.Body = &unpackedBody{coding: coding, packed: answer.Body}
	return nil
}

// unpackedBody is the body of an answer without its coding. It is opened by the first Read, since that waits for bytes.
type unpackedBody struct {
	coding string
	packed io.ReadCloser
	plain  io.ReadCloser
	err    error
}

func (b *unpackedBody) Read(p []byte) (n int, err error) {
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
		if b.plain, err = meter.Unpack(b.coding, b.packed); err != nil {
			b.plain = nil
			return 0, err // io.EOF where there is no body at all
		}
	}
	return b.plain.Read(p)
}

func (b *unpackedBody) Close() error {
	if b.plain != nil {
		_ = b.plain.Close()
	}
	return b.packed.Close()
}
