package studio_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/studio"
)

const strongTag = `"a-1"`

// resumable publishes a release of about 100 KB whose archive comes from the returned server.
func resumable(t *testing.T, r *release, edition string) (*fileServer, site) {
	t.Helper()
	files := studioSite(edition)
	files["big.bin"] = noise(100 << 10)
	archive := files.zip(t)
	server := &fileServer{body: string(archive), etag: strongTag}
	r.serve(answer(manifest("1.0.0", hash(archive), 1)), server.ServeHTTP)
	return server, files
}

func quick(cfg *studio.Config) { cfg.RetryWait = time.Millisecond }

// security.md 15, studio.md: "a broken download resumes with a Range request when the server allows and the ETag is the
// same".
func TestABrokenDownloadGoesOnWithinTheUpdate(t *testing.T) {
	r := newRelease(t)
	server, files := resumable(t, r, "one")
	server.breaks(3, false)
	s, cfg := open(t, r.URL, quick)
	var received []int64
	c, err := s.Update(t.Context(), studio.UpdateOptions{Progress: func(p studio.Progress) {
		if p.Stage == studio.Downloading {
			received = append(received, p.Received)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantSite(t, c.Dir, files)
	want := []string{" ", "bytes=30000- " + strongTag, "bytes=60000- " + strongTag, "bytes=90000- " + strongTag}
	if got := server.asked(); !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	if !slices.IsSorted(received) {
		t.Errorf("the progress went back: %v", received)
	}
	wantNothingBut(t, cfg.CacheDir, "1.0.0")
}

// Across restarts: a later process goes on where the killed or cancelled one was.
func TestADownloadGoesOnInTheNextProcess(t *testing.T) {
	tests := map[string]func(t *testing.T, cfg studio.Config){
		"cancelled": func(t *testing.T, cfg studio.Config) {
			s := reopen(t, cfg)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := s.Update(ctx, studio.UpdateOptions{Progress: func(p studio.Progress) {
				if p.Received == 30_000 {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want context.Canceled", err)
			}
		},
		"broken off": func(t *testing.T, cfg studio.Config) {
			cfg.StallTimeout = 100 * time.Millisecond
			if _, err := reopen(t, cfg).Update(t.Context(), studio.UpdateOptions{}); !errors.Is(err, studio.ErrDownload) {
				t.Fatalf("got %v, want ErrDownload", err)
			}
		},
		"killed": func(t *testing.T, cfg studio.Config) { killAt(t, cfg, "downloading") },
	}
	for name, interrupt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelease(t)
			server, files := resumable(t, r, "one")
			server.breaks(-1, true)
			if name == "broken off" {
				server.breaks(1, true)
				// From then on nothing at all comes.
				dead := &fileServer{body: server.body, etag: strongTag, cut: 1, cuts: -1, stalls: true}
				var asked atomic.Int32
				r.serve(nil, func(w http.ResponseWriter, req *http.Request) {
					if asked.Add(1) == 1 {
						server.ServeHTTP(w, req)
						return
					}
					dead.ServeHTTP(w, req)
				})
			}
			s, cfg := open(t, r.URL, quick)
			interrupt(t, cfg)
			if c, ok := s.Current(); ok {
				t.Fatalf("offered %s", c.Dir)
			}
			size := fileSize(t, filepath.Join(cfg.CacheDir, ".download.zip"))
			if size == 0 || size >= int64(len(server.body)) {
				t.Fatalf("got %d bytes kept, want a part of %d", size, len(server.body))
			}
			server.set(func(f *fileServer) { f.cuts, f.ranges = 0, nil })
			r.serve(nil, server.ServeHTTP)
			wantSite(t, update(t, reopen(t, cfg)).Dir, files)
			if got, want := server.asked(), fmt.Sprintf("bytes=%d- %s", size, strongTag); len(got) != 1 || got[0] != want {
				t.Errorf("asked for %q, want %q", got, want)
			}
			wantNothingBut(t, cfg.CacheDir, "1.0.0")
		})
	}
}

// security.md 15: "… or restarts cleanly".
func TestADownloadThatCannotGoOnStartsAgain(t *testing.T) {
	tests := []struct {
		name   string
		before func(f *fileServer) // while the first part comes
		after  func(f *fileServer)
		kept   bool // there is something to go on from
		asked  int  // requests that the second update needs
	}{
		{"another ETag", nil, func(f *fileServer) { f.etag = `"b-2"` }, true, 1},
		{"a server deaf to ranges", nil, func(f *fileServer) { f.deaf = true }, true, 1},
		{"no ETag", func(f *fileServer) { f.etag = "" }, nil, false, 1},
		{"a weak ETag", func(f *fileServer) { f.etag = `W/"a-1"` }, nil, false, 1},
		{"another range", nil, func(f *fileServer) {
			f.spoiled = func(h http.Header) {
				h.Set("Content-Range", strings.Replace(h.Get("Content-Range"), "bytes 3", "bytes 2", 1))
			}
		}, true, 2},
		{"a range of another file", nil, func(f *fileServer) {
			f.spoiled = func(h http.Header) { h.Set("Etag", `"b-2"`) }
		}, true, 2},
		{"no range said", nil, func(f *fileServer) {
			f.spoiled = func(h http.Header) { h.Del("Content-Range") }
		}, true, 2},
		{"another size", nil, func(f *fileServer) {
			f.spoiled = func(h http.Header) {
				at, _, _ := strings.Cut(h.Get("Content-Range"), "/")
				h.Set("Content-Range", at+"/999999")
			}
		}, true, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRelease(t)
			server, files := resumable(t, r, "one")
			server.breaks(-1, true)
			if tt.before != nil {
				server.set(tt.before)
			}
			s, cfg := open(t, r.URL, quick)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := s.Update(ctx, studio.UpdateOptions{Progress: func(p studio.Progress) {
				if p.Received == 30_000 {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want context.Canceled", err)
			}
			if _, err := os.Stat(filepath.Join(cfg.CacheDir, ".download.zip")); (err == nil) != tt.kept {
				t.Errorf("kept: %v, want %v", err == nil, tt.kept)
			}
			server.set(func(f *fileServer) {
				f.cuts, f.ranges = 0, nil
				if tt.after != nil {
					tt.after(f)
				}
			})
			wantSite(t, update(t, s).Dir, files)
			if got := server.asked(); len(got) != tt.asked || strings.HasPrefix(got[0], "bytes=") != tt.kept {
				t.Errorf("asked for %q, want %d requests", got, tt.asked)
			}
			wantNothingBut(t, cfg.CacheDir, "1.0.0")
		})
	}
}

// A server that says the ETag is the same while the bytes are not, and a disk that lost what it had: the whole archive
// is taken once more.
func TestPiecesThatDoNotBelongTogetherAreNotUsed(t *testing.T) {
	tests := map[string]func(t *testing.T, part string, f *fileServer){
		"a part that a power cut took": func(t *testing.T, part string, _ *fileServer) {
			write(t, part, strings.Repeat("\x00", 30_000))
		},
		"a part that is longer than all of it": func(t *testing.T, part string, f *fileServer) {
			write(t, part, f.body+"and more")
		},
		"all of it, but wrong": func(t *testing.T, part string, f *fileServer) {
			write(t, part, strings.Repeat("\x00", len(f.body)))
		},
		"a record that is no record": func(t *testing.T, part string, _ *fileServer) {
			write(t, strings.TrimSuffix(part, ".zip")+".json", "{")
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelease(t)
			server, files := resumable(t, r, "one")
			server.breaks(-1, true)
			_, cfg := open(t, r.URL, quick)
			killAt(t, cfg, "downloading")
			server.set(func(f *fileServer) { f.cuts = 0 })
			spoil(t, filepath.Join(cfg.CacheDir, ".download.zip"), server)
			wantSite(t, update(t, reopen(t, cfg)).Dir, files)
			wantNothingBut(t, cfg.CacheDir, "1.0.0")
		})
	}
}

// All of it was there, and the process was killed before it was unpacked: nothing is downloaded.
func TestADownloadThatIsCompleteIsNotMadeAgain(t *testing.T) {
	r := newRelease(t)
	server, files := resumable(t, r, "one")
	s, cfg := open(t, r.URL, quick)
	killAt(t, cfg, "checked")
	server.set(func(f *fileServer) { f.ranges = nil })
	wantSite(t, update(t, s).Dir, files)
	if got := server.asked(); len(got) != 0 {
		t.Errorf("asked for %q, want nothing", got)
	}
}

// Another release came out meanwhile: its archive has nothing to do with what is there.
func TestAPartOfAnotherReleaseIsForgotten(t *testing.T) {
	r := newRelease(t)
	server, _ := resumable(t, r, "one")
	server.breaks(-1, true)
	s, cfg := open(t, r.URL, quick)
	killAt(t, cfg, "downloading")
	newer, files := resumable(t, r, "two")
	wantSite(t, update(t, s).Dir, files)
	if got := newer.asked(); len(got) != 1 || got[0] != " " {
		t.Errorf("asked for %q, want all of it", got)
	}
}

// A server that never gives more than a byte, or nothing more, is given up; one that is away is not asked for ever.
func TestRetriesEnd(t *testing.T) {
	for name, change := range map[string]func(f *fileServer){
		"nothing more comes": func(f *fileServer) { f.spoiled = func(http.Header) { panic(http.ErrAbortHandler) } },
		"a byte at a time":   func(*fileServer) {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			server, _ := resumable(t, r, "one")
			server.set(func(f *fileServer) { f.cut, f.cuts = 1, -1 })
			server.set(change)
			s, _ := open(t, r.URL, func(cfg *studio.Config) { cfg.RetryWait = time.Microsecond })
			_, err := s.Update(t.Context(), studio.UpdateOptions{})
			if !errors.Is(err, studio.ErrDownload) {
				t.Errorf("got %v, want ErrDownload", err)
			}
			if got := len(server.asked()); got > 60 {
				t.Errorf("asked %d times", got)
			}
		})
	}
}

// A refusal on the way is told, and what is there is kept for a better day.
func TestAnErrorWhileGoingOnKeepsThePart(t *testing.T) {
	r := newRelease(t)
	server, files := resumable(t, r, "one")
	server.breaks(1, false)
	var asked atomic.Int32
	r.serve(nil, func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1) == 1 {
			server.ServeHTTP(w, req)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s, _ := open(t, r.URL, quick)
	_, err := s.Update(t.Context(), studio.UpdateOptions{})
	if !errors.Is(err, studio.ErrDownload) || !strings.Contains(err.Error(), "503 Service Unavailable") || asked.Load() != 2 {
		t.Errorf("got %v after %d requests, want 503 after 2", err, asked.Load())
	}
	r.serve(nil, server.ServeHTTP)
	wantSite(t, update(t, s).Dir, files)
	if got := server.asked(); got[len(got)-1] != "bytes=30000- "+strongTag {
		t.Errorf("asked for %q, want the rest", got)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// wantNothingBut wants these names in the cache, besides locks.
func wantNothingBut(t *testing.T, cacheDir string, want ...string) {
	t.Helper()
	children, err := os.ReadDir(cacheDir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, child := range children {
		if name := child.Name(); !strings.HasSuffix(name, ".lock") && !strings.HasPrefix(name, ".use-") {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("in the cache: got %q, want %q", got, want)
	}
}
