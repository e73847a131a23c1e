package proxy

import (
	"errors"
	"net/http"

	"chatwright.dev/tray/server/internal/coding"
)

var errCoding = errors.New("the upstream compressed its answer in a way that was not asked for and is not known")

// unpack takes the content coding from the answer to a call that a key of ours went up with. None was asked for, but some
// servers compress all that they send, and behind a coding maskKey would see nothing.
func unpack(answer *http.Response) error {
	name := coding.Of(answer.Header)
	if name == "" {
		return nil
	}
	if !coding.Knows(name) {
		return errCoding
	}
	answer.Header.Del("Content-Encoding")
	answer.Header.Del("Content-Length")
	answer.ContentLength = -1
	answer.Body = coding.Open(name, answer.Body)
	return nil
}
