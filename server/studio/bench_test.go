package studio_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"chatwright.dev/tray/server/studio"
)

// bigSite is the size of a real Studio several times over: 600 files, 20 MiB.
func bigSite(edition string) site {
	s := studioSite(edition)
	text := noise(20 << 20)
	for i := range 600 {
		n := len(text) / 600
		s[fmt.Sprintf("_next/static/chunks/%d/app-%d.js", i%20, i)] = text[i*n : (i+1)*n]
	}
	return s
}

// BenchmarkCurrent is what a start pays for a copy that is verified: every file is hashed.
func BenchmarkCurrent(b *testing.B) {
	s, _ := openBig(b)
	b.SetBytes(20 << 20)
	for b.Loop() {
		if _, ok := s.Current(); !ok {
			b.Fatal("no copy")
		}
	}
}

// BenchmarkInstall is an update from loopback: download, check, unpack, sync.
func BenchmarkInstall(b *testing.B) {
	_, cfg := openBig(b)
	b.SetBytes(20 << 20)
	for i := 0; b.Loop(); i++ {
		cfg.CacheDir = filepath.Join(b.TempDir(), fmt.Sprint(i))
		s, err := studio.Open(cfg)
		if err != nil {
			b.Fatal(err)
		}
		update(b, s)
	}
}

func openBig(b *testing.B) (*studio.Store, studio.Config) {
	b.Helper()
	r := newRelease(b)
	r.publish(b, "1.0.0", bigSite("big"))
	s, cfg := open(b, r.URL, nil)
	update(b, s)
	return s, cfg
}
