package server_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/servertest/timetest"
)

// daemon is where a process under test keeps its files.
type daemon struct {
	t            *testing.T
	dir, pid     string
	opts         server.StartOptions
	mu           sync.Mutex
	startedAlive []int
}

// newDaemon prepares this test binary as the program to start, in that mode.
func newDaemon(t *testing.T, mode string) *daemon {
	t.Helper()
	t.Setenv(childMode, mode)
	d := &daemon{t: t, dir: t.TempDir()}
	d.pid = filepath.Join(d.dir, "server.pid")
	d.opts = server.StartOptions{Executable: os.Args[0], Args: []string{"one", "two"}, PIDFile: d.pid, LogFile: filepath.Join(d.dir, "log", "server.log")}
	t.Cleanup(func() {
		for _, pid := range d.startedAlive { // our own children, each by its id
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // most have ended
				_, _ = p.Wait()
			}
		}
	})
	return d
}

func (d *daemon) start() (int, error) {
	pid, err := server.Start(d.opts)
	if err == nil {
		d.mu.Lock()
		d.startedAlive = append(d.startedAlive, pid)
		d.mu.Unlock()
	}
	return pid, err
}

// started starts the process and waits until it says that it is ready.
func (d *daemon) started() int {
	d.t.Helper()
	pid, err := d.start()
	if err != nil {
		d.t.Fatal(err)
	}
	d.awaitLog("ready " + strconv.Itoa(pid))
	return pid
}

func (d *daemon) log() string {
	content, _ := os.ReadFile(d.opts.LogFile) // not there is empty
	return string(content)
}

func (d *daemon) awaitLog(text string) {
	d.t.Helper()
	timetest.Until(d.t, "a log that says "+text, func() (string, bool) { log := d.log(); return log, strings.Contains(log, text) })
}

func (d *daemon) read(name string) string {
	d.t.Helper()
	content, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(content)
}

func (d *daemon) gone(want bool) {
	d.t.Helper()
	for _, name := range []string{"server.pid", "server.pid.proc"} {
		if _, err := os.Stat(filepath.Join(d.dir, name)); os.IsNotExist(err) != want {
			d.t.Errorf("%s: gone %v, want %v", name, !want, want)
		}
	}
}

// companion.md, Start and Stop, from the first to the last.
func TestStartAndStop(t *testing.T) {
	d := newDaemon(t, "obedient")
	if err := server.Stop(d.pid, 0); !errors.Is(err, server.ErrNotRunning) {
		t.Errorf("without a file: got %v", err)
	}
	pid := d.started()
	if got := d.read("server.pid"); got != strconv.Itoa(pid)+"\n" {
		t.Errorf("PID file: got %q", got)
	}
	if !strings.HasPrefix(d.log(), "ready "+strconv.Itoa(pid)+" one two\n") {
		t.Errorf("log: got %q", d.log())
	}

	before := d.read("server.pid") + d.read("server.pid.proc")
	again, err := d.start()
	if !errors.Is(err, server.ErrAlreadyRunning) || again != pid {
		t.Errorf("the second start: got %d, %v, want %d and ErrAlreadyRunning", again, err, pid)
	}
	if d.read("server.pid")+d.read("server.pid.proc") != before || !server.IsProcessRunning(pid) {
		t.Error("the second start touched something")
	}

	if err := server.Stop(d.pid, 0); err != nil {
		t.Errorf("stop: got %v", err)
	}
	if server.IsProcessRunning(pid) || !strings.HasSuffix(d.log(), "ended\n") {
		t.Errorf("the process was not ended in good order: %q", d.log())
	}
	d.gone(true)
	if err := server.Stop(d.pid, 0); !errors.Is(err, server.ErrNotRunning) {
		t.Errorf("the second stop: got %v", err)
	}

	// A file that a process left behind is replaced, and the log goes on.
	if err := os.WriteFile(d.pid, []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.started()
	if strings.Count(d.log(), "ready ") != 2 {
		t.Errorf("log: got %q, want both", d.log())
	}
	if err := server.Stop(d.pid, 0); err != nil {
		t.Error(err)
	}
}

// companion.md: a file that cannot be parsed is an error, and stays.
func TestStartAndStopWithCorruptFile(t *testing.T) {
	d := newDaemon(t, "obedient")
	if err := os.WriteFile(d.pid, []byte("what?"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, startErr := d.start()
	stopErr := server.Stop(d.pid, 0)
	for _, err := range []error{startErr, stopErr} {
		if err == nil || errors.Is(err, server.ErrNotRunning) || hint.Of(err) == "" {
			t.Errorf("got %v, want an error with a hint", err)
		}
	}
	if d.read("server.pid") != "what?" {
		t.Error("the file was changed")
	}
}

// security.md 14: a PID file that names 1, ourselves, or a stranger reports "not running", is removed, and signals
// nothing.
func TestOriginalFault_StopSignalsWhateverOwnsThePID(t *testing.T) {
	d := newDaemon(t, "obedient")
	pid := d.started()
	record := d.read("server.pid.proc")
	if err := server.Stop(d.pid, 0); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(os.Args[0]) // in the same mode: a SIGTERM would end it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stranger := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()

	reused := strings.Replace(record, `"pid":`+strconv.Itoa(pid), `"pid":`+strconv.Itoa(stranger), 1)
	for name, c := range map[string]struct {
		pid    int
		record string
	}{
		"the first process":                   {1, recordOf(t, 1)},
		"ourselves":                           {os.Getpid(), recordOf(t, os.Getpid())},
		"a stranger without a record":         {stranger, ""},
		"a stranger, the record of another":   {stranger, record},
		"a stranger that got the id later":    {stranger, reused},
		"a stranger that runs something else": {stranger, changed(t, recordOf(t, stranger), "executable", "/usr/bin/other")},
		"a record that is damaged":            {stranger, "{"},
		"nobody":                              {99999999, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &daemon{t: t, dir: t.TempDir(), opts: d.opts}
			d.pid = filepath.Join(d.dir, "server.pid")
			write := func(name, content string) {
				if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("server.pid", strconv.Itoa(c.pid)+"\n")
			if c.record != "" {
				write("server.pid.proc", c.record)
			}
			if err := server.Stop(d.pid, 0); !errors.Is(err, server.ErrNotRunning) {
				t.Errorf("got %v, want ErrNotRunning", err)
			}
			d.gone(true)
			if !server.IsProcessRunning(stranger) {
				t.Fatal("the stranger was signalled")
			}
		})
	}

	// Start does not take the stranger for ours either.
	if err := os.WriteFile(d.pid, []byte(strconv.Itoa(stranger)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.started(); got == stranger {
		t.Error("start took a stranger for ours")
	}
	if err := server.Stop(d.pid, 0); err != nil {
		t.Error(err)
	}
}

// recordOf is the record that WritePIDFile makes of a process.
func recordOf(t *testing.T, pid int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.pid")
	if err := server.WritePIDFile(path, pid); err != nil {
		t.Fatal(err)
	}
	content, _ := os.ReadFile(path + ".proc") // of one that we may not look at there is none
	return string(content)
}

func changed(t *testing.T, record, name, value string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(record), &fields); err != nil {
		t.Fatal(err)
	}
	fields[name] = value
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestOriginalFault_ConcurrentStartsLeaveAnOrphan(t *testing.T) {
	d := newDaemon(t, "obedient")
	const starters = 8
	pids, errs := make([]int, starters), make([]error, starters)
	var group sync.WaitGroup
	for i := range starters {
		group.Go(func() { pids[i], errs[i] = d.start() })
	}
	group.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, server.ErrAlreadyRunning) {
			t.Errorf("got %v", err)
		}
		if pids[i] != pids[0] {
			t.Errorf("got %d and %d, want all to name one process", pids[i], pids[0])
		}
	}
	if won != 1 {
		t.Errorf("%d starts made a process, want 1", won)
	}
	d.awaitLog("ready ")
	if err := server.Stop(d.pid, 0); err != nil {
		t.Error(err)
	}
	if n := strings.Count(d.log(), "ready "); n != 1 {
		t.Errorf("%d processes ran, want 1", n)
	}
}

// A process that cannot be recorded could never be found again: it is ended.
func TestStartThatCannotRecordLeavesNoOrphan(t *testing.T) {
	d := newDaemon(t, "obedient")
	if err := os.MkdirAll(filepath.Join(d.dir, "server.pid.proc", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if pid, err := d.start(); err == nil || pid != 0 {
		t.Fatalf("got %d, %v, want an error", pid, err)
	}
	if _, rest, found := strings.Cut(d.log(), "ready "); found {
		pid, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil || server.IsProcessRunning(pid) {
			t.Errorf("process %d still runs, %v", pid, err)
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]server.StartOptions{
		"no PID file":                 {Executable: os.Args[0]},
		"no such program":             {Executable: filepath.Join(dir, "none"), PIDFile: filepath.Join(dir, "a.pid")},
		"a log that cannot be opened": {Executable: os.Args[0], PIDFile: filepath.Join(dir, "b.pid"), LogFile: filepath.Join(file, "log")},
		"a folder that is a file":     {Executable: os.Args[0], PIDFile: filepath.Join(file, "c.pid")},
	} {
		if pid, err := server.Start(opts); err == nil || pid != 0 {
			t.Errorf("%s: got %d, %v", name, pid, err)
		}
	}
}
