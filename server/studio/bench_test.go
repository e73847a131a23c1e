package studio_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
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

// releaseSite is like a release of Studio: a 3 MB archive of 150 files, most of them scripts that pack to a third.
func releaseSite() site {
	s := studioSite("release")
	text, random := script(4<<20), noise(700<<10)
	for i := range 130 {
		n := len(text) / 130
		s[fmt.Sprintf("_next/static/chunks/%d-%x.js", i, i*7919)] = text[i*n : (i+1)*n]
	}
	for i := range 20 {
		n := len(random) / 20
		s[fmt.Sprintf("media/%d.woff2", i)] = random[i*n : (i+1)*n]
	}
	return s
}

// script is text that packs about as scripts do.
func script(size int) string {
	words := strings.Fields("function return const await async import export default class extends this super new let if else for of in")
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < size {
		if r.IntN(2) == 0 {
			b.WriteString(words[r.IntN(len(words))])
		} else {
			fmt.Fprintf(&b, "%x", r.Uint64()>>44)
		}
		b.WriteByte(" (){};,.="[r.IntN(9)])
	}
	return b.String()[:size]
}

// BenchmarkInstallRelease is an update to a release of the usual size, from loopback.
func BenchmarkInstallRelease(b *testing.B) {
	r := newRelease(b)
	files := releaseSite()
	r.publish(b, "1.0.0", files)
	size := len(files.zip(b))
	b.SetBytes(int64(size))
	for i := 0; b.Loop(); i++ {
		s, err := studio.Open(studio.Config{CacheDir: filepath.Join(b.TempDir(), fmt.Sprint(i)), BaseURL: r.URL})
		if err != nil {
			b.Fatal(err)
		}
		update(b, s)
	}
	b.ReportMetric(float64(size)/1e6, "MB/archive")
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
