package cassette_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/servertest"
)

// smallDisk mounts a file system of its own, which takes a system that lets us.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		servertest.Missing(t, "mounting a small tmpfs takes root, or CAP_SYS_ADMIN in a container: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// A full disk, a real one: the call is answered, what kept it from being recorded is told, and of the recording nothing
// is left that would break the others. Once there is room, it is recorded under the name that it would have had.
func TestAFullDiskLeavesNoHalfRecording(t *testing.T) {
	for name, disk := range map[string]struct {
		options string
		filler  int // bytes of each file that fills it
	}{
		"no room for its bytes":    {"size=64k", 8 << 10},
		"no room for another file": {"size=1m,nr_inodes=8", 0},
	} {
		t.Run(name, func(t *testing.T) {
			folder := smallDisk(t, disk.options)
			answer := strings.Repeat("x", 16<<10)
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
			defer model.Close()
			r, err := cassette.NewRecorder(folder, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			var failed error
			r.Done = func(err error) { failed = err }
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			call := func() {
				t.Helper()
				request := chat(hello)
				request.URL.Scheme, request.URL.Host, request.RequestURI = "http", model.Listener.Addr().String(), ""
				got, err := r.Wrap("/v1", transport).RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(got.Body)
				if err := errors.Join(err, got.Body.Close()); err != nil || string(body) != answer {
					t.Errorf("the caller got %d bytes, %v", len(body), err)
				}
			}
			call()
			if failed != nil {
				t.Fatalf("with room: %v", failed)
			}
			fill(t, folder, disk.filler)
			call()
			if !errors.Is(failed, syscall.ENOSPC) {
				t.Errorf("got %v, want no space left", failed)
			}
			first := recordings(t, folder)
			if len(first) != 1 || !strings.HasSuffix(first[0], "-1.json") {
				t.Errorf("got %v, want the one from before", first)
			}
			if _, err := cassette.NewPlayer(folder, 0); err != nil {
				t.Errorf("what was recorded before cannot be replayed: %v", err)
			}
			if err := os.RemoveAll(filepath.Join(folder, "filler")); err != nil {
				t.Fatal(err)
			}
			call()
			if all := recordings(t, folder); failed != nil || len(all) != 2 || !strings.HasSuffix(all[1], "-2.json") {
				t.Errorf("with room again: got %v, %v", all, failed)
			}
		})
	}
}

// fill writes files until no more fit.
func fill(t *testing.T, folder string, size int) {
	t.Helper()
	into := filepath.Join(folder, "filler")
	if err := os.Mkdir(into, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		err := os.WriteFile(filepath.Join(into, string(rune('a'+i/26))+string(rune('a'+i%26))), make([]byte, size), 0o600)
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the disk takes all")
}

// recordings are the files of a folder, all of them.
func recordings(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
