package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio"
)

// studio.md: "open pages learn through GET /studio/version …, ETag".
func TestStudioVersion(t *testing.T) {
	k := keepStudio(t)
	k.get(t, "/studio/version").wants(t, 404, `{"error":"no offline copy of Studio is served"}`+"\n")
	k.install(t, "1.0.0", studioFiles("one"))
	got := k.get(t, "/studio/version")
	served, _ := k.keeper.Served()
	at, err := json.Marshal(served.InstalledAt.UTC())
	if err != nil {
		t.Fatal(err)
	}
	got.wants(t, 200, fmt.Sprintf(`{"version":"1.0.0","sha256":"%s","uiContract":1,"installedAt":%s,"source":"release"}`+"\n", served.SHA256, at))
	got.wantsHeader(t, "Content-Type", jsonType)
	got.wantsHeader(t, "Cache-Control", "no-cache")
	etag := got.Header.Get("Etag")
	k.get(t, "/studio/version", "If-None-Match", etag).wants(t, 304, "")
	k.install(t, "1.1.0", studioFiles("two"))
	if got := k.get(t, "/studio/version", "If-None-Match", etag); got.Status != 200 || !strings.Contains(got.Body, `"version":"1.1.0"`) {
		t.Errorf("after an update: got %d %q", got.Status, got.Body)
	}
	ask(t, k.Running, "POST", "/studio/version", "").wantsHeader(t, "Allow", "GET")
	if got := ask(t, k.Running, "HEAD", "/studio/version", ""); got.Status != 200 || got.Body != "" {
		t.Errorf("HEAD: got %d %q", got.Status, got.Body)
	}
	// The guard stands before it as before everything else.
	if got := k.get(t, "/studio/version", "Origin", "https://evil.test"); got.Status != 403 {
		t.Errorf("from another site: got %d", got.Status)
	}
	if got := k.get(t, "/studio/status", "Host", "rebind.test"); got.Status != 403 {
		t.Errorf("under another name: got %d", got.Status)
	}
}

func TestStudioVersionOfOtherSources(t *testing.T) {
	folder := servertest.Start(t, server.Config{UIDir: studioFolder(t)})
	ask(t, folder, "GET", "/studio/version", "").wants(t, 404, `{"error":"no offline copy of Studio is served"}`+"\n")
	ask(t, folder, "GET", "/studio/status", "").wants(t, 404, `{"error":"no offline copy of Studio is kept"}`+"\n")

	legacy := t.TempDir()
	for name, content := range map[string]string{"index.html": "legacy", ".sha256": strings.Repeat("ab", 32)} {
		path := filepath.Join(legacy, "0.3.0", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store, err := studio.Open(studio.Config{CacheDir: filepath.Join(t.TempDir(), "ui"), LegacyDir: legacy})
	if err != nil {
		t.Fatal(err)
	}
	ui := server.NewUISource("")
	keeper := studio.NewKeeper(store, ui.SetCopy)
	keeper.Refresh()
	r := servertest.Start(t, server.Config{UI: ui})
	ask(t, r, "GET", "/", "").wants(t, 200, "legacy")
	if got := ask(t, r, "GET", "/studio/version", ""); !strings.Contains(got.Body, `"version":"0.3.0"`) || !strings.Contains(got.Body, `"source":"companion"`) ||
		!strings.Contains(got.Body, `"uiContract":1`) {
		t.Errorf("got %q", got.Body)
	}
}

func TestStudioStatus(t *testing.T) {
	k := keepStudio(t)
	k.get(t, "/studio/status").wants(t, 200, `{"stage":"idle"}`+"\n")
	k.keeper.State().Set(protocol.StudioStatus{Stage: protocol.StudioDownloading, Version: "1.0.0", Available: "1.1.0", Bytes: 43, Total: 100, Rate: 7})
	got := k.get(t, "/studio/status")
	got.wants(t, 200, `{"stage":"downloading","version":"1.0.0","available":"1.1.0","bytes":43,"total":100,"rate":7}`+"\n")
	k.get(t, "/studio/status", "If-None-Match", got.Header.Get("Etag")).wants(t, 304, "")
}
