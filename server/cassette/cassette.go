// Package cassette records calls to a model server as files, and answers calls from such files without any model
// server: the test of a bot that talks to a model runs in CI with the answers of the day it was recorded.
//
// # The format
//
// One call is one file, JSON indented by two spaces, made to be read, reviewed and kept under version control:
//
//	{
//	  "cassette": 1,
//	  "request": {
//	    "method": "POST",
//	    "path": "/chat/completions",
//	    "hash": "sha256:…",
//	    "body": { "messages": [ … ], "model": "llama3.2" }
//	  },
//	  "answer": {
//	    "status": 200,
//	    "headers": { "Content-Type": "text/event-stream" },
//	    "chunks": [
//	      { "afterMs": 210, "text": "data: {…}\n\n" }
//	    ]
//	  }
//	}
//
// The request is the caller's own, and the answer is the one that the caller got: with or without --meter-usage, the same
// call makes the same recording, and is answered by it.
//
// The path is the one below the upstream's base URL. Where there is a query, it stands beside it as "query", its
// parameters in order. The hash is the SHA-256 of method, path (with "?" and the query, if any) and body, with a line
// break between them; a body in JSON is hashed, and written, with its members in order and without spaces, so that two
// programs that say the same in other spacing match. What is no JSON stands as bodyText, or as bodyBase64 when it is no
// text. A chunk holds the bytes that came at once, as text or as base64, and how many milliseconds after the one before;
// the first counts from the request. An answer that broke off has "truncated": true and is broken off again.
//
// While calls are recorded, answers are asked for as they are, not compressed. A server that compresses all the same is
// recorded unpacked, with the coding as "encoding", and is replayed unpacked, which every caller can read. What cannot be
// unpacked is kept as the bytes that came, with its Content-Encoding among the headers, and is replayed so.
//
// The name of a file is the beginning of the hash and a number. The same request asked again gets the next number, in the
// order in which the answers ended; a replay gives them in that order, and then the last one for good.
//
// # Secrets
//
// Of a request no header is kept, of an answer only those that tell of its content. Members of a body that are named like
// a secret are written as «redacted», and so is a key that the caller sent, wherever it appears: as it is, as JSON, a URL
// or HTML writes it, and spread over the chunks or events of a stream. Where it is spread, it is redacted in the first of
// them and gone from the others. Keys in a query are left out, and are no part of the hash. In what cannot be unpacked
// nothing can be found.
package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Version is the version of the format that is written, and the only one that is read.
const Version = 1

// Tape is one call, as it stands in a file.
type Tape struct {
	Version int     `json:"cassette"`
	Request Request `json:"request"`
	Answer  Answer  `json:"answer"`
}

// Request is what was asked. At most one of its bodies is set.
type Request struct {
	Method     string          `json:"method"`
	Path       string          `json:"path"`            // below the upstream's base URL
	Query      string          `json:"query,omitempty"` // in its canonical form, see the package
	Hash       string          `json:"hash"`            // "sha256:" and 64 hexadecimal digits
	Body       json.RawMessage `json:"body,omitempty"`
	BodyText   string          `json:"bodyText,omitempty"`
	BodyBase64 []byte          `json:"bodyBase64,omitempty"`
}

// Answer is what came back.
type Answer struct {
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers,omitempty"`
	Encoding  string            `json:"encoding,omitempty"` // that it came in, such as gzip; the chunks are without it
	Chunks    []Chunk           `json:"chunks"`
	Truncated bool              `json:"truncated,omitempty"` // it broke off
}

// Chunk is what came at once: text, or bytes when it is none.
type Chunk struct {
	AfterMs int64  `json:"afterMs,omitempty"` // since the chunk before, or since the request
	Text    string `json:"text,omitempty"`
	Base64  []byte `json:"base64,omitempty"`
}

// Bytes is what the chunk holds.
func (c Chunk) Bytes() []byte {
	if c.Base64 != nil {
		return c.Base64
	}
	return []byte(c.Text)
}

func newChunk(after time.Duration, data []byte) Chunk {
	c := Chunk{AfterMs: after.Milliseconds()}
	if utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Base64 = bytes.Clone(data)
	}
	return c
}

// Bytes is the whole answer.
func (a Answer) Bytes() (all []byte) {
	for _, c := range a.Chunks {
		all = append(all, c.Bytes()...)
	}
	return all
}

// Duration is how long the answer took, from the request on.
func (a Answer) Duration() time.Duration {
	var ms int64
	for _, c := range a.Chunks {
		ms += c.AfterMs
	}
	return time.Duration(ms) * time.Millisecond
}

// NewRequest describes a request, without its secrets. secrets are texts that must not be kept, such as the key that it
// was sent with.
func NewRequest(method, path, query string, body []byte, secrets ...string) Request {
	r := Request{Method: method, Path: path, Query: canonicalQuery(query, secrets)}
	canonical, err := canonicalJSON(body, secrets)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
	case err == nil:
		r.Body = canonical
	case utf8.Valid(body):
		r.BodyText = string(withoutSecrets(body, secrets))
	default:
		r.BodyBase64 = withoutSecrets(body, secrets)
	}
	r.Hash = r.hash()
	return r
}

// hash is over the canonical form, since a file under version control may have been formatted anew.
func (r Request) hash() string {
	body := []byte(r.BodyText)
	switch {
	case r.Body != nil:
		if compact, err := canonicalJSON(r.Body, nil); err == nil {
			body = compact
		}
	case r.BodyBase64 != nil:
		body = r.BodyBase64
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", r.Method, r.Target(), body))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Target is what was asked for: the path with its query.
func (r Request) Target() string {
	if r.Query == "" {
		return r.Path
	}
	return r.Path + "?" + r.Query
}

// Model is the model that was asked, or "".
func (r Request) Model() string {
	var body struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(r.Body, &body)
	return body.Model
}

// Marshal writes a tape as it stands in a file.
func Marshal(t Tape) ([]byte, error) {
	t.Version = Version
	if t.Answer.Chunks == nil {
		t.Answer.Chunks = []Chunk{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // models speak of < and &
	e.SetIndent("", "  ")
	if err := e.Encode(t); err != nil {
		return nil, fmt.Errorf("writing a recording: %w", err)
	}
	return b.Bytes(), nil
}

// Parse reads a tape and checks that it is whole: of this version, and with the hash of its own request.
func Parse(data []byte) (Tape, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var t Tape
	if err := d.Decode(&t); err != nil {
		return Tape{}, fmt.Errorf("reading a recording: %w", err)
	}
	if d.More() {
		return Tape{}, errors.New("reading a recording: there is text after it")
	}
	switch {
	case t.Version != Version:
		return Tape{}, fmt.Errorf("reading a recording: its version is %d, and only %d is known", t.Version, Version)
	case t.Request.Method == "" || !strings.HasPrefix(t.Request.Path, "/"):
		return Tape{}, errors.New("reading a recording: its request has no method and path")
	case t.Request.Query != canonicalQuery(t.Request.Query, nil):
		return Tape{}, errors.New("reading a recording: its query is not in its canonical form, or holds a key")
	case t.Answer.Status < 200 || t.Answer.Status > 599:
		return Tape{}, fmt.Errorf("reading a recording: its status is %d", t.Answer.Status)
	case t.Request.Hash != t.Request.hash():
		return Tape{}, fmt.Errorf("reading a recording: its hash is not that of its request, which is %s", t.Request.hash())
	}
	for i, c := range t.Answer.Chunks {
		if c.AfterMs < 0 || c.Text != "" && c.Base64 != nil {
			return Tape{}, fmt.Errorf("reading a recording: answer.chunks[%d] makes no sense", i)
		}
	}
	return t, nil
}
