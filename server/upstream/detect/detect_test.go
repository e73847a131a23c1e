package detect_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
	"chatwright.dev/tray/server/upstream/detect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers paths with texts; a status in front of one, as "503 …", is its status. Others are 404.
type server map[string]string

func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := s[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if rest, busy := strings.CutPrefix(text, "503 "); busy {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = rest
	}
	_, _ = w.Write([]byte(text))
}

// patience is for a machine under load.
const patience = 10 * time.Second

const someModels = `{"object":"list","data":[{"id":"m1","object":"model"}]}`

// fakes are the servers of the table, as their documentation has their answers.
var fakes = map[string]server{
	"ollama": {
		"/api/version": `{"version":"0.12.3"}`,
		"/api/tags":    `{"models":[{"name":"llama3.2:latest","size":2019393189},{"name":"big:70b","size":40000},{"name":"cold:1b","size":30}]}`,
		"/api/ps":      `{"models":[{"name":"llama3.2:latest","size":3500,"size_vram":3500},{"name":"big:70b","size":50000,"size_vram":20000}]}`,
		"/v1/models":   `{"object":"list","data":[{"id":"llama3.2:latest","object":"model","owned_by":"library"}]}`,
	},
	"LM Studio": {
		"/api/v1/models": `{"models":[{"type":"llm","key":"qwen/qwen3-4b","size_bytes":2500,"loaded_instances":[]},{"type":"llm","key":"gemma","size_bytes":7,"loaded_instances":[{"id":"gemma"}]}]}`,
		"/v1/models":     someModels,
	},
	"LM Studio of before": {
		"/api/v0/models": `{"object":"list","data":[{"id":"gemma","object":"model","type":"llm","state":"not-loaded"},{"id":"qwen","state":"loaded"}]}`,
		"/v1/models":     someModels,
	},
	"llama.cpp": {
		"/health":    `{"status":"ok"}`,
		"/props":     `{"default_generation_settings":{},"total_slots":4,"build_info":"b6800-abc"}`,
		"/v1/models": `{"object":"list","data":[{"id":"m.gguf","owned_by":"llamacpp","meta":{"size":4096}}]}`,
	},
	"llama.cpp with several": {
		"/props":     `{"total_slots":1}`,
		"/v1/models": `{"object":"list","data":[{"id":"a","status":{"value":"unloaded"}},{"id":"b","status":{"value":"loading"}},{"id":"c","status":{"value":"loaded"}}]}`,
	},
	"llama.cpp, loading": {
		"/health": `503 {"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
		"/props":  `503 {"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
	},
	"vLLM":                {"/version": `{"version":"0.11.0"}`, "/metrics": "# HELP x\nvllm:num_requests_running 0\n", "/v1/models": someModels},
	"SGLang":              {"/get_model_info": `{"model_path":"meta/llama","is_generation":true}`, "/v1/models": someModels},
	"Jan":                 {"/v1/models": `{"object":"list","data":[{"id":"m","owned_by":"Jan"}]}`},
	"GPT4All":             {"/v1/models": `{"object":"list","data":[{"id":"m","owned_by":"humanity"}]}`},
	"TabbyAPI":            {"/v1/models": `{"object":"list","data":[{"id":"m","owned_by":"tabbyAPI"}]}`},
	"text-generation-web": {"/v1/internal/model/info": `{"model_name":"m","lora_names":[]}`, "/v1/models": someModels},
	"Lemonade":            {"/api/v1/health": `{"status":"ok","model_loaded":"m","version":"8.1"}`},
	"Docker":              {"/engines/v1/models": someModels},
	"KoboldCpp": { // which imitates Ollama as well
		"/api/extra/version": `{"result":"KoboldCpp","version":"1.98"}`, "/api/version": `{"version":"0.7.0"}`, "/api/tags": `{"models":[]}`, "/v1/models": someModels,
	},
	"some other": {"/v1/models": someModels},
}

// running serves a fake and returns its address.
func running(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// find looks with these addresses on usual ports, and nothing on the others.
func find(t *testing.T, addresses map[int]string) []protocol.FoundServer {
	t.Helper()
	return findWithin(t, patience, addresses)
}

func findWithin(t *testing.T, timeout time.Duration, addresses map[int]string) []protocol.FoundServer {
	t.Helper()
	return detect.Find(t.Context(), detect.Config{Timeout: timeout, Address: func(port int) string { return addresses[port] }})
}

func TestEveryServerOfTheTable(t *testing.T) {
	for _, c := range []struct {
		fake string
		port int
		want protocol.FoundServer // BaseURL is what stands after the address
	}{
		{"ollama", 11434, protocol.FoundServer{Kind: "ollama", Name: "Ollama", BaseURL: "/v1", Version: "0.12.3", Reach: "ok"}},
		{"LM Studio", 1234, protocol.FoundServer{Kind: "lmstudio", Name: "LM Studio", BaseURL: "/v1", Reach: "ok"}},
		{"LM Studio of before", 1234, protocol.FoundServer{Kind: "lmstudio", Name: "LM Studio", BaseURL: "/v1", Reach: "ok"}},
		{"llama.cpp", 8080, protocol.FoundServer{Kind: "llama.cpp", Name: "llama.cpp", BaseURL: "/v1", Version: "b6800-abc", Reach: "ok"}},
		{"llama.cpp", 9931, protocol.FoundServer{Kind: "llama.cpp", Name: "llama.cpp", BaseURL: "/v1", Version: "b6800-abc", Reach: "ok"}},
		{"llama.cpp, loading", 8080, protocol.FoundServer{Kind: "llama.cpp", Name: "llama.cpp", BaseURL: "/v1", Reach: "loading"}},
		{"vLLM", 8000, protocol.FoundServer{Kind: "vllm", Name: "vLLM", BaseURL: "/v1", Version: "0.11.0", Reach: "ok"}},
		{"SGLang", 30000, protocol.FoundServer{Kind: "sglang", Name: "SGLang", BaseURL: "/v1", Reach: "ok"}},
		{"Jan", 1337, protocol.FoundServer{Kind: "jan", Name: "Jan", BaseURL: "/v1", Reach: "ok"}},
		{"GPT4All", 4891, protocol.FoundServer{Kind: "gpt4all", Name: "GPT4All", BaseURL: "/v1", Reach: "ok"}},
		{"TabbyAPI", 5000, protocol.FoundServer{Kind: "tabby", Name: "TabbyAPI", BaseURL: "/v1", Reach: "ok"}},
		{"text-generation-web", 5000, protocol.FoundServer{Kind: "textgen", Name: "text-generation-webui", BaseURL: "/v1", Reach: "ok"}},
		{"Lemonade", 13305, protocol.FoundServer{Kind: "lemonade", Name: "Lemonade", BaseURL: "/api/v1", Version: "8.1", Reach: "ok"}},
		{"Lemonade", 8000, protocol.FoundServer{Kind: "lemonade", Name: "Lemonade", BaseURL: "/api/v1", Version: "8.1", Reach: "ok"}},
		{"Docker", 12434, protocol.FoundServer{Kind: "docker", Name: "Docker Model Runner", BaseURL: "/engines/v1", Reach: "ok"}},
		{"KoboldCpp", 5001, protocol.FoundServer{Kind: "koboldcpp", Name: "KoboldCpp", BaseURL: "/v1", Version: "1.98", Reach: "ok"}},
		{"some other", 8080, protocol.FoundServer{Kind: "openai", Name: "OpenAI-compatible (llama.cpp or LocalAI or MLX or RamaLama?)", BaseURL: "/v1", Reach: "ok"}},
		{"some other", 1337, protocol.FoundServer{Kind: "openai", Name: "OpenAI-compatible (Jan?)", BaseURL: "/v1", Reach: "ok"}},
		// Look-alikes: what answers counts, not the port.
		{"ollama", 8080, protocol.FoundServer{Kind: "ollama", Name: "Ollama", BaseURL: "/v1", Version: "0.12.3", Reach: "ok"}},
		{"KoboldCpp", 5000, protocol.FoundServer{Kind: "koboldcpp", Name: "KoboldCpp", BaseURL: "/v1", Version: "1.98", Reach: "ok"}},
		{"some other", 11434, protocol.FoundServer{Kind: "openai", Name: "OpenAI-compatible (Ollama?)", BaseURL: "/v1", Reach: "ok"}},
	} {
		addr := running(t, fakes[c.fake])
		c.want.BaseURL = "http://" + addr + c.want.BaseURL
		if got := find(t, map[int]string{c.port: addr}); !reflect.DeepEqual(got, []protocol.FoundServer{c.want}) {
			t.Errorf("%s on %d: got %+v, want %+v", c.fake, c.port, got, c.want)
		}
	}
}

func TestSeveralAreFoundOllamaFirst(t *testing.T) {
	ollama, lm := running(t, fakes["ollama"]), running(t, fakes["LM Studio"])
	got := find(t, map[int]string{5001: running(t, fakes["KoboldCpp"]), 1234: lm, 11434: ollama})
	if len(got) != 3 || got[0].Name != "Ollama" || got[1].Name != "KoboldCpp" || got[2].Name != "LM Studio" {
		t.Errorf("got %+v", got)
	}
}

// Other programs of a developer's machine are not taken for model servers, and are asked little.
func TestProgramsThatAreNoModelServers(t *testing.T) {
	var asked atomic.Int32
	count := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.Method != http.MethodGet || r.ContentLength > 0 {
				t.Errorf("asked with %s", r.Method)
			}
			h(w, r)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"a page for every path":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!doctype html><p>Hello")) },
		"JSON for every path":        func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"ok"}`)) },
		"a list for every path":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[]`)) },
		"nothing but errors":         func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
		"redirects":                  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
		"an answer without an end":   func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); <-r.Context().Done() },
		"an empty data for all":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[]}`)) },
		"data that are no models":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[{"name":"x"}]}`)) },
		"an answer of a foreign API": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"object":"page","data":[]}`)) },
	} {
		asked.Store(0)
		timeout := patience
		if name == "an answer without an end" {
			timeout = 0
		}
		if got := findWithin(t, timeout, map[int]string{8080: running(t, count(h))}); len(got) != 0 {
			t.Errorf("%s: got %+v", name, got)
		}
		if n := asked.Load(); n > 4 {
			t.Errorf("%s: was asked %d times", name, n)
		}
	}
}

func TestWhatNeverAnswersHoldsNobodyUp(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	silent := ln.Addr().String()
	began := time.Now()
	if got := findWithin(t, 0, map[int]string{1234: silent, 8080: silent, 8000: silent}); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
}

// gateway.md: probes go to loopback only.
func TestOnlyThisMachineIsAsked(t *testing.T) {
	for _, address := range []string{"192.0.2.1:11434", "model.example:11434", "not an address"} {
		if got := find(t, map[int]string{11434: address}); len(got) != 0 {
			t.Errorf("%s: got %+v", address, got)
		}
	}
}

func models(t *testing.T, fake, path string) []protocol.Model {
	t.Helper()
	target, err := upstream.Parse("http://" + running(t, fakes[fake]) + path)
	if err != nil {
		t.Fatal(err)
	}
	return detect.Models(t.Context(), target)
}

func TestModelsAndTheirState(t *testing.T) {
	bytes := func(n int64) *int64 { return &n }
	for fake, want := range map[string][]protocol.Model{
		"ollama": {
			{ID: "llama3.2:latest", State: "loaded", SizeBytes: 3500, GPUBytes: bytes(3500)},
			{ID: "big:70b", State: "loaded", SizeBytes: 50000, GPUBytes: bytes(20000)},
			{ID: "cold:1b", State: "unloaded", SizeBytes: 30},
		},
		"LM Studio":              {{ID: "gemma", State: "loaded", SizeBytes: 7}, {ID: "qwen/qwen3-4b", State: "unloaded", SizeBytes: 2500}},
		"LM Studio of before":    {{ID: "qwen", State: "loaded"}, {ID: "gemma", State: "unloaded"}},
		"llama.cpp":              {{ID: "m.gguf", State: "loaded", SizeBytes: 4096}},
		"llama.cpp with several": {{ID: "c", State: "loaded"}, {ID: "b", State: "loading"}, {ID: "a", State: "unloaded"}},
		"some other":             {{ID: "m1", State: "unknown"}},
		"Lemonade":               nil,
	} {
		if got := models(t, fake, "/v1"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", fake, got, want)
		}
	}
	if got := models(t, "Docker", "/engines/v1"); len(got) != 1 || got[0].ID != "m1" {
		t.Errorf("Docker: got %+v", got)
	}
	if got := detect.Models(t.Context(), upstream.NewDemo(upstream.DemoConfig{})); len(got) != 1 || got[0].ID != "chatwright-demo" {
		t.Errorf("demo: got %+v", got)
	}
}

// The order of the tray: as set, used last, the only one, Ollama of several, the default.
func TestTheFirstChoice(t *testing.T) {
	ollama := protocol.FoundServer{Kind: "ollama", BaseURL: "o"}
	lm := protocol.FoundServer{Kind: "lmstudio", BaseURL: "l"}
	jan := protocol.FoundServer{Kind: "jan", BaseURL: "j"}
	for _, c := range []struct {
		configured, last string
		found            []protocol.FoundServer
		want             detect.Choice
	}{
		{"c", "l", []protocol.FoundServer{ollama, lm}, detect.Choice{BaseURL: "c", Why: "as set"}},
		{"", "l", []protocol.FoundServer{ollama, lm}, detect.Choice{BaseURL: "l", Why: "used last"}},
		{"", "gone", []protocol.FoundServer{lm}, detect.Choice{BaseURL: "l", Why: "the only model server found"}},
		{"", "", []protocol.FoundServer{lm, ollama}, detect.Choice{BaseURL: "o", Why: "Ollama, of several found"}},
		{"", "", []protocol.FoundServer{lm, jan}, detect.Choice{BaseURL: "l", Why: "the first of several found"}},
		{"", "gone", nil, detect.Choice{BaseURL: "d", Why: "no model server was found"}},
	} {
		if got := detect.Choose(c.configured, c.last, "d", c.found); got != c.want {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}

// A server that repeats its key as the name of a model must not have it shown.
func TestModelsDoNotTellTheKey(t *testing.T) {
	const key = "sk-planted-0123456789"
	target, err := upstream.Parse("http://" + running(t, server{"/v1/models": `{"data":[{"id":"for ` + key + `"}]}`}) + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	target.APIKey = key
	if got := detect.Models(t.Context(), target); len(got) != 1 || got[0].ID != "for "+strings.Repeat("*", len(key)) {
		t.Errorf("got %+v", got)
	}
}
