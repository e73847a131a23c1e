package studio_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/studio"
)

// security.md 15: "a wrong hash or size leaves the installed UI serving".
func TestDownloadsThatLie(t *testing.T) {
	archive := string(studioSite("new").zip(t))
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"another archive", answer(string(studioSite("evil").zip(t))), "the manifest promises " + hash([]byte(archive))},
		{"one byte less", answer(archive[:len(archive)-1]), "its sha256 is"},
		{"empty", answer(""), "its sha256 is"},
		{"cut short", cutShort(archive), "the connection ended after"},
		{"404", fail(404), "the server answered 404 Not Found"},
		{"too big, as it says", answer(strings.Repeat("x", 5000)), "over the cap of 4 KiB"},
		{"too big, without saying so", func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(make([]byte, 1000))
				_ = http.NewResponseController(w).Flush()
			}
		}, "over the cap of 4 KiB"},
		{"no answer", hang, "nothing came for 200ms"},
		{"stalled", stall(archive), "nothing came for 200ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // an install waits for the disk
			r := newRelease(t)
			r.publish(t, "1.0.0", studioSite("old"))
			s, cfg := open(t, r.URL, nil)
			update(t, s)
			r.serve(answer(manifest("1.1.0", hash([]byte(archive)), 1)), tt.answer)
			cfg.MaxDownload, cfg.StallTimeout = 4<<10, time.Minute
			if strings.HasPrefix(tt.want, "nothing came") {
				cfg.StallTimeout = 200 * time.Millisecond
			}
			lied, err := studio.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, err = lied.Update(t.Context(), studio.UpdateOptions{})
			if !errors.Is(err, studio.ErrDownload) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ErrDownload with %q", err, tt.want)
			}
			if way := hint.Of(err); way == "" || strings.Contains(way, "publishes") != strings.Contains(tt.want, "over the cap") {
				t.Errorf("the way out: got %q", way)
			}
			wantCurrent(t, s, studioSite("old"))
			wantNoLeftovers(t, cfg.CacheDir)
			r.serve(nil, answer(archive))
			update(t, s)
			wantCurrent(t, s, studioSite("new"))
		})
	}
}

func TestASlowDownloadIsNotADeadOne(t *testing.T) {
	archive := studioSite("one").zip(t)
	r := newRelease(t)
	r.serve(answer(manifest("1.0.0", hash(archive), 1)), func(w http.ResponseWriter, req *http.Request) {
		// In all far longer than the stall timeout, each pause well within it.
		for rest := archive; len(rest) > 0; {
			n := min(len(rest), len(archive)/25+1)
			_, _ = w.Write(rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
			select {
			case <-time.After(50 * time.Millisecond):
			case <-req.Context().Done():
				return
			}
		}
	})
	s, _ := open(t, r.URL, func(cfg *studio.Config) { cfg.StallTimeout = time.Second })
	update(t, s)
}

func TestAnUpdateCanBeCancelled(t *testing.T) {
	r := newRelease(t)
	archive := studioSite("one").zip(t)
	r.serve(answer(manifest("1.0.0", hash(archive), 1)), stall(string(archive)))
	s, cfg := open(t, r.URL, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Update(ctx, studio.UpdateOptions{Progress: func(p studio.Progress) {
		if p.Received > 0 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	wantNoLeftovers(t, cfg.CacheDir)
}

func TestProgress(t *testing.T) {
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("one"))
	size := int64(len(studioSite("one").zip(t)))
	s, _ := open(t, r.URL, nil)
	var seen []studio.Progress
	if _, err := s.Update(t.Context(), studio.UpdateOptions{Progress: func(p studio.Progress) { seen = append(seen, p) }}); err != nil {
		t.Fatal(err)
	}
	if first := (studio.Progress{Stage: studio.Checking}); seen[0] != first {
		t.Errorf("first: got %+v, want %+v", seen[0], first)
	}
	if known := (studio.Progress{Stage: studio.Checking, Version: "1.0.0"}); seen[1] != known {
		t.Errorf("once the manifest is there: got %+v, want %+v", seen[1], known)
	}
	if start := (studio.Progress{Stage: studio.Downloading, Version: "1.0.0", Total: size}); seen[2] != start {
		t.Errorf("then: got %+v, want %+v", seen[2], start)
	}
	if full := (studio.Progress{Stage: studio.Downloading, Version: "1.0.0", Received: size, Total: size}); seen[len(seen)-2] != full {
		t.Errorf("at the end of the download: got %+v, want %+v", seen[len(seen)-2], full)
	}
	if last := (studio.Progress{Stage: studio.Unpacking, Version: "1.0.0"}); seen[len(seen)-1] != last {
		t.Errorf("last: got %+v, want %+v", seen[len(seen)-1], last)
	}
}

// studio.md: "Proxies of the environment are honoured for downloads". The environment is read once a process, so this
// takes one of its own.
func TestProxiesOfTheEnvironmentAreHonoured(t *testing.T) {
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("one"))
	release, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(req *httputil.ProxyRequest) {
		if req.In.URL.Host == "studio.test" { // a proxy is asked with the whole URL
			asked.Add(1)
		}
		req.Out.URL.Scheme, req.Out.URL.Host = "http", release.Host
	}})
	defer proxy.Close()
	cfg := studio.Config{CacheDir: filepath.Join(t.TempDir(), "ui"), BaseURL: "http://studio.test/latest/"}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{cfg.CacheDir, cfg.BaseURL, "none"}, "\n"),
		"HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ended: <nil>\n" {
		t.Fatalf("got %q, %v", out, err)
	}
	wantCurrent(t, reopen(t, cfg), studioSite("one"))
	if got := asked.Load(); got != 2 {
		t.Errorf("the proxy was asked %d times, want for the manifest and the archive", got)
	}
}
