package proxy_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
)

func packed(t *testing.T, coding, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		encoder, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = encoder
	default:
		return []byte(text)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// security.md 8: a key comes back in no answer, not even in one that the server compressed though it was asked not to.
func TestTheKeyIsBlankedOutBehindAContentCoding(t *testing.T) {
	const key = "sk-profile-0123456789"
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "identity", "GZIP"} {
		t.Run(coding, func(t *testing.T) {
			accepts := make(chan []string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				accepts <- r.Header.Values("Accept-Encoding")
				w.Header().Set("Content-Encoding", coding)
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write(packed(t, strings.ToLower(coding), fmt.Sprintf(`{"error":{"message":"no %s"}}`, r.Header.Get("Authorization"))))
			}))
			t.Cleanup(server.Close)
			target := parse(t, server.URL)
			target.APIKey = key
			f := startFront(t, target, func(*proxy.Config) {})
			answer, body := f.chat(`{"model":"m"}`, "Accept-Encoding", "gzip, br, zstd")
			if got := <-accepts; len(got) != 1 || got[0] != "identity" {
				t.Errorf("Accept-Encoding: got %q, want identity", got)
			}
			if want := `{"error":{"message":"no Bearer *********************"}}`; body != want || answer.StatusCode != 401 {
				t.Errorf("got %d %q, want 401 %q", answer.StatusCode, body, want)
			}
			if got := answer.Header.Get("Content-Encoding"); got != "" && got != "identity" {
				t.Errorf("Content-Encoding: got %q, want none", got)
			}
			f.wantVerdict(401, protocol.VerdictUpstreamError)
		})
	}
}

// A coding that nobody here can undo may hide the key, so its answer is not passed on; without a key of ours it is.
func TestAnUnknownContentCodingIsPassedOnOnlyWithoutAKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip, br")
		_, _ = io.WriteString(w, "sk-profile-0123456789")
	}))
	t.Cleanup(server.Close)
	target := parse(t, server.URL)
	f := startFront(t, target, func(*proxy.Config) {})
	if answer, body := f.chat(`{"model":"m"}`); answer.StatusCode != 200 || body != "sk-profile-0123456789" {
		t.Errorf("without a key: got %d %q", answer.StatusCode, body)
	}
	f.record()
	keyed := parse(t, server.URL)
	keyed.APIKey = "sk-profile-0123456789"
	f = startFront(t, keyed, func(*proxy.Config) {})
	answer, body := f.chat(`{"model":"m"}`)
	if answer.StatusCode != http.StatusBadGateway || !strings.Contains(body, "upstream_unknown_coding") || strings.Contains(body, "sk-profile") {
		t.Errorf("with a key: got %d %q, want 502", answer.StatusCode, body)
	}
	f.wantVerdict(200, protocol.VerdictUpstreamError)
}

// What claims to be compressed and is not breaks off; it is not passed on, and nobody falls over it.
func TestABrokenContentCodingBehindAKey(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			_, _ = io.WriteString(w, "\xff\xff\xff sk-profile-0123456789")
		}))
		t.Cleanup(server.Close)
		target := parse(t, server.URL)
		target.APIKey = "sk-profile-0123456789"
		f := startFront(t, target, func(*proxy.Config) {})
		if answer, body := f.chat(`{"model":"m"}`); answer.StatusCode != http.StatusBadGateway || strings.Contains(body, "sk-profile") {
			t.Errorf("%s: got %d %q, want 502", coding, answer.StatusCode, body)
		}
		f.record()
	}
}
