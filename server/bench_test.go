package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkGuard is what the guard costs a call: from a program, from Studio's page, and from a page that is refused.
func BenchmarkGuard(b *testing.B) {
	g, err := newGuard(Config{}, nil, func(http.ResponseWriter, *http.Request) {})
	if err != nil {
		b.Fatal(err)
	}
	for name, headers := range map[string]map[string]string{
		"program": {},
		"studio":  {"Origin": "http://chatwright.localhost:4319", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
		"hosted":  {"Origin": "https://chatwright.dev", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
	} {
		b.Run(name, func(b *testing.B) {
			local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4319}
			ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(local))
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", nil)
			r.Host = "127.0.0.1:4319"
			for name, value := range headers {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				clear(w.Header())
				g.ServeHTTP(w, r)
			}
			if w.Header().Get("Vary") != "Origin" {
				b.Fatal("the guard did not run")
			}
		})
	}
}

// BenchmarkHealth is the shortest way through the whole surface, without a network.
func BenchmarkHealth(b *testing.B) {
	s, err := New(Config{Version: "1"})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/health", nil)
	r.Host = "127.0.0.1:4319"
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
