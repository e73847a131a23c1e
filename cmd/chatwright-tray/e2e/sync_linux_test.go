package e2e_test

import (
	"bufio"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/servertest"
)

// sessions.md, Records: synced at turn ends, so that a power cut takes nothing of a turn that is over. What the daemon
// asks of the system is watched: first the record goes to the disk, then the folder that has its name.
func TestATurnIsOnTheDiskAtItsEnd(t *testing.T) {
	strace := servertest.Need(t, "strace", "strace")
	provider := servertest.NewProvider(t, scenarios())
	u := newUser(t)
	u.start()
	u.upstream("plain", provider.BaseURL("plain"))
	id := u.session("plain")
	watch := exec.Command(strace, "-f", "-y", "-e", "trace=fsync,fdatasync", "-p", strconv.Itoa(u.pid))
	said, err := watch.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watch.Process.Kill(); _ = watch.Wait() })
	lines := make(chan string, 1<<16) // more than there are, so that the watcher waits for nobody
	go func() {
		defer close(lines)
		for read := bufio.NewScanner(said); read.Scan(); {
			lines <- read.Text()
		}
	}()
	for line := range lines {
		if strings.Contains(line, "not permitted") {
			servertest.Missing(t, "the right to watch another process: "+line)
		}
		if strings.Contains(line, "attached") {
			break
		}
	}
	defer time.AfterFunc(patience, func() { _ = watch.Process.Kill() }).Stop()
	u.must("session", "send", id, "Good morning")
	synced := []*regexp.Regexp{
		regexp.MustCompile(`sync\(\d+<.*/sessions/` + id + `\.jsonl>`),
		regexp.MustCompile(`sync\(\d+<.*/sessions>`),
	}
	for line := range lines {
		if synced[0].MatchString(line) {
			if synced = synced[1:]; len(synced) == 0 {
				return
			}
		}
	}
	t.Errorf("the watcher ended before it saw %s", synced[0])
}
