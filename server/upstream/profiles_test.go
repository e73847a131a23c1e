package upstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

const planted = "sk-planted-0123456789"

func openProfiles(t *testing.T, path string) *upstream.Profiles {
	t.Helper()
	p, setAside, err := upstream.OpenProfiles(path)
	if err != nil || setAside != "" {
		t.Fatalf("opening: %v, set aside %q", err, setAside)
	}
	return p
}

func put(t *testing.T, p *upstream.Profiles, profile upstream.Profile, keep bool) upstream.Profile {
	t.Helper()
	stored, _, err := p.Put(profile, keep)
	if err != nil {
		t.Fatalf("putting %s: %v", profile.Name, err)
	}
	return stored
}

func TestProfilesOutliveTheProcessInAFileThatIsTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "upstreams.json")
	p := openProfiles(t, path)
	put(t, p, upstream.Profile{Name: "work", BaseURL: "https://llm.example/v1/", APIKey: planted + "\n", Model: " big "}, false)
	put(t, p, upstream.Profile{Name: "Home", BaseURL: "http://0.0.0.0:1234/v1"}, false)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: got %v, %v, want 0600", info.Mode(), err)
	}

	again := openProfiles(t, path)
	want := []upstream.Profile{
		{Name: "Home", Kind: protocol.KindOpenAI, BaseURL: "http://127.0.0.1:1234/v1", Protocol: protocol.ProtocolChatCompletions},
		{Name: "work", Kind: protocol.KindOpenAI, BaseURL: "https://llm.example/v1", APIKey: planted, Model: "big", Protocol: protocol.ProtocolChatCompletions},
	}
	if got := again.List(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("read back: got %v, want %v", got, want)
	}
	profile, target, err := again.Get("work")
	if err != nil || profile != want[1] {
		t.Errorf("work: got %v, %v", profile, err)
	}
	if target.Name != "work" || target.String() != "https://llm.example/v1" || target.APIKey != planted {
		t.Errorf("its target: got %s %s", target.Name, target)
	}
	if err := again.Delete("work"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(planted)) {
		t.Errorf("the key of a deleted profile is still in the file (%v)", err)
	}
	if target.APIKey != planted {
		t.Error("a call in flight lost its key")
	}
}

func TestBadProfilesAreRefusedWithoutSayingWhatTheyHold(t *testing.T) {
	ok := upstream.Profile{Name: "a", BaseURL: "http://localhost:1/v1"}
	with := func(change func(*upstream.Profile)) upstream.Profile { c := ok; change(&c); return c }
	for want, bad := range map[string]upstream.Profile{
		"is no name of an upstream":      with(func(p *upstream.Profile) { p.Name = "" }),
		`"-a" is no name`:                with(func(p *upstream.Profile) { p.Name = "-a" }),
		`"a/../b" is no name`:            with(func(p *upstream.Profile) { p.Name = "a/../b" }),
		`"a\nb" is no name`:              with(func(p *upstream.Profile) { p.Name = "a\nb" }),
		`…" is no name`:                  with(func(p *upstream.Profile) { p.Name = strings.Repeat("a", 65) + strings.Repeat("b", 99) }),
		`"Demo": the name is taken`:      with(func(p *upstream.Profile) { p.Name = "Demo" }),
		`"configured": the name is`:      with(func(p *upstream.Profile) { p.Name = "configured" }),
		`kind: "anthropic" is unknown`:   with(func(p *upstream.Profile) { p.Kind = "anthropic" }),
		`protocol: "responses" is`:       with(func(p *upstream.Profile) { p.Protocol = "responses" }),
		"base_url: it is empty":          with(func(p *upstream.Profile) { p.BaseURL = "" }),
		"base_url: it has no scheme":     with(func(p *upstream.Profile) { p.BaseURL = "demo" }),
		"base_url: it holds a user name": with(func(p *upstream.Profile) { p.BaseURL = "https://u:" + planted + "@h/v1" }),
		"base_url: it holds a query":     with(func(p *upstream.Profile) { p.BaseURL = "https://h/v1?key=" + planted }),
		"base_url: it holds a fragment":  with(func(p *upstream.Profile) { p.BaseURL = "https://h/v1#" + planted }),
		"base_url: scheme":               with(func(p *upstream.Profile) { p.BaseURL = "ftp://h/v1" }),
		"base_url: it is not a URL":      with(func(p *upstream.Profile) { p.BaseURL = "https://h/%" + planted }),
		"api_key: it is longer than":     with(func(p *upstream.Profile) { p.APIKey = strings.Repeat(planted, 1000) }),
		"api_key: ":                      with(func(p *upstream.Profile) { p.APIKey = planted + "\r\nX-Other: 1" }),
		"model: the name is longer":      with(func(p *upstream.Profile) { p.Model = strings.Repeat("m", 201) }),
		"model: ":                        with(func(p *upstream.Profile) { p.Model = "m\x1b[2J" }),
	} {
		path := filepath.Join(t.TempDir(), "upstreams.json")
		_, _, err := openProfiles(t, path).Put(bad, false)
		if !errors.Is(err, upstream.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want an error with %q", bad, err, want)
			continue
		}
		if text := err.Error() + hint.Of(err); strings.Contains(text, planted) || strings.ContainsAny(text, "\n\x1b") {
			t.Errorf("%v: the error says %q", bad, text)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: something was written", bad)
		}
	}
}

func TestKeyIsKeptForItsServerAlone(t *testing.T) {
	p := openProfiles(t, filepath.Join(t.TempDir(), "upstreams.json"))
	put(t, p, upstream.Profile{Name: "a", BaseURL: "https://llm.example/v1", APIKey: planted}, false)
	_, old, err := p.Get("a")
	if err != nil {
		t.Fatal(err)
	}
	if got := put(t, p, upstream.Profile{Name: "a", BaseURL: "https://LLM.example/v2", Model: "m"}, true); got.APIKey != planted {
		t.Error("another path on the same server lost the key")
	}
	for _, other := range []string{"https://evil.example/v1", "http://llm.example/v1", "https://llm.example:8443/v1"} {
		if _, _, err := p.Put(upstream.Profile{Name: "a", BaseURL: other}, true); !errors.Is(err, upstream.ErrInvalid) || hint.Of(err) == "" {
			t.Errorf("%s: got %v, want a refusal with a way out", other, err)
		}
	}
	if got := put(t, p, upstream.Profile{Name: "a", BaseURL: "https://evil.example/v1"}, false); got.APIKey != "" {
		t.Error("a profile that is given anew kept the old key")
	}
	if got := put(t, p, upstream.Profile{Name: "new", BaseURL: "https://llm.example/v1"}, true); got.APIKey != "" {
		t.Error("a new profile has a key that nobody gave it")
	}
	if old.APIKey != planted || old.String() != "https://llm.example/v1" {
		t.Errorf("a target that was handed out has changed: %s", old)
	}
}

func TestProfileThatCannotBeWrittenDown(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state", "upstreams.json")
	p := openProfiles(t, path)
	if _, _, err := p.Put(upstream.Profile{Name: "a", BaseURL: "http://localhost:1/v1"}, false); err == nil || errors.Is(err, upstream.ErrInvalid) {
		t.Fatalf("without a folder: got %v, want an error that is not the caller's", err)
	}
	if got := p.List(); len(got) != 0 {
		t.Errorf("got %v, want nothing that a restart would lose", got)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, p, upstream.Profile{Name: "a", BaseURL: "http://localhost:1/v1"}, false)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete("a"); err == nil {
		t.Error("a deletion that would not last was reported as done")
	}
	if _, _, err := p.Get("a"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestFileThatIsBrokenIsSetAsideAndNotRepeated(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON":        `{"upstreams":[{"api_key":"` + planted + `",`,
		"another type":   `{"upstreams":"` + planted + `"}`,
		"a bad profile":  `{"upstreams":[{"name":"a","base_url":"http://x:` + planted + `@h"}]}`,
		"a reserved one": `{"upstreams":[{"name":"demo","base_url":"http://h/v1"}]}`,
	} {
		path := filepath.Join(t.TempDir(), "upstreams.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		p, setAside, err := upstream.OpenProfiles(path)
		if err == nil || strings.Contains(err.Error(), planted) || setAside != path+".broken" || len(p.List()) != 0 {
			t.Errorf("%s: got %v, set aside %q", name, err, setAside)
		}
		if kept, err := os.ReadFile(setAside); err != nil || string(kept) != content {
			t.Errorf("%s: what was in it: %q, %v", name, kept, err)
		}
		put(t, p, upstream.Profile{Name: "a", BaseURL: "http://localhost:1/v1"}, false)
	}
}

func TestFileThatOthersCouldReadIsMadePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folder's descriptor decides there")
	}
	path := filepath.Join(t.TempDir(), "upstreams.json")
	if err := os.WriteFile(path, []byte(`{"upstreams":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	openProfiles(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want 0600", info.Mode(), err)
	}
}

func TestThereIsABoundToProfiles(t *testing.T) {
	p := openProfiles(t, filepath.Join(t.TempDir(), "upstreams.json"))
	var err error
	for i := 0; i < 101 && err == nil; i++ {
		_, _, err = p.Put(upstream.Profile{Name: fmt.Sprint("p", i), BaseURL: "http://localhost:1/v1"}, false)
	}
	if !errors.Is(err, upstream.ErrInvalid) || len(p.List()) != 100 {
		t.Errorf("got %d profiles and %v, want 100 and a refusal", len(p.List()), err)
	}
	put(t, p, upstream.Profile{Name: "p7", BaseURL: "http://localhost:2/v1"}, false) // one that is there may change
}

func TestProfilesAreChangedByManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "upstreams.json")
	p := openProfiles(t, path)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := fmt.Sprint("p", i%4)
			for n := range 5 {
				_, _, err := p.Put(upstream.Profile{Name: name, BaseURL: fmt.Sprintf("http://localhost:%d/v1", n+1)}, true)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if _, _, err := p.Get(name); err != nil && !errors.Is(err, upstream.ErrNoProfile) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	group.Wait()
	got, want := openProfiles(t, path).List(), p.List()
	if len(got) != 4 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in the file: %v, in memory: %v", got, want)
	}
}

func TestPrintedProfileHasNoKey(t *testing.T) {
	p := upstream.Profile{Name: "a", BaseURL: "http://localhost:1/v1", APIKey: planted}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "profile", p)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "profile", p)
	public, err := json.Marshal(p.Public())
	if err != nil {
		t.Fatal(err)
	}
	text := out.String() + fmt.Sprintf("%v %+v %#v %s", p, p, p, p) + string(public)
	if strings.Contains(text, planted) {
		t.Errorf("the key is in %s", text)
	}
	if !strings.Contains(string(public), `"has_key":true`) {
		t.Errorf("got %s, want has_key", public)
	}
}
