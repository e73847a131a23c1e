package history_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// filled makes a file with some calls in it and returns its content.
func filled(t *testing.T, path string) []byte {
	t.Helper()
	k := keep(t, path)
	for i := range 500 {
		k.Add(call("before", time.Duration(i)*time.Second))
	}
	k.stop()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBrokenFileIsSetAsideAndANewOneBegun(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(data []byte) []byte{
		"no database at all":             func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 1000)) },
		"cut off in the middle":          func(data []byte) []byte { return data[:len(data)/2] },
		"the head is another file's":     func(data []byte) []byte { copy(data, "PK\x03\x04"); return data },
		"all pages but the first erased": func(data []byte) []byte { clear(data[4096:]); return data },
		"noise from the second page on": func(data []byte) []byte {
			for i := range data[4096:] {
				data[4096+i] = byte(i*7 + i>>8)
			}
			return data
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			broken := breakIt(filled(t, path))
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".broken", []byte("an earlier one"), 0o600); err != nil {
				t.Fatal(err)
			}
			k := keep(t, path)
			k.Add(call("after", 0))
			state := k.awaitCalls(1)
			if state.SetAside != path+".broken" {
				t.Errorf("set aside: got %q, want its name", state.SetAside)
			}
			if got, err := os.ReadFile(path + ".broken"); err != nil || !bytes.Equal(got, broken) {
				t.Errorf("what was set aside: got %d bytes, %v, want the %d of the broken file", len(got), err, len(broken))
			}
			if got := k.list(protocol.HistoryQuery{}); len(got) != 1 || got[0].Model != "after" {
				t.Errorf("the new file: got %d calls, want the one", len(got))
			}
			if k.Dropped() != 0 {
				t.Errorf("dropped: got %d, want none", k.Dropped())
			}
		})
	}
}

func TestLogOfABrokenFileIsNotReadIntoTheNewOne(t *testing.T) {
	t.Parallel()
	path, crashed := newPath(t), newPath(t)
	k := keep(t, path)
	k.Add(call("before", 0))
	k.awaitCalls(1)
	copyFile(t, crashed+"-wal", path+"-wal") // as a crash leaves it
	if err := os.WriteFile(crashed, []byte(strings.Repeat("noise", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	k = keep(t, crashed)
	k.Add(call("after", 0))
	k.awaitCalls(1)
	if got := k.list(protocol.HistoryQuery{}); len(got) != 1 || got[0].Model != "after" {
		t.Errorf("the new file: got %+v, want the one call that came after", got)
	}
}

// What a killed process left is whole.
func TestCrashLosesNothingThatWasWritten(t *testing.T) {
	t.Parallel()
	path, crashed := newPath(t), newPath(t)
	k := keep(t, path)
	for i := range 100 {
		k.Add(call("m", time.Duration(i)*time.Second))
	}
	k.awaitCalls(100)
	copyFile(t, crashed, path)
	copyFile(t, crashed+"-wal", path+"-wal")
	r := open(t, crashed)
	if got := list(t, r.Calls, protocol.HistoryQuery{}); len(got) != 100 {
		t.Errorf("a command: got %d calls, want 100", len(got))
	}
	_ = r.Close()
	keep(t, crashed).awaitCalls(100)
}

func TestLockedFileIsTriedAgain(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	filled(t, path)
	other := sqlite(t, path)
	exec(t, other, "BEGIN IMMEDIATE")
	k := keep(t, path)
	k.Add(call("m", 0))
	state := k.awaitProblem("another program has locked it")
	if hint.Of(state.Problem) == "" {
		t.Error("the problem has no hint")
	}
	exec(t, other, "ROLLBACK")
	_ = other.Close()
	k.awaitCalls(501)
	if k.Dropped() != 0 {
		t.Errorf("dropped: got %d, want none", k.Dropped())
	}
}

func TestAFolderInPlaceOfTheFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := keep(t, path)
	k.Add(call("m", 0))
	state := k.awaitProblem("is a directory")
	if !strings.Contains(hint.Of(state.Problem), path) {
		t.Errorf("hint: got %q, want one that names %s", hint.Of(state.Problem), path)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	k.awaitCalls(1)
}

func TestAFileInPlaceOfTheFolder(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := keep(t, path)
	k.Add(call("m", 0))
	k.awaitProblem("not a directory")
	if err := os.Remove(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	k.awaitCalls(1)
}

func TestDeletionUnderIt(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(path string) error{
		"the file":             os.Remove,
		"the write-ahead log":  func(path string) error { return os.Remove(path + "-wal") },
		"the whole folder":     func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"it was moved away":    func(path string) error { return os.Rename(path, path+".mine") },
		"another in its place": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			k := keep(t, path)
			k.Add(call("before", 0))
			k.awaitCalls(1)
			if err := remove(path); err != nil && runtime.GOOS == "windows" {
				t.Skipf("this system keeps open files: %v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			k.Add(call("after", 0))
			found := ids(k.list(protocol.HistoryQuery{}))
			if len(found) == 0 || found[len(found)-1] != "after0s" {
				t.Errorf("after the deletion: got %q, want the call that came after it", found)
			}
			k.stop()
			if got := ids(list(t, open(t, path).Calls, protocol.HistoryQuery{})); len(got) != len(found) {
				t.Errorf("in the file where it belongs: got %q, want %q", got, found)
			}
		})
	}
}

// A call that cannot be written waits; when too many wait, the newest are dropped and counted.
func TestBufferIsBoundedAndCountsWhatItDrops(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	k := keep(t, path, func(c *history.Config) { c.Buffer = 10 })
	for i := range 25 {
		k.Add(call("m", time.Duration(i)*time.Second))
	}
	k.awaitProblem("is a directory")
	if k.Dropped() != 15 {
		t.Errorf("dropped: got %d, want 15", k.Dropped())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if state := k.awaitCalls(10); state.Dropped != 15 {
		t.Errorf("dropped, as it is shown: got %d, want 15", state.Dropped)
	}
	k.Add(call("m", time.Minute))
	k.awaitCalls(11)
}

func TestNothingMakesAFileWhereItMayNotBeWritten(t *testing.T) {
	t.Parallel()
	if servertest.AsNobody(t) { // the read-only disk is tested for root
		return
	}
	path := newPath(t)
	if err := os.Mkdir(filepath.Dir(path), 0o500); err != nil {
		t.Fatal(err)
	}
	k := keep(t, path)
	k.awaitProblem("permission denied")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want no file", err)
	}
}
