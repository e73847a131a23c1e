// Package httpx holds what every HTTP surface of the companion does alike: JSON answers, JSON bodies with a bound,
// and server-sent events.
package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// ContentTypeJSON is the Content-Type of every JSON answer.
const ContentTypeJSON = "application/json; charset=utf-8"

// EncodeJSON returns v as JSON on one line, with its newline. HTML characters stay as they are: what we write is read
// as JSON, never pasted into a page.
func EncodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// WriteJSON answers with status and v as JSON. It encodes before it writes, so that a value that cannot be encoded
// becomes a whole 500 and never half an answer.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	body, err := EncodeJSON(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"encoding the answer failed"}`+"\n")
	}
	WriteEncoded(w, status, body)
}

// WriteEncoded answers with what EncodeJSON made.
func WriteEncoded(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", ContentTypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller left: there is nobody to tell
}

// TooLargeError says that a request body is over its cap.
type TooLargeError struct {
	Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return "request body is over the cap of " + FormatSize(e.Limit)
}

// FormatSize writes a size as a person does: "64 MiB", "1 KiB", "300 bytes". Sizes that are not whole units keep one
// decimal.
func FormatSize(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(unit.size), 'f', 1, 64), ".0") + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// ReadBody reads the whole body of r, at most limit bytes of it; over that the error is a *TooLargeError.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &TooLargeError{limit}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, &TooLargeError{limit}
	}
	if err != nil {
		return nil, fmt.Errorf("reading request body: %w", err)
	}
	return body, nil
}

// Strictness says what DecodeJSON does with members that the target does not have.
type Strictness bool

// The two ways to treat unknown members.
const (
	IgnoreUnknown Strictness = false
	RefuseUnknown Strictness = true
)

// DecodeJSON decodes exactly one JSON value of data into v. Numbers that land in an any keep their digits
// (json.Number). Anything but white space after the value is an error.
func DecodeJSON(data []byte, v any, unknown Strictness) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if unknown == RefuseUnknown {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the body is empty")
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected text after the JSON value")
	}
	return nil
}
