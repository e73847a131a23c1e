package server_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio"
)

// BenchmarkAsset compares a file of a copy, as we serve it, with http.FileServer on the very same file, over sockets, in
// one run and in random order within each round: "times/fileserver" is the ratio of the medians. "again/fileserver", of
// a second FileServer to the first, says what the machine adds: a ratio that is no further from 1 says nothing.
func BenchmarkAsset(b *testing.B) {
	for _, size := range []int{2 << 10, 30 << 10, 100 << 10, 2 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			random := make([]byte, size)
			_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
			release, cache := newStudioRelease(b), b.TempDir()
			release.publishFiles(b, "1.0.0", map[string]string{"index.html": "x", "_next/static/a.bin": string(random)})
			store, err := studio.Open(studio.Config{CacheDir: cache, BaseURL: release.URL})
			if err != nil {
				b.Fatal(err)
			}
			copied, err := store.Update(b.Context(), studio.UpdateOptions{})
			if err != nil {
				b.Fatal(err)
			}
			ui := server.NewUISource("")
			ui.SetCopy(copied, nil)
			ours := servertest.Start(b, server.Config{UI: ui})
			urls := []string{ours.URL}
			for range 2 {
				bare := httptest.NewServer(http.FileServer(http.Dir(copied.Dir)))
				b.Cleanup(bare.Close)
				urls = append(urls, bare.URL)
			}
			took := make([][]time.Duration, len(urls))
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
			b.Cleanup(client.CloseIdleConnections)
			for b.Loop() {
				for _, way := range rand.Perm(len(urls)) {
					began := time.Now()
					fetch(b, client, urls[way]+"/_next/static/a.bin", size)
					took[way] = append(took[way], time.Since(began))
				}
			}
			median := func(way int) float64 {
				slices.Sort(took[way])
				return float64(took[way][len(took[way])/2])
			}
			b.ReportMetric(median(0)/median(1), "times/fileserver")
			b.ReportMetric(median(2)/median(1), "again/fileserver")
			b.ReportMetric(median(0), "ns/asset")
			b.ReportMetric(0, "ns/op") // of three answers, which says nothing
		})
	}
}

func fetch(b *testing.B, client *http.Client, url string, size int) {
	resp, err := client.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if err != nil || n != int64(size) || !strings.HasPrefix(resp.Status, "200") {
		b.Fatalf("got %s, %d bytes, %v", resp.Status, n, err)
	}
}
