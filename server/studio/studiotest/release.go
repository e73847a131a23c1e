package studiotest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"
)

// The files of a release.
const (
	Manifest  = "studio-ui.manifest.json"
	Archive   = "studio-ui.zip"
	Signature = "studio-ui.manifest.json.minisig"
)

// A Release is a server with the files of a Studio release, any of which can be made to lie, hang or be missing. Files
// have an ETag and can be had in ranges. It ends with the test.
type Release struct {
	URL string // with a slash at its end

	t      testing.TB
	server *httptest.Server
	ended  chan struct{}

	mu       sync.Mutex
	files    map[string]http.HandlerFunc
	requests []string      // "GET name", and the range that was asked for
	woken    chan struct{} // closed and replaced with each request
}

// NewRelease starts a server on which nothing is released yet.
func NewRelease(t testing.TB) *Release {
	t.Helper()
	r := &Release{t: t, ended: make(chan struct{}), files: map[string]http.HandlerFunc{}, woken: make(chan struct{})}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	r.URL = r.server.URL + "/latest/"
	t.Cleanup(r.Close)
	return r
}

// Close takes the release off the network: connections are refused from now on. It may be called more than once.
func (r *Release) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ended:
		return
	default:
	}
	close(r.ended) // before Close, which waits for the handlers
	r.server.CloseClientConnections()
	r.server.Close()
}

// Publish releases site as version, honestly, and returns the archive.
func (r *Release) Publish(version string, site Site) []byte {
	r.t.Helper()
	archive := site.Zip(r.t)
	r.Answer(Manifest, File(ManifestOf(version, Hash(archive), 1)))
	r.Answer(Archive, File(archive))
	return archive
}

// PublishSigned is Publish with the manifest signed by key.
func (r *Release) PublishSigned(version string, site Site, key minisign.PrivateKey) {
	r.t.Helper()
	archive := r.Publish(version, site)
	r.Answer(Signature, File(minisign.Sign(key, ManifestOf(version, Hash(archive), 1))))
}

// ManifestOf is a manifest with these members.
func ManifestOf(version, sum string, contract int) []byte {
	return fmt.Appendf(nil, `{"version": %q, "sha256": %q, "uiContract": %d}`, version, sum, contract)
}

// Answer sets how one file answers from now on; nil: 404.
func (r *Release) Answer(file string, h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[file] = h
}

// HoldArchive releases site as version, but stops in the middle of the archive: after share of its bytes. It goes on once
// resume is called, and ends with the test in any case.
func (r *Release) HoldArchive(version string, site Site, share float64) (resume func()) {
	r.t.Helper()
	archive := r.Publish(version, site)
	goOn := make(chan struct{})
	r.Answer(Archive, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
		w.Header().Set("Etag", etagOf(archive))
		first := int(share * float64(len(archive)))
		_, _ = w.Write(archive[:first])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-goOn:
			_, _ = w.Write(archive[first:]) // who left has no use for it
		case <-req.Context().Done():
		case <-r.ended:
		}
	})
	return sync.OnceFunc(func() { close(goOn) })
}

// Requests returns what was asked for so far: "GET studio-ui.zip", with the range where there was one.
func (r *Release) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

// Count is how often a file was asked for so far.
func (r *Release) Count(file string) int {
	n, _ := r.count(file)
	return n
}

func (r *Release) count(file string) (n int, woken <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.requests {
		name, _, _ := strings.Cut(strings.TrimPrefix(request, "GET "), " ")
		if name == file {
			n++
		}
	}
	return n, r.woken
}

// Await returns once a file was asked for n times.
func (r *Release) Await(file string, n int) {
	r.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		asked, woken := r.count(file)
		if asked >= n {
			return
		}
		select {
		case <-woken:
		case <-timeout:
			r.t.Fatalf("%s was asked for %d times, want %d", file, asked, n)
		}
	}
}

func (r *Release) serve(w http.ResponseWriter, req *http.Request) {
	name := path.Base(req.URL.Path)
	r.mu.Lock()
	h := r.files[name]
	r.requests = append(r.requests, strings.TrimSpace(req.Method+" "+name+" "+req.Header.Get("Range")))
	close(r.woken)
	r.woken = make(chan struct{})
	r.mu.Unlock()
	if h == nil {
		http.NotFound(w, req)
		return
	}
	h(w, req)
}

// File answers with data, whole or in ranges, under an ETag.
func File(data []byte) http.HandlerFunc {
	etag := etagOf(data)
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Etag", etag)
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, req, "", time.Time{}, strings.NewReader(string(data)))
	}
}

func etagOf(data []byte) string { return `"` + Hash(data)[:16] + `"` }

// Fail answers with that status and no more.
func Fail(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// Hang answers nothing for as long as the client waits.
func Hang(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
