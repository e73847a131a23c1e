package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// openAIPackage is the newest major that runs on the Node.js of Debian (version 7 wants 22).
const openAIPackage = "openai@6"

// The openai package of npm talks to the demo model through the program, as the programs of users do.
func TestNpmOpenAIClient(t *testing.T) {
	node := servertest.Need(t, "node", "nodejs npm")
	script := installOpenAI(t, servertest.Need(t, "npm", "nodejs npm"))
	for name, env := range map[string][]string{"as it comes": nil, "with meter-usage": {"CHATWRIGHT_SERVER_METER_USAGE=true"}} {
		t.Run(name, func(t *testing.T) {
			c := newUser(t, env...).launch("--headless")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, script, c.url("/v1"))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("the client: %v\n%s", err, stderr.String())
			}
			checkOpenAI(t, out)
			checkOpenAICalls(t, c)
		})
	}
}

// installOpenAI installs the package beside the script, in a folder of its own, and returns where the script is.
func installOpenAI(t *testing.T, npm string) string {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile("testdata/openai.mjs")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(folder, "openai.mjs")
	if err := errorsOf(os.WriteFile(script, text, 0o600),
		os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"private":true}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", openAIPackage)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		servertest.Missing(t, "npm cannot install "+openAIPackage+" (is there a registry?): "+err.Error()+"\n"+string(out))
	}
	return script
}

func checkOpenAI(t *testing.T, out []byte) {
	t.Helper()
	type said struct {
		Text   string
		Tokens int
		Finish []string
		Empty  int
	}
	var got struct {
		Models                []string
		Plain, Stream, Asking said
		Tool                  struct {
			Finish string
			Calls  []string
		}
		Structured map[string]any
		Error      struct {
			Name, Code string
			Status     int
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if !reflect.DeepEqual(got.Models, []string{"chatwright-demo"}) {
		t.Errorf("models: got %v", got.Models)
	}
	for what, text := range map[string]string{"plain": got.Plain.Text, "stream": got.Stream.Text, "asking": got.Asking.Text} {
		if !strings.Contains(text, "two and two") {
			t.Errorf("%s: got %q, want what was asked in it", what, text)
		}
	}
	if got.Plain.Tokens == 0 || got.Asking.Tokens != got.Plain.Tokens {
		t.Errorf("tokens: got %d plain, %d in a stream that asks for them", got.Plain.Tokens, got.Asking.Tokens)
	}
	if !reflect.DeepEqual(got.Stream.Finish, []string{"stop"}) || got.Stream.Empty != 0 {
		t.Errorf("stream: finished by %v, %d chunks without a choice; want stop and none", got.Stream.Finish, got.Stream.Empty)
	}
	if got.Tool.Finish != "tool_calls" || !reflect.DeepEqual(got.Tool.Calls, []string{`look({"city":"demo"})`}) {
		t.Errorf("tool: got %+v", got.Tool)
	}
	if got.Structured["action"] != "click" || reflect.TypeOf(got.Structured["done"]) != reflect.TypeFor[bool]() || len(got.Structured) != 2 {
		t.Errorf("structured: got %v, want an object of the schema", got.Structured)
	}
	if got.Error.Name != "NotFoundError" || got.Error.Status != 404 || got.Error.Code != "model_not_found" {
		t.Errorf("error: got %+v", got.Error)
	}
}

// checkOpenAICalls looks at what the companion recorded of them.
func checkOpenAICalls(t *testing.T, c *companion) {
	t.Helper()
	status := c.awaitStatus("six calls", func(s protocol.Status) bool { return s.Metrics.Calls == 6 && s.Metrics.InFlight == 0 })
	if got := status.Metrics.Errors; got != 1 {
		t.Errorf("errors: got %d, want the model that does not exist", got)
	}
	page, err := c.Calls(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, call := range page.Calls[:5] {
		streamed := 1 <= i && i <= 3
		if call.Verdict != protocol.VerdictComplete || !call.UsageKnown || call.CompletionTokens == 0 || call.Streamed != streamed {
			t.Errorf("call %d: got %+v", i, call)
		}
	}
}
