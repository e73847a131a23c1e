package studio_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A fileServer serves one file as a good server does, or as badly as it is told, and remembers what it was asked.
type fileServer struct {
	mu      sync.Mutex
	body    string
	etag    string
	cut     int  // bytes of an answer after which the connection ends; 0: none
	cuts    int  // how many answers are cut; -1: all
	stalls  bool // instead of ending the connection
	deaf    bool // to ranges
	ranges  []string
	spoiled func(h http.Header) // changes the headers of a partial answer
}

func (f *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.ranges = append(f.ranges, r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
	body, etag, cut, spoiled, stalls := f.body, f.etag, 0, f.spoiled, f.stalls
	if f.cuts != 0 {
		cut = f.cut
		f.cuts--
	}
	if f.deaf {
		r.Header.Del("Range")
	}
	f.mu.Unlock()
	if etag != "" {
		w.Header().Set("Etag", etag)
	}
	if cut > 0 {
		w = &cuttingWriter{ResponseWriter: w, left: cut, end: func() {
			_ = http.NewResponseController(w).Flush()
			if stalls {
				<-r.Context().Done()
			}
			panic(http.ErrAbortHandler)
		}}
	}
	if spoiled != nil {
		w = &spoilingWriter{w, spoiled}
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
}

func (f *fileServer) set(change func(*fileServer)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fileServer) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ranges)
}

// breaks has so many answers (-1: all) end after 30 kB, or stall there.
func (f *fileServer) breaks(answers int, stalls bool) {
	f.set(func(f *fileServer) { f.cut, f.cuts, f.stalls = 30_000, answers, stalls })
}

type cuttingWriter struct {
	http.ResponseWriter
	left int
	end  func()
}

func (w *cuttingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	if w.left -= n; w.left == 0 {
		w.end()
	}
	return n, err
}

type spoilingWriter struct {
	http.ResponseWriter
	spoil func(h http.Header)
}

func (w *spoilingWriter) WriteHeader(status int) {
	if status == http.StatusPartialContent {
		w.spoil(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}
