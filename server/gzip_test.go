package server_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func gunzip(t *testing.T, body string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func TestPackedAnswers(t *testing.T) {
	k := keepStudio(t)
	files := studioFiles("one")
	k.install(t, "1.0.0", files)
	const path = "/_next/static/chunks/one.js"
	plain := k.get(t, path)
	packed := k.get(t, path, "Accept-Encoding", "gzip, deflate, br, zstd")
	if got := gunzip(t, packed.Body); got != script || len(packed.Body) > len(script)/2 {
		t.Errorf("got %d bytes for %d", len(packed.Body), len(script))
	}
	packed.wantsHeader(t, "Content-Encoding", "gzip")
	packed.wantsHeader(t, "Content-Length", fmt.Sprint(len(packed.Body)))
	packed.wantsHeader(t, "Content-Type", "text/javascript; charset=utf-8")
	packed.wantsHeader(t, "Etag", etagOf(packed.Body))
	for name, got := range map[string]answer{"plain": plain, "packed": packed} {
		if vary := strings.Join(got.Header.Values("Vary"), ", "); vary != "Origin, Accept-Encoding" {
			t.Errorf("%s: Vary: got %q", name, vary)
		}
	}
	if small := k.get(t, "/samples/bot.json", "Accept-Encoding", "gzip"); small.Header.Get("Content-Encoding") != "" ||
		strings.Join(small.Header.Values("Vary"), ", ") != "Origin" {
		t.Errorf("a small file: got %v", small.Header)
	}

	// The page, with the policy of what is in it and not of its packed bytes.
	page := k.get(t, "/", "Accept-Encoding", "gzip")
	if gunzip(t, page.Body) != files["index.html"] {
		t.Error("the page is another one when packed")
	}
	if got, want := page.Header.Get("Content-Security-Policy"), k.get(t, "/").Header.Get("Content-Security-Policy"); got != want {
		t.Errorf("policy: got %q, want %q", got, want)
	}

	t.Run("conditional", func(t *testing.T) {
		for _, c := range []struct {
			headers []string
			status  int
		}{
			{[]string{"Accept-Encoding", "gzip", "If-None-Match", etagOf(packed.Body)}, 304},
			{[]string{"Accept-Encoding", "gzip", "If-None-Match", etagOf(script)}, 200},
			{[]string{"If-None-Match", etagOf(script)}, 304},
			{[]string{"If-None-Match", etagOf(packed.Body)}, 200},
			{[]string{"Accept-Encoding", "gzip", "If-Match", `"other"`}, 412},
		} {
			got := k.get(t, path, c.headers...)
			if got.Status != c.status {
				t.Errorf("%q: got %d, want %d", c.headers, got.Status, c.status)
			}
			if c.status == 412 && got.Body != "" {
				t.Errorf("412: got %q", got.Body)
			}
		}
	})
	t.Run("ranges", func(t *testing.T) {
		part := k.get(t, path, "Accept-Encoding", "gzip", "Range", "bytes=10-29")
		part.wants(t, 206, packed.Body[10:30])
		part.wantsHeader(t, "Content-Range", fmt.Sprintf("bytes 10-29/%d", len(packed.Body)))
		part.wantsHeader(t, "Content-Length", "20")
		rest := k.get(t, path, "Accept-Encoding", "gzip", "Range", "bytes=30-", "If-Range", part.Header.Get("Etag"))
		rest.wants(t, 206, packed.Body[30:])
		// Who has the begin of the plain one is not given the end of the packed one.
		k.get(t, path, "Accept-Encoding", "gzip", "Range", "bytes=30-", "If-Range", etagOf(script)).wants(t, 200, packed.Body)
		k.get(t, path, "Range", "bytes=30-49").wants(t, 206, script[30:50])
		k.get(t, path, "Accept-Encoding", "gzip", "Range", "bytes=99999-").wantsHeader(t, "Content-Range", fmt.Sprintf("bytes */%d", len(packed.Body)))
	})
	t.Run("HEAD", func(t *testing.T) {
		head := ask(t, k.Running, "HEAD", path, "", "Accept-Encoding", "gzip")
		head.wants(t, 200, "")
		head.wantsHeader(t, "Content-Length", fmt.Sprint(len(packed.Body)))
	})
}

// RFC 9110, 12.5.3.
func TestWhoIsSentPackedAnswers(t *testing.T) {
	k := keepStudio(t)
	k.install(t, "1.0.0", studioFiles("one"))
	for accept, want := range map[string]bool{
		"":                           false,
		"gzip":                       true,
		"GZIP":                       true,
		"x-gzip":                     true,
		"br, gzip":                   true,
		"gzip;q=0":                   false,
		"gzip;q=0.000":               false,
		"gzip; q=0.001":              true,
		"gzip;q=0.5, identity":       false, // liked less
		"gzip;q=0.5, identity;q=0.5": true,
		"identity;q=0.5, gzip":       true,
		"identity":                   false,
		"*":                          true,
		"*;q=0":                      false,
		"gzip;q=0, *":                false,
		"br;q=1, *;q=0.1":            true,
		"gzip;q=high":                false,
		"gzip;q=2":                   false,
		"gzip;q=NaN":                 false,
		"gzip;level=9":               false,
		"deflate, br":                false,
		"gzipped":                    false,
		",, gzip ,":                  true,
	} {
		req, err := http.NewRequest(http.MethodGet, k.URL+"/_next/static/chunks/one.js", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header["Accept-Encoding"] = []string{accept}
		resp, err := k.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != want || resp.StatusCode != 200 {
			t.Errorf("%q: got packed %v (%d), want %v", accept, got, resp.StatusCode, want)
		}
	}
}
