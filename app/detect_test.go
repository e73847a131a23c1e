package app

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
)

// modelServer is one of this machine, told by its answers; those to a call hold its name.
func modelServer(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s
}

func ollamaServer(t *testing.T) *httptest.Server {
	return modelServer(t, map[string]string{
		"/api/version": `{"version":"0.12.3"}`,
		"/api/tags":    `{"models":[{"name":"llama3.2:latest","size":2000000000},{"name":"cold:1b","size":1300000000}]}`,
		"/api/ps":      `{"models":[{"name":"llama3.2:latest","size":3500000000,"size_vram":2205000000}]}`,
		"/v1/models":   `{"data":[{"id":"llama3.2:latest"}]}`, "/v1/chat/completions": `{"choices":[{"message":{"content":"by Ollama"}}]}`,
	})
}

func lmStudioServer(t *testing.T) *httptest.Server {
	return modelServer(t, map[string]string{
		"/api/v1/models": `{"models":[{"key":"gemma","size_bytes":7000000,"loaded_instances":[]}]}`,
		"/v1/models":     `{"data":[{"id":"gemma"}]}`, "/v1/chat/completions": `{"choices":[{"message":{"content":"by LM Studio"}}]}`,
	})
}

// machine is which model servers run where on the machine of a test, by the port that they usually have.
type machine struct {
	mu sync.Mutex
	at map[int]string
}

func (m *machine) put(port int, s *httptest.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		m.at = map[int]string{}
	}
	m.at[port] = strings.Replace(s.Listener.Addr().String(), "127.0.0.1", "localhost", 1)
}

func (m *machine) address(port int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[port]
}

// unset are settings in which nobody has said which upstream there is to be.
func unset(t *testing.T) settings.Settings {
	t.Helper()
	s, err := settings.Load(settings.Input{Flag: func(name string) ([]string, bool) { return []string{"127.0.0.1:0"}, name == "addr" }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// on lets a companion live on that machine, with settings in which no upstream is set.
func on(m *machine) func(*Config) {
	return func(c *Config) { c.Detect.Address, c.Detect.Timeout = m.address, patience }
}

func liveOn(t *testing.T, m *machine, change func(*Config)) *living {
	t.Helper()
	return live(t, func(c *Config) {
		c.Settings = unset(t)
		on(m)(c)
		if change != nil {
			change(c)
		}
	})
}

func TestTheOnlyModelServerFoundIsUsedAtOnce(t *testing.T) {
	m := &machine{}
	m.put(1234, lmStudioServer(t))
	l := liveOn(t, m, nil)
	l.awaitMenu("LM Studio · localhost:")
	l.awaitMenu("· LM Studio  ") // the status row
	menu := l.awaitMenu("In use: The only model server found")
	for _, want := range []string{"Look again", "Demo model", "localhost:11434"} {
		if !strings.Contains(menu, want) {
			t.Errorf("the menu lacks %q:\n%s", want, menu)
		}
	}
	if status, body := l.ask(`{"model":"gemma"}`); status != 200 || !strings.Contains(body, "by LM Studio") {
		t.Errorf("got %d %s", status, body)
	}
	list, err := l.client().Upstreams(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	found := list.Upstreams[len(list.Upstreams)-1]
	if found.Name != "lmstudio" || found.Source != protocol.SourceFound || !found.Active || found.Reach != protocol.ReachOK || !strings.HasSuffix(found.BaseURL, "/v1") {
		t.Errorf("got %+v", found)
	}
}

// A person chooses a found one, and has it again at the next start, where Ollama would be the first choice.
func TestWhatWasUsedLastComesBeforeWhatIsFound(t *testing.T) {
	m, where := &machine{}, pathsIn(t)
	m.put(1234, lmStudioServer(t))
	m.put(11434, ollamaServer(t))
	run := func(do func(*living)) {
		t.Helper()
		l := liveOn(t, m, func(c *Config) { c.Paths = where })
		do(l)
		l.end()
		if err := <-l.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		l.ended <- nil
	}
	run(func(l *living) {
		l.awaitMenu("In use: Ollama, of several found")
		if err := l.client().UseUpstream(t.Context(), "lmstudio"); err != nil {
			t.Fatal(err)
		}
		l.awaitMenu("In use: Chosen")
	})
	run(func(l *living) {
		l.awaitMenu("In use: Used last")
		if _, body := l.ask(`{"model":"m"}`); !strings.Contains(body, "by LM Studio") {
			t.Errorf("got %s", body)
		}
		l.click(tray.UseDemo)
		l.awaitMenu("Back to LM Studio") // and not to what the settings have, which was not in use
		l.click(tray.UseConfigured)
		l.awaitMenu("In use: Chosen")
		if got := active(t, l.client()); got != "lmstudio" {
			t.Errorf("%s is in use", got)
		}
	})
	m.mu.Lock()
	delete(m.at, 1234)
	m.mu.Unlock()
	run(func(l *living) { l.awaitMenu("In use: The only model server found") })
}

// A call does not wait for the look: until that is over it goes where calls went last.
func TestACallBeforeTheLookGoesWhereTheLastOneWent(t *testing.T) {
	m, where := &machine{}, pathsIn(t)
	m.put(1234, lmStudioServer(t))
	first := liveOn(t, m, func(c *Config) { c.Paths = where })
	first.awaitMenu("In use: The only model server found")
	if err := first.client().UseUpstream(t.Context(), "lmstudio"); err != nil {
		t.Fatal(err)
	}
	first.awaitMenu("In use: Chosen")
	first.end()
	err := <-first.ended
	if first.ended <- nil; err != nil {
		t.Fatal(err)
	}
	look := make(chan struct{})
	l := liveOn(t, m, func(c *Config) {
		c.Paths = where
		c.Detect.Address = func(port int) string { <-look; return m.address(port) }
	})
	defer close(look)
	if _, body := l.ask(`{"model":"m"}`); !strings.Contains(body, "by LM Studio") {
		t.Errorf("got %s", body)
	}
}

// With nothing there the default is shown as not reachable and the demo offered; a look finds what was started since.
func TestALookFindsWhatWasStartedSince(t *testing.T) {
	m := &machine{}
	l := liveOn(t, m, nil)
	l.awaitMenu("In use: No model server was found")
	m.put(11434, ollamaServer(t))
	l.click(tray.LookAgain)
	l.awaitMenu("In use: The only model server found")
	if _, body := l.ask(`{"model":"m"}`); !strings.Contains(body, "by Ollama") {
		t.Errorf("got %s", body)
	}
	m.put(1234, lmStudioServer(t))
	l.click(tray.LookAgain)
	l.awaitMenu("LM Studio")
	if got := active(t, l.client()); got != "ollama" {
		t.Errorf("%s is in use: a look must not switch what is in use", got)
	}
}

// Nothing switches by itself, since whoever tests a bot wants to know which model answers; but what else there is is said.
func TestWhenTheUpstreamGoesAwayTheOthersAreOffered(t *testing.T) {
	m, ollama := &machine{}, ollamaServer(t)
	m.put(11434, ollama)
	m.put(1234, lmStudioServer(t))
	l := liveOn(t, m, nil)
	l.awaitMenu("In use: Ollama, of several found")
	ollama.Close()
	if status, _ := l.ask(`{"model":"m"}`); status != http.StatusBadGateway {
		t.Errorf("got %d", status)
	}
	l.awaitStatus("an offer", func(s protocol.Status) bool {
		return len(s.Notices) == 1 && strings.Contains(s.Notices[0].Hint, "LM Studio · localhost:") && strings.Contains(s.Notices[0].Hint, "upstream use lmstudio")
	})
	if got := active(t, l.client()); got != "ollama" {
		t.Errorf("%s is in use", got)
	}
}

// Whoever named an upstream has no ports knocked at until they ask.
func TestNobodyLooksWhereAnUpstreamWasNamed(t *testing.T) {
	m := &machine{}
	knocked := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { knocked <- r.URL.Path; http.NotFound(w, r) }))
	t.Cleanup(s.Close)
	m.put(11434, s)
	l := live(t, on(m))
	l.awaitMenu("In use: As set")
	l.awaitStatus("a probe", func(s protocol.Status) bool { return s.Upstream.Reach == protocol.ReachOK })
	if len(knocked) != 0 {
		t.Errorf("somebody asked for %s", <-knocked)
	}
	l.click(tray.LookAgain)
	<-knocked
}

func TestOurOwnPortIsLeftOut(t *testing.T) {
	addr := closedAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	l := live(t, func(c *Config) {
		c.Settings = settingsWith(t, "addr="+addr)
		c.Detect.Address = func(int) string { return "localhost:" + port }
	})
	list, err := l.client().Upstreams(t.Context(), true)
	if err != nil || len(list.Upstreams) != 2 {
		t.Errorf("got %+v, %v: the companion is no model server of its own", list, err)
	}
}

func TestTheMenuShowsWhichModelsAreLoadedAndWhere(t *testing.T) {
	m := &machine{}
	s := ollamaServer(t)
	m.put(11434, s)
	l := liveOn(t, m, nil)
	menu := l.awaitMenu("● llama3.2:latest · 3.5 GB · 63 % on the GPU")
	if !strings.Contains(menu, "    cold:1b · 1.3 GB") {
		t.Errorf("the menu does not show the other model:\n%s", menu)
	}
	s.Close()
	if status, _ := l.ask(`{"model":"m"}`); status != http.StatusBadGateway {
		t.Errorf("got %d", status)
	}
	l.awaitView("no models", func(menu string) bool { return !strings.Contains(menu, "Models ▸") })
}

// The models that a call has loaded are shown after it.
func TestModelsAreAskedForAfterCalls(t *testing.T) {
	var mu sync.Mutex
	loaded := `{"models":[]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.URL.Path {
		case "/api/tags":
			_, _ = w.Write([]byte(`{"models":[{"name":"m","size":1000000}]}`))
		case "/api/ps":
			_, _ = w.Write([]byte(loaded))
		case "/v1/models":
			_, _ = w.Write([]byte(`{"data":[]}`))
		default:
			loaded = `{"models":[{"name":"m","size":2000000,"size_vram":0}]}`
			_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{}})
		}
	}))
	t.Cleanup(s.Close)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "upstream="+s.URL+"/v1") })
	l.awaitMenu("    m · 1 MB ")
	l.ask(`{"model":"m"}`)
	l.awaitMenu("    ● m · 2 MB · CPU")
}
