package app

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
)

// received is a collector that hands on what it gets: the path, and bytes in which texts stand as they are.
func received(t *testing.T) (url string, got chan [2]string) {
	t.Helper()
	got = make(chan [2]string, 64)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- [2]string{r.URL.Path, string(body)}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

const secretText = "marked-secret-of-a-prompt"

func (l *living) prompt(model string) {
	l.t.Helper()
	body := `{"model":"` + model + `","messages":[{"role":"user","content":"` + secretText + `"}]}`
	resp, err := http.Post("http://"+l.discovery().Addr+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("choices")) {
		l.t.Fatalf("status %d, %v: %s", resp.StatusCode, err, answer)
	}
}

// The last calls are exported before the app has ended, and never what was in them.
func TestCallsReachTheCollector(t *testing.T) {
	url, got := received(t)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "otlp-endpoint="+url) })
	l.prompt("chatwright-demo")
	l.end()
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil // for the cleanup
	paths := map[string]bool{}
	for len(got) > 0 {
		one := <-got
		paths[one[0]] = true
		if !strings.Contains(one[1], "chatwright-demo") {
			t.Errorf("%s does not name the model: %q", one[0], one[1])
		}
		if strings.Contains(one[1], secretText) {
			t.Errorf("%s holds content: %q", one[0], one[1])
		}
	}
	if !paths["/v1/traces"] || !paths["/v1/metrics"] {
		t.Errorf("got %v, want traces and metrics", paths)
	}
}

func TestHangupChangesTheCollector(t *testing.T) {
	first, fromFirst := received(t)
	second, fromSecond := received(t)
	hangup := make(chan os.Signal, 1)
	next := make(chan settings.Settings, 1)
	l := live(t, func(c *Config) {
		c.Settings = settingsWith(t, "otlp-endpoint="+first)
		c.Hangup = hangup
		c.Reload = func() (settings.Settings, error) { return <-next, nil }
	})
	l.prompt("chatwright-demo")
	next <- settingsWith(t, "otlp-endpoint="+second)
	hangup <- os.Interrupt
	<-fromFirst // what was left for it
	l.prompt("chatwright-demo")
	l.end()
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil // for the cleanup
	if len(fromSecond) == 0 {
		t.Error("the second collector got nothing")
	}
}

// Nothing of the SDK runs while no collector is named.
func TestWithoutACollectorNothingOfTheSDKRuns(t *testing.T) {
	l := live(t, func(*Config) {})
	l.prompt("chatwright-demo")
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if bytes.Contains(stacks, []byte("go.opentelemetry.io")) {
		t.Errorf("got\n%s", stacks)
	}
}
