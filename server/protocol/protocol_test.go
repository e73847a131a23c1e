package protocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The golden files pin the protocol (sessions.md: "every type and route is versioned with it and pinned by golden
// files"). A change of one is a change of the wire: other programs read it.

func ptr[T any](v T) *T { return &v }

var at = time.Date(2026, 11, 30, 15, 43, 53, 764717246, time.UTC)

// samples holds, for each type, a value with every field set and one with as few as possible.
func samples() map[string]any {
	call := protocol.Call{
		Timestamp: at, Model: "llama3.2", LatencyMs: 1800, PromptTokens: 12, CompletionTokens: 412,
		ResponseFormat: "json_schema", Streamed: true, Status: 200, Error: "the upstream said <no> & left",
		FirstTokenMs: ptr(int64(300)), TokensPerSecond: 38.5, Verdict: protocol.VerdictComplete, BytesIn: 4096,
		BytesOut: 8192, OverheadUs: 120, FinishReason: "stop", Upstream: "localhost:11434", ID: "c1", UsageKnown: true,
		RequestModel: "llama3.2:latest",
	}
	least := protocol.Call{Timestamp: at, Status: 0, ID: "c2"}
	upstream := protocol.Upstream{Name: "localhost:11434", BaseURL: "http://localhost:11434/v1", Demo: true,
		Reach: protocol.ReachDown, Detail: "connection refused"}
	notice := protocol.Notice{Cause: "upstream", Text: "The upstream refused the connection", Hint: "is Ollama up?", Since: at}
	window := protocol.Window{Since: at.Add(-time.Hour), Until: at, Calls: 40, Errors: 1}
	ofModel := protocol.ModelMetrics{Model: "llama3.2", Calls: 41, Errors: 2, InFlight: 1, PromptTokens: 900, CompletionTokens: 1900,
		LatencyP50Ms: ptr(int64(1100)), LatencyP95Ms: ptr(int64(3300)), LatencyP99Ms: ptr(int64(4400)),
		FirstTokenP50Ms: ptr(int64(290)), TokensPerSecond: 38.25,
		Verdicts: map[protocol.Verdict]int64{protocol.VerdictComplete: 39, protocol.VerdictTruncated: 2}, Window: &window}
	metrics := protocol.Metrics{Calls: 42, Errors: 2, InFlight: 1, PromptTokens: 1000, CompletionTokens: 2000,
		LatencyP50Ms: ptr(int64(1200)), LatencyP95Ms: ptr(int64(3400)), LatencyP99Ms: ptr(int64(5600)),
		FirstTokenP50Ms: ptr(int64(300)), TokensPerSecond: 38,
		Verdicts: map[protocol.Verdict]int64{protocol.VerdictComplete: 40, protocol.VerdictCancelled: 2},
		Window:   &window,
		Models:   []protocol.ModelMetrics{ofModel},
		Recent:   []protocol.Call{least}}
	model := protocol.ModelTotals{Model: "llama3.2", Calls: 40, Errors: 2, PromptTokens: 900, CompletionTokens: 1900}
	today := protocol.Totals{Calls: 42, Errors: 2, PromptTokens: 1000, CompletionTokens: 2000, Models: []protocol.ModelTotals{model}}
	history := protocol.History{Today: today, Week: protocol.Totals{Calls: 99}, Dropped: 3}
	studio := protocol.StudioStatus{Stage: protocol.StudioDownloading, Version: "0.4.1", Previous: "0.4.0", Available: "0.6.0",
		Held: "0.5.0", Bytes: 1 << 20, Total: 3 << 20, Rate: 512 << 10, CheckedAt: at, Error: "no usable manifest", Hint: "check the network"}
	all := map[string]any{
		"Call":            call,
		"Call.least":      least,
		"CallsPage":       protocol.CallsPage{Calls: []protocol.Call{least}, Next: 7},
		"CallsPage.least": protocol.CallsPage{Calls: []protocol.Call{}},
		"Metrics":         metrics,
		"Metrics.least":   protocol.Metrics{},
		"Totals":          today,
		"Totals.least":    protocol.Totals{},
		"ModelTotals":     model,
		"History":         history,
		"History.least":   protocol.History{},
		"HistoryQuery": protocol.HistoryQuery{Since: at.AddDate(0, 0, -1), Until: at, Model: "llama3.2", Limit: 100,
			After: "1796053433764717246.42"},
		"HistoryQuery.least": protocol.HistoryQuery{},
		"HistoryPage":        protocol.HistoryPage{Calls: []protocol.Call{least}, Next: "1796053433764717246.42"},
		"HistoryPage.least":  protocol.HistoryPage{Calls: []protocol.Call{}},
		"ModelTotals.least":  protocol.ModelTotals{},
		"ModelMetrics":       ofModel,
		"ModelMetrics.least": protocol.ModelMetrics{Model: "llama3.2"},
		"Window":             window,
		"Health":             protocol.Health{Status: "ok"},
		"VersionInfo":        protocol.VersionInfo{Version: "0.1.0", Protocol: protocol.Version, InstanceID: "abc"},
		"Discovery": protocol.Discovery{InstanceID: "abc", PID: 4711, StartedAt: at, Version: "0.1.0", Protocol: protocol.Version,
			Addr: "127.0.0.1:4319", Socket: "/run/user/1000/chatwright/control.sock",
			Args: []string{"--headless"}, Dir: "/home/ada"},
		"ShutdownRequest":       protocol.ShutdownRequest{InstanceID: "abc", GraceMs: ptr(int64(0))},
		"ShutdownRequest.least": protocol.ShutdownRequest{InstanceID: "abc"},
		"OpenRequest":           protocol.OpenRequest{Target: protocol.OpenStudio, URLOnly: true},
		"OpenRequest.least":     protocol.OpenRequest{Target: protocol.OpenConsole},
		"OpenResponse":          protocol.OpenResponse{URL: "http://chatwright.localhost:4319/?a=1&b=2"},
		"Error":                 protocol.Error{Code: protocol.CodeConflict, Message: "the server is stopped", Hint: "start it"},
		"Error.least":           protocol.Error{Code: protocol.CodeInternal, Message: "it broke"},
		"Upstream":              upstream,
		"Upstream.least":        protocol.Upstream{Reach: protocol.ReachUnknown},
		"Launch":                protocol.Launch{Args: []string{"--headless"}, Dir: "/home/ada"},
		"Autostart":             protocol.Autostart{On: true, Trouble: "/opt/old/chatwright-tray is not there"},
		"Autostart.least":       protocol.Autostart{},
		"Release":               protocol.Release{Version: "0.2.0", URL: "https://chatwright.dev/tray"},
		"UI":                    protocol.UI{Source: protocol.UICopy, Version: "0.4.1"},
		"UI.least":              protocol.UI{Source: protocol.UIConsole},
		"Check": protocol.Check{ID: "port", Name: "Address", State: protocol.CheckFailed, Detail: "127.0.0.1:4319 is held by python3 (pid 812)",
			Fix: "end that program"},
		"Check.least": protocol.Check{ID: "bus", Name: "Session bus", State: protocol.CheckOK, Detail: "it answers"},
		"FoundServer": protocol.FoundServer{Kind: "ollama", Name: "Ollama", BaseURL: "http://localhost:11434/v1", Version: "0.12.3",
			Reach: protocol.ReachOK},
		"FoundServer.least": protocol.FoundServer{Kind: "openai", Name: "OpenAI-compatible", BaseURL: "http://localhost:8080/v1",
			Reach: protocol.ReachOK},
		"Model":         protocol.Model{ID: "llama3.2:latest", State: protocol.ModelLoaded, SizeBytes: 3500, GPUBytes: ptr(int64(0))},
		"Model.least":   protocol.Model{ID: "m", State: protocol.ModelUnknown},
		"Notice":        notice,
		"Notice.least":  protocol.Notice{Cause: "port", Text: "The port is held", Since: at},
		"Holder":        protocol.Holder{Name: "shop", Kind: protocol.HolderPostgres, Reach: protocol.ReachDown, Detail: "connection refused"},
		"Holder.least":  protocol.Holder{Name: "lists", Kind: protocol.HolderFixtures, Reach: protocol.ReachOK},
		"Holders":       protocol.Holders{Holders: []protocol.Holder{{Name: "lists", Kind: protocol.HolderSQLite, Reach: protocol.ReachOK}}},
		"Holders.least": protocol.Holders{Holders: []protocol.Holder{}},
		"Status": protocol.Status{InstanceID: "abc", Version: "0.1.0", PID: 4711, StartedAt: at, Phase: protocol.PhaseDegraded,
			Detail: "why", Addr: "127.0.0.1:4319", Upstream: upstream, UI: protocol.UI{Source: protocol.UIFolder},
			Metrics: metrics, History: &history, Studio: &studio, Sessions: &protocol.SessionCounts{Live: 3, Running: 1}, Recording: "tapes", Capture: protocol.CaptureMemory,
			Autostart: &protocol.Autostart{On: true, Trouble: "the program is not there"}, Release: &protocol.Release{Version: "0.2.0", URL: "https://chatwright.dev/tray"},
			Notices: []protocol.Notice{notice}},
		"Status.least":       protocol.Status{Phase: protocol.PhaseStarting},
		"StudioStatus":       studio,
		"StudioStatus.least": protocol.StudioStatus{Stage: protocol.StudioIdle},
		"StudioVersion": protocol.StudioVersion{Version: "0.4.1", SHA256: strings.Repeat("ab", 32), UIContract: 1, InstalledAt: at,
			Source: protocol.StudioRelease},
		"StudioUpdateRequest":       protocol.StudioUpdateRequest{IgnoreHold: true},
		"StudioUpdateRequest.least": protocol.StudioUpdateRequest{},
		"StudioPruned":              protocol.StudioPruned{Removed: []string{"0.3.0"}, Bytes: 3 << 20, InUse: []string{"0.2.0"}},
		"StudioPruned.least":        protocol.StudioPruned{Removed: []string{}},
	}
	maps.Copy(all, sessionSamples())
	maps.Copy(all, eventSamples())
	maps.Copy(all, upstreamSamples())
	maps.Copy(all, consoleSamples(least, upstream))
	return all
}

func upstreamSamples() map[string]any {
	profile := protocol.UpstreamProfile{Name: "work", Kind: protocol.KindOpenAI, BaseURL: "https://llm.example/v1", HasKey: true,
		Model: "llama3.2", Protocol: protocol.ProtocolChatCompletions}
	entry := protocol.UpstreamEntry{UpstreamProfile: profile, Source: protocol.SourceNamed, Active: true, Reach: protocol.ReachDown,
		Detail: "no answer from llm.example in time"}
	return map[string]any{
		"UpstreamProfile":       profile,
		"UpstreamProfile.least": protocol.UpstreamProfile{Name: "work"},
		"PutUpstreamRequest": protocol.PutUpstreamRequest{Name: "work", Kind: protocol.KindOpenAI, BaseURL: "https://llm.example/v1",
			APIKey: ptr("sk-0123456789"), HasKey: true, Model: "llama3.2", Protocol: protocol.ProtocolChatCompletions},
		"PutUpstreamRequest.least": protocol.PutUpstreamRequest{BaseURL: "http://localhost:1234/v1"},
		"UpstreamEntry":            entry,
		"UpstreamEntry.least":      protocol.UpstreamEntry{Source: protocol.SourceConfigured, Reach: protocol.ReachUnknown},
		"UpstreamList":             protocol.UpstreamList{Upstreams: []protocol.UpstreamEntry{entry}},
		"UpstreamList.least":       protocol.UpstreamList{Upstreams: []protocol.UpstreamEntry{}},
		"SessionCounts":            protocol.SessionCounts{Live: 3, Running: 1},
		"SessionCounts.least":      protocol.SessionCounts{},
	}
}

func TestTypesLookOnTheWireAsTheyAlwaysDid(t *testing.T) {
	for name, value := range samples() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(value); err != nil {
				t.Fatal(err)
			}
			compare(t, name+".json", got.Bytes())
		})
	}
}

func TestGoldenFilesReadBackAsTheSameValue(t *testing.T) {
	for name, want := range samples() {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			got := reflect.New(reflect.TypeOf(want))
			dec := json.NewDecoder(bytes.NewReader(data))
			dec.DisallowUnknownFields()
			if err := dec.Decode(got.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Elem().Interface(), want) {
				t.Errorf("got  %+v\nwant %+v", got.Elem().Interface(), want)
			}
		})
	}
}

// A sample that leaves a field at zero pins nothing about it.
func TestSamplesSetEveryField(t *testing.T) {
	for name, value := range samples() {
		if strings.HasSuffix(name, ".least") {
			continue
		}
		v := reflect.ValueOf(value)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is not set", name, v.Type().Field(i).Name)
			}
		}
	}
}

func TestEveryTypeHasASampleAndEveryGoldenFileAType(t *testing.T) {
	have := samples()
	structs, _ := declarations(t)
	for _, name := range structs {
		if _, ok := have[name]; !ok {
			t.Errorf("type %s has no sample", name)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if _, ok := have[name]; !ok {
			t.Errorf("%s belongs to no sample", file)
		}
	}
}

// The words are as much of the wire as the names of the fields.
func TestWordsOnTheWireAreTheOnesThatPeopleDecideOn(t *testing.T) {
	_, words := declarations(t)
	compare(t, "words.txt", []byte(strings.Join(words, "\n")+"\n"))
}

// declarations reads this package's source: its exported struct types, and its string constants as "Name = value".
func declarations(t *testing.T) (structs, words []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if _, ok := n.Type.(*ast.StructType); ok && n.Name.IsExported() {
					structs = append(structs, n.Name.Name)
				}
			case *ast.ValueSpec:
				for i, value := range n.Values {
					if lit, ok := value.(*ast.BasicLit); ok {
						words = append(words, fmt.Sprintf("%s = %s", n.Names[i].Name, lit.Value))
					}
				}
			}
			return true
		})
	}
	slices.Sort(words)
	return structs, words
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}
