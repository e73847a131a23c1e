package assets_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

func (b chromium) testWithoutCalls(t *testing.T) {
	curl := servertest.Need(t, "curl", "curl")
	for _, c := range []struct {
		name   string
		models []string
		edit   func(*protocol.Status)
		want   string // the model that the command names
	}{
		{"the command names the demo model", []string{"other"}, func(s *protocol.Status) {
			s.Upstream = protocol.Upstream{Name: "Demo model", BaseURL: "demo", Demo: true, Reach: protocol.ReachOK}
		}, "chatwright-demo"},
		{"the command names the first model that can chat", []string{"nomic-embed-text", "qwen2.5:7b"}, func(*protocol.Status) {}, "qwen2.5:7b"},
		{"the command names no model that a shell would run", []string{"'; touch owned; '", "$(touch owned)", "a\nb", "-x"}, func(*protocol.Status) {}, "llama3.2"},
		{"an upstream that is down is not asked", []string{"other"}, func(s *protocol.Status) { s.Upstream.Reach = protocol.ReachDown }, "llama3.2"},
		{"an address of every interface is called as loopback", nil, func(s *protocol.Status) { s.Addr = "0.0.0.0" + s.Addr[strings.LastIndex(s.Addr, ":"):] }, "llama3.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			daemon := newCompanion(t)
			daemon.models = c.models
			daemon.change(c.edit)
			p := b.open(t, daemon.url("/"))
			p.waitFor(`document.querySelector('#curl').textContent`)
			p.waitFor(`document.querySelector('#curl').textContent.includes('"` + c.want + `"')`)
			p.wantText("#empty p", "No calls yet. Open Studio, or try:")

			// The line is right when a shell that gets it as it is makes the call.
			shell := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(p.text("#curl"), "curl ", curl+" -sS --fail ", 1))
			if out, err := shell.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := `application/json {"model":"` + c.want + `","messages":[{"role":"user","content":"Hello"}]}`
			daemon.locked(func() {
				if !slices.Equal(daemon.bodies, []string{want}) {
					t.Errorf("the command sent: got %q, want %q", daemon.bodies, want)
				}
			})
			daemon.end(protocol.Call{Model: c.want})
			p.waitFor(`document.querySelector('#empty').hidden`)
			p.clean(daemon)
		})
	}
}
