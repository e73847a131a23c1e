//go:build unix

package server_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// Opening a FIFO waits for a writer: what is not a regular file is not even opened.
func TestUIServesNoPipe(t *testing.T) {
	dir := studioFolder(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.js"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := servertest.Start(t, server.Config{UIDir: dir})
	ask(t, r, "GET", "/pipe.js", "").wants(t, 404, `{"error":"not found"}`+"\n")
}

// A program that may open no more files says so: the copy is as it was, nobody is told that it was changed, and no
// script becomes a page.
func TestACopyOutlivesAShortageOfDescriptors(t *testing.T) {
	k := keepStudio(t)
	k.install(t, "1.0.0", studioFiles("one"))
	c, _ := k.keeper.Served()
	ui := server.NewUISource("")
	ui.SetCopy(c, nil)
	told := 0
	ui.OnDamage(func() { told++ })
	r := servertest.Start(t, server.Config{UI: ui})
	folder := servertest.Start(t, server.Config{UIDir: studioFolder(t)})
	for _, served := range []*servertest.Running{r, folder} {
		ask(t, served, "GET", "/", "") // there is a connection now
		short := limitDescriptors(t)
		got := ask(t, served, "GET", "/deep/link", "")
		short()
		got.wants(t, 503, `{"error":"the system lets this program open no more files for now"}`+"\n")
		if got := ask(t, served, "GET", "/deep/link", ""); got.Status != 200 {
			t.Errorf("afterwards: got %d", got.Status)
		}
	}
	if told != 0 {
		t.Errorf("damage was told of %d times", told)
	}
}

// limitDescriptors lets this process open no more files until the returned function is called.
func limitDescriptors(t *testing.T) (restore func()) {
	t.Helper()
	var was syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: was.Max}))
	restore = func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }
	t.Cleanup(restore)
	return restore
}
