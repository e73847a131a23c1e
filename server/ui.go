package server

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
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
	damaged atomic.Pointer[func()]
	telling sync.Mutex // one request tells of damage; who comes meanwhile waits for what that changes
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
	u.current.Store(newUIFolder(dir, info))
}

// SetCopy serves a Studio copy from now on, or the console for the zero Copy. A page that was loaded before goes on
// asking for the hashed files that it knows: those that c has not come from others, the copies that pages may have been
// loaded from. Nothing else ever does, so a page never gets files of two versions: a hashed name stands for its bytes.
// Every file of a copy must have the hash that it was installed with; when one has not, OnDamage is told.
func (u *UISource) SetCopy(c studio.Copy, others []studio.Copy) {
	if c.Dir == "" {
		u.current.Store(nil)
		return
	}
	folder := newUICopy(c)
	for _, other := range others {
		folder.others = append(folder.others, newUICopy(other))
	}
	u.current.Store(folder)
}

// OnDamage has f called when the copy that is served turns out not to be as it was installed; f may set another one,
// with which the request goes on. Nil: such a request is answered with an error.
func (u *UISource) OnDamage(f func()) {
	if f == nil {
		u.damaged.Store(nil)
		return
	}
	u.damaged.Store(&f)
}

// Info says what is served.
func (u *UISource) Info() protocol.UI {
	if folder := u.current.Load(); folder != nil {
		return folder.info
	}
	return protocol.UI{Source: protocol.UIConsole}
}

// ownFolder is the folder that is served though nobody keeps it; "": there is none.
func (u *UISource) ownFolder() string {
	if folder := u.current.Load(); folder != nil && folder.copied == nil {
		return folder.dir
	}
	return ""
}

// replaceDamaged returns what is served instead of a copy that was changed; ok is false if that is no better. It is told
// each time: a file that was put back before anybody looked may be changed once more.
func (u *UISource) replaceDamaged(folder *uiFolder) (next *uiFolder, ok bool) {
	u.telling.Lock()
	defer u.telling.Unlock()
	if next = u.current.Load(); next != folder {
		return next, true
	}
	if f := u.damaged.Load(); f != nil {
		(*f)()
	}
	next = u.current.Load()
	return next, next != folder
}

// serveUI answers every path that no other surface has.
func (s *Server) serveUI(w http.ResponseWriter, r *http.Request) {
	folder := s.ui.current.Load()
	if folder == nil {
		s.serveNoUI(w, r)
		return
	}
	if !readOnly(w, r) || folder.serve(w, r) {
		return
	}
	// The copy was changed behind our back, which is found out before a byte of the answer is written.
	next, ok := s.ui.replaceDamaged(folder)
	switch {
	case ok && next == nil:
		s.serveNoUI(w, r)
	case !ok || !next.serve(w, r):
		writeError(w, r.URL.Path, http.StatusInternalServerError, "damaged", "the copy of Studio was changed after it was installed")
	}
}

func (s *Server) serveNoUI(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		s.serveConsole(w, r, "")
		return
	}
	notFound(w, r.URL.Path)
}

const indexPage = "index.html"

// serve answers with the file that the path names, or with index.html for a place within the app. It reports false,
// and has written nothing, when the folder is a copy that was changed.
func (f *uiFolder) serve(w http.ResponseWriter, r *http.Request) bool {
	name, ok := fileName(r.URL.Path)
	if place := strings.HasSuffix(name, "/"); ok && place { // never a file: what is relative in it would lead elsewhere
		name, ok = indexPage, !hasExtension(name)
	}
	if !ok {
		notFound(w, r.URL.Path)
		return true
	}
	file, err := f.openFor(name, acceptsGzip(r.Header))
	if isMissing(err) && isHashed(name) {
		file, err = f.openOther(name, acceptsGzip(r.Header), err)
	}
	if isMissing(err) && !hasExtension(name) {
		name = indexPage
		file, err = f.openFor(name, acceptsGzip(r.Header))
	}
	switch {
	case errors.Is(err, errDamaged):
		return false
	case errors.Is(err, errShortage):
		writeError(w, r.URL.Path, http.StatusServiceUnavailable, "busy", "the system lets this program open no more files for now")
		return true
	case err != nil:
		message := "not found"
		if name == indexPage {
			message = "the UI folder has no index.html"
		}
		writeError(w, r.URL.Path, http.StatusNotFound, "not_found", message)
		return true
	}
	defer file.Close()
	return f.answer(w, r, name, file)
}

// answer sends an opened file under its name. It reports false as serve does: where a packed document is sent, its
// policy is that of the plain one, and that may be the one that was changed.
func (f *uiFolder) answer(w http.ResponseWriter, r *http.Request, name string, file *uiFile) bool {
	policy := ""
	if isDocument(name) {
		var err error
		policy, err = file.folder.policyFor(name, file)
		switch {
		case errors.Is(err, errDamaged) && file.folder == f:
			return false
		case err != nil:
			writeError(w, r.URL.Path, http.StatusInternalServerError, "unreadable", "the page cannot be read")
			return true
		}
	}
	h := w.Header()
	setPageHeaders(h)
	h.Set("Content-Type", contentType(name))
	h.Set("Cache-Control", "no-cache")
	if isHashed(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if policy != "" {
		h.Set("Content-Security-Policy", policy)
	}
	h.Set("Etag", file.etag)
	if file.twin {
		h.Add("Vary", "Accept-Encoding")
	}
	modified := file.info.ModTime()
	if file.exact {
		modified = time.Time{} // the ETag says all, and the time of an unpacked file nothing
	}
	if file.packed {
		h.Set("Content-Encoding", "gzip")
		w = sizedWriter{w, file.info.Size()}
	}
	if wanted := r.Header.Get("Range"); file.packed && strings.Contains(wanted, ",") || strings.HasSuffix(wanted, "=-0") {
		r = withoutRange(r)
	}
	http.ServeContent(w, r, "", modified, file.content())
	return true
}

// withoutRange is r for the whole file, which a server may always send: the frame around several ranges is not in the
// encoding of the file, and of the last 0 bytes no range can be made.
func withoutRange(r *http.Request) *http.Request {
	whole := *r
	whole.Header = r.Header.Clone()
	whole.Header.Del("Range")
	return &whole
}

// isMissing reports whether a file could not be opened because it is none of the folder's.
func isMissing(err error) bool {
	return err != nil && !errors.Is(err, errDamaged) && !errors.Is(err, errShortage)
}

// fileName turns a URL path into the name of a file within a folder, or of a place, which ends in a slash. What could
// mean another file on some system, and what is hidden, is no name.
func fileName(urlPath string) (name string, ok bool) {
	name, ok = strings.CutPrefix(urlPath, "/")
	if urlPath == "/" {
		return indexPage, true
	}
	if !ok || !fs.ValidPath(strings.TrimSuffix(name, "/")) || strings.ContainsAny(name, "\\\x00") || name[0] == '.' ||
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
	if ext == "" || isWritten(ext) {
		return false
	}
	stem := strings.TrimSuffix(base, ext)
	at := strings.LastIndexAny(stem, "-.")
	if at <= 0 {
		return false
	}
	// A hash in base64url may hold the separator itself; it is 8 characters long.
	return looksHashed(stem[at+1:]) ||
		len(stem) > shortHash && stem[len(stem)-shortHash-1] == '-' && looksHashed(stem[len(stem)-shortHash:])
}

// isWritten knows the extensions of pages and of data, to which people give their names.
func isWritten(ext string) bool {
	return slices.Contains([]string{".csv", ".htm", ".html", ".json", ".txt", ".xhtml", ".xml", ".yaml", ".yml"}, strings.ToLower(ext))
}

const shortHash = 8 // characters; no build tool makes shorter ones

// looksHashed tells a hash from words and numbers. It has letters and digits by turns, which "scenario1" and "20261130"
// have not, or it is as short as hashes are and has capitals past the first letter, where "JavaScript" is longer.
func looksHashed(s string) bool {
	if len(s) < shortHash {
		return false
	}
	turns, capitals, last := 0, false, byte(0)
	for i := range len(s) {
		c := s[i]
		digit := '0' <= c && c <= '9'
		switch {
		case c == '_' || c == '-':
			continue
		case !digit && !isLetter(c):
			return false
		case last != 0 && digit == isLetter(last):
			turns++
		}
		capitals = capitals || i > 0 && isLetter(c) && c < 'a'
		last = c
	}
	return turns > 1 || capitals && len(s) == shortHash
}
