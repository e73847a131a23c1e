package server_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server"
)

// What Prometheus 3 sends.
const scraper = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4," +
	"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"

// gateway.md 19: JSON for everybody but those whose Accept prefers Prometheus' text by its q-values; ties to JSON.
func TestMetricsByContentNegotiation(t *testing.T) {
	r, _ := withUpstream(t, "chat", server.Config{})
	ask(t, r, "POST", chatPath, `{"model":"asked"}`)
	plain := ask(t, r, "GET", "/metrics", "")
	for _, c := range []struct {
		name   string
		accept []string
		text   bool
	}{
		{"nothing said", nil, false},
		{"an empty header", []string{""}, false},
		{"curl", []string{"*/*"}, false},
		{"fetch that wants JSON", []string{"application/json"}, false},
		{"axios: a tie", []string{"application/json, text/plain, */*"}, false},
		{"a browser: a tie", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}, false},
		{"text", []string{"text/plain"}, true},
		{"text of any kind", []string{"text/*"}, true},
		{"text before anything else", []string{"text/plain, */*;q=0.5"}, true},
		{"JSON before text", []string{"text/plain;q=0.5, application/json"}, false},
		{"JSON before text, by a range", []string{"text/plain;q=0.5, application/*"}, false},
		{"text refused", []string{"*/*;q=0.5, text/plain;q=0"}, false},
		{"JSON refused", []string{"*/*;q=0.5, application/json;q=0"}, true},
		{"neither", []string{"image/png"}, false},
		{"OpenMetrics", []string{"application/openmetrics-text"}, true},
		{"Prometheus", []string{scraper}, true},
		{"two headers", []string{"application/json;q=0.1", "text/plain;q=0.2"}, true},
		{"capitals", []string{"TEXT/Plain;Q=1"}, true},
		{"a quality above 1 is none", []string{"text/plain;q=7"}, false},
		{"a quality that is no number", []string{"text/plain;q=NaN"}, false},
		{"half a range", []string{"*/plain, text"}, false},
		{"nonsense", []string{",;=/*,,~;q"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var headers []string
			for _, accept := range c.accept {
				headers = append(headers, "Accept", accept)
			}
			got := ask(t, r, "GET", "/metrics", "", headers...)
			got.wantsHeader(t, "X-Content-Type-Options", "nosniff")
			if !c.text {
				got.wantsHeader(t, "Vary", "Origin", "Accept")
				got.wants(t, 200, plain.Body)
				got.wantsHeader(t, "Content-Type", jsonType)
				return
			}
			got.wantsHeader(t, "Vary", "Origin", "Accept", "Accept-Encoding")
			const want = `gen_ai_client_operation_duration_seconds_count{error_type="",gen_ai_request_model="asked",server_address="127.0.0.1",`
			if got.Status != 200 || !strings.Contains(got.Body, want) {
				t.Errorf("got %d %s, want %s", got.Status, got.Body, want)
			}
		})
	}
}

func TestPrometheusTextHasTheTypeThatWasAskedFor(t *testing.T) {
	r, _ := withUpstream(t, "chat", server.Config{})
	for accept, want := range map[string]string{
		"text/plain": "text/plain; version=0.0.4;",
		scraper:      "application/openmetrics-text; version=1.0.0;",
	} {
		if got := ask(t, r, "GET", "/metrics", "", "Accept", accept).Header.Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", accept, got, want)
		}
	}
	got := ask(t, r, "HEAD", "/metrics", "", "Accept", "text/plain")
	got.wants(t, 200, "")
}
