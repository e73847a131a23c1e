package server

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// UISource says what "/" serves: a folder with a Studio build, or the embedded console. It can be switched while it is
// used: a request that began with one folder ends with it. Make one with NewUISource.
type UISource struct {
	current atomic.Pointer[uiFolder] // nil: the console
}

// NewUISource returns a source that serves dir, or the console when dir is empty.
func NewUISource(dir string) *UISource {
	u := &UISource{}
	u.Set(dir, protocol.UI{Source: protocol.UIFolder})
	return u
}

// Set serves dir from now on, as what info says it is; an empty dir serves the console.
func (u *UISource) Set(dir string, info protocol.UI) {
	if dir == "" {
		u.current.Store(nil)
		return
	}
	u.current.Store(&uiFolder{dir: dir, info: info})
}

// SetCopy serves a Studio copy from now on. Pages that were loaded before ask for the hashed files that they know: the
// ones that c has no more come from others, which are the copies that pages may have been loaded from.
func (u *UISource) SetCopy(c studio.Copy, others ...studio.Copy) {
	if c.Dir == "" {
		u.Set("", protocol.UI{})
		return
	}
	u.current.Store(&uiFolder{dir: c.Dir, info: protocol.UI{Source: protocol.UICopy, Version: c.Version}, copied: &c})
}

// Info says what is served.
func (u *UISource) Info() protocol.UI {
	if folder := u.current.Load(); folder != nil {
		return folder.info
	}
	return protocol.UI{Source: protocol.UIConsole}
}

// uiFolder is a folder that is served. It holds no descriptor: a build tool may replace a folder while it is served,
// and Windows would not let a version that is open be removed.
type uiFolder struct {
	dir  string
	info protocol.UI

	copied *studio.Copy // nil: a folder of the user's own

	mu     sync.Mutex
	etag   string // of the page that policy was computed for
	policy string
}

// serveUI answers every path that no other surface has.
func (s *Server) serveUI(w http.ResponseWriter, r *http.Request) {
	folder := s.ui.current.Load()
	if folder != nil {
		if readOnly(w, r) {
			folder.serve(w, r)
		}
		return
	}
	if r.URL.Path == "/" {
		s.serveConsole(w, r, "")
		return
	}
	notFound(w, r.URL.Path)
}

const indexPage = "index.html"

// serve answers with the file that the path names, or with index.html for a place within the app.
func (f *uiFolder) serve(w http.ResponseWriter, r *http.Request) {
	name, ok := fileName(r.URL.Path)
	if !ok {
		notFound(w, r.URL.Path)
		return
	}
	file, info, err := f.open(name)
	if err != nil && !hasExtension(name) {
		name = indexPage
		file, info, err = f.open(name)
	}
	if err != nil {
		message := "not found"
		if name == indexPage {
			message = "the UI folder has no index.html"
		}
		writeError(w, r.URL.Path, http.StatusNotFound, "not_found", message)
		return
	}
	defer file.Close()
	setPageHeaders(w.Header())
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Cache-Control", "no-cache")
	if isHashed(name) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if isDocument(name) {
		f.servePage(w, r, file)
		return
	}
	w.Header().Set("Etag", f.fileETag(info))
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// maxPage bounds a document, which is read whole: for its ETag, and for the hashes of what is inline in it.
const maxPage = 16 << 20

func (f *uiFolder) servePage(w http.ResponseWriter, r *http.Request, file io.Reader) {
	body, err := io.ReadAll(io.LimitReader(file, maxPage+1))
	if err != nil || len(body) > maxPage {
		writeError(w, r.URL.Path, http.StatusInternalServerError, "unreadable", "the page cannot be read")
		return
	}
	etag := contentETag(body)
	h := w.Header()
	h.Set("Etag", etag)
	h.Set("Content-Security-Policy", f.policyFor(etag, body))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// policyFor computes the policy of a page once for as long as its bytes stay the same.
func (f *uiFolder) policyFor(etag string, body []byte) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.etag != etag {
		f.etag, f.policy = etag, studioPolicy(body)
	}
	return f.policy
}

// fileETag tells apart files of the same name in different versions even where an archive gave all of them one time.
func (f *uiFolder) fileETag(info fs.FileInfo) string {
	dir := fnv.New64a()
	_, _ = dir.Write([]byte(f.dir)) // a hash takes everything
	return fmt.Sprintf(`"%x-%x-%x"`, dir.Sum64(), info.ModTime().UnixNano(), info.Size())
}

var errNotServed = errors.New("not a regular file of the folder")

// open opens a regular file. os.Root lets nothing out of the folder; a symlink is not followed even within it, so that
// one cannot give a second name to what is hidden.
func (f *uiFolder) open(name string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	for end := 0; end < len(name); end++ {
		next := strings.IndexByte(name[end:], '/')
		if next < 0 {
			next = len(name) - end
		}
		end += next
		info, err := root.Lstat(name[:end])
		if err != nil {
			return nil, nil, err
		}
		last := end == len(name)
		if last && !info.Mode().IsRegular() || !last && !info.IsDir() {
			return nil, nil, errNotServed
		}
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotServed
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// fileName turns a URL path into the name of a file within a folder. What could mean another place on some system, and
// what is hidden, is no name.
func fileName(urlPath string) (name string, ok bool) {
	name, ok = strings.CutPrefix(urlPath, "/")
	name = strings.TrimSuffix(name, "/")
	if urlPath == "/" {
		return indexPage, true
	}
	if !ok || !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") || name[0] == '.' ||
		strings.Contains(name, "/.") {
		return "", false
	}
	return name, true
}

// hasExtension reports whether the last element has a dot that a letter follows: "app.js" has, "llama3.2" has not, so
// that a page about a model can be linked to.
func hasExtension(name string) bool {
	base := path.Base(name)
	dot := strings.LastIndexByte(base, '.')
	if dot < 0 || dot+1 == len(base) {
		return false
	}
	return isLetter(base[dot+1])
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isHashed reports whether a name changes with the content, as build tools make it: "main-QX3ZV7KA.js",
// "app.1f3a9c2b.css". When in doubt it says no, which costs a request and never shows an old file.
func isHashed(name string) bool {
	if strings.HasPrefix(name, "_next/static/") {
		return true
	}
	base := path.Base(name)
	ext := path.Ext(base)
	if ext == "" || ext == ".html" || ext == ".htm" {
		return false
	}
	stem := strings.TrimSuffix(base, ext)
	at := strings.LastIndexAny(stem, "-.")
	if at <= 0 {
		return false
	}
	// A hash in base64url may hold the separator itself; it is 8 characters long.
	const short = 8
	return looksHashed(stem[at+1:]) || len(stem) > short && stem[len(stem)-short-1] == '-' && looksHashed(stem[len(stem)-short:])
}

// looksHashed tells a hash from a word or a date: it is long, and has digits among letters or capitals past the first.
func looksHashed(s string) bool {
	if len(s) < 8 {
		return false
	}
	letters, digits, capitals := false, false, false
	for i := range len(s) {
		switch c := s[i]; {
		case isLetter(c):
			letters = true
			capitals = capitals || i > 0 && c < 'a'
		case '0' <= c && c <= '9':
			digits = true
		case c != '_' && c != '-':
			return false
		}
	}
	return letters && digits || capitals
}
