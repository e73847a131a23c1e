package upstream_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"chatwright.dev/tray/server/upstream"
)

func TestLoadedModelsOfAnOllama(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       []upstream.Loaded
		fails      bool
	}{
		{"two models", `{"models":[{"name":"llama3.2:latest","model":"llama3.2:latest","size":1000,"size_vram":620,"details":{}},
			{"name":"qwen3:4b","size":5,"size_vram":5}]}`, 200, []upstream.Loaded{{"llama3.2:latest", 1000, 620}, {"qwen3:4b", 5, 5}}, false},
		{"none on the GPU", `{"models":[{"name":"m","size":7,"size_vram":0}]}`, 200, []upstream.Loaded{{"m", 7, 0}}, false},
		{"where is not told", `{"models":[{"name":"m","size":7}]}`, 200, nil, false},
		{"nothing loaded", `{"models":[]}`, 200, nil, false},
		{"another server", `404 page not found`, 404, nil, true},
		{"not JSON", `<html>`, 200, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/ps" || r.Method != "GET" {
					t.Errorf("asked %s %s", r.Method, r.URL.Path)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			target, err := upstream.Parse(server.URL + "/v1")
			if err != nil {
				t.Fatal(err)
			}
			got, err := upstream.LoadedModels(t.Context(), target)
			if !slices.Equal(got, c.want) || (err != nil) != c.fails {
				t.Errorf("got %v, %v; want %v, an error: %v", got, err, c.want, c.fails)
			}
			target.Transport.(*http.Transport).CloseIdleConnections()
		})
	}
}

func TestALoadedModelGoesByItsNameWithOrWithoutItsTag(t *testing.T) {
	for _, c := range []struct {
		loaded, asked string
		want          bool
	}{
		{"llama3.2:latest", "llama3.2", true}, {"llama3.2:latest", "llama3.2:latest", true}, {"qwen3:4b", "qwen3:4b", true},
		{"qwen3:4b", "qwen3", false}, {"llama3.2:latest", "", false},
	} {
		if got := (upstream.Loaded{Name: c.loaded}).Is(c.asked); got != c.want {
			t.Errorf("%s for %q: got %v, want %v", c.loaded, c.asked, got, c.want)
		}
	}
}

func TestOnlyThisMachineIsLoopback(t *testing.T) {
	for base, want := range map[string]bool{
		"http://localhost:11434/v1": true, "http://127.0.0.1:1/v1": true, "http://[::1]:1/v1": true, "http://a.localhost:1": true,
		"http://0.0.0.0:11434": true, "http://192.168.0.7:11434/v1": false, "https://models.example/v1": false,
		"http://host.docker.internal:11434/v1": false, "demo": false,
	} {
		target, err := upstream.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.Loopback(); got != want {
			t.Errorf("%s: got %v, want %v", base, got, want)
		}
	}
}
