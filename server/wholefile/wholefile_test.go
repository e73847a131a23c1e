package wholefile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server/wholefile"
)

func TestReaderSeesTheOldContentOrTheNewAndNeverHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.json")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<14)}
	if err := wholefile.Write(path, contents[0], 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 50 {
			if err := wholefile.Write(path, contents[i%2], 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	for range 200 {
		got, err := wholefile.Read(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
			t.Fatalf("got %d bytes that are neither content", len(got))
		}
	}
	wg.Wait()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("got %d files, want the one: temporary files were left", len(entries))
	}
}

func TestFileIsTheOwnersOnlyWhateverItWasBefore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	path := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode: got %04o, want 0600", got)
	}
}

func TestFailedWriteLeavesTheOldContentAndNothingElse(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil { // a folder cannot be renamed over
		t.Fatal(err)
	}
	err := wholefile.Write(path, []byte("x"), 0o600)
	if err == nil || !strings.HasPrefix(err.Error(), "writing taken: ") {
		t.Errorf("got %v, want an error that names the file", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("got %d entries, want the folder alone", len(entries))
	}
}

func TestReadRefusesWhatWouldNeverEndOrFit(t *testing.T) {
	folder := t.TempDir()
	if _, err := wholefile.Read(folder, 10); err == nil {
		t.Error("a folder was read")
	}
	if _, err := wholefile.Read(filepath.Join(folder, "none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v, want fs.ErrNotExist", err)
	}
	long := filepath.Join(folder, "long")
	if err := os.WriteFile(long, make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wholefile.Read(long, 10); err == nil {
		t.Error("11 bytes were read with a limit of 10")
	}
	if got, err := wholefile.Read(long, 11); err != nil || len(got) != 11 {
		t.Errorf("got %d bytes, %v, want all 11", len(got), err)
	}
}
