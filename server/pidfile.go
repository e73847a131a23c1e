package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/shirou/gopsutil/v4/process"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

// maxPIDFile bounds what is read of a PID file and of the record beside it.
const maxPIDFile = 4 << 10

// ReadPIDFile returns the process id in the file. A missing file satisfies os.IsNotExist; anything but one positive
// decimal number, with white space around it, is another error.
func ReadPIDFile(path string) (int, error) {
	data, err := wholefile.Read(path, maxPIDFile)
	if err != nil {
		return 0, err // as it is: os.IsNotExist does not look into wrapped errors
	}
	text := strings.TrimSpace(string(data))
	pid, err := strconv.ParseInt(text, 10, 32)
	if err != nil || pid <= 0 || text[0] == '+' {
		return 0, hint.With(fmt.Errorf("reading PID file %s: it does not hold a process id", path), "remove the file if no companion runs")
	}
	return int(pid), nil
}

// WritePIDFile writes the process id, decimal with a newline, and beside it a record of which process has that id now,
// for Start and Stop to recognise it by.
func WritePIDFile(path string, pid int) error {
	if err := makeFolder(path); err != nil {
		return err
	}
	who, err := identify(pid)
	if err != nil { // no such process, or not one that we may look at: nobody will be taken for it
		err = removeFile(recordPath(path))
	} else {
		err = writeRecord(path, who)
	}
	if err != nil {
		return fmt.Errorf("writing PID file %s: %w", path, err)
	}
	// After the record: a PID file that stands alone would name a process that cannot be stopped.
	return wholefile.Write(path, []byte(strconv.Itoa(pid)+"\n"), 0o644)
}

// RemovePIDFile removes the file and the record beside it. That they are missing is success.
func RemovePIDFile(path string) error {
	if err := errors.Join(removeFile(path), removeFile(recordPath(path))); err != nil {
		return fmt.Errorf("removing PID file: %w", err)
	}
	return nil
}

// IsProcessRunning reports whether there is a process with that id that has not ended. One that ended and waits for
// its parent to notice is not running.
func IsProcessRunning(pid int) bool {
	if pid <= 0 || pid > 1<<31-1 {
		return false
	}
	exists, err := process.PidExists(int32(pid))
	if err != nil || !exists {
		return false
	}
	states, err := (&process.Process{Pid: int32(pid)}).Status()
	return err != nil || len(states) != 1 || states[0] != process.Zombie
}

// identity tells a process from another that got its id later.
type identity struct {
	PID        int    `json:"pid"`
	Started    string `json:"started"` // in a form of the platform's own, the same for as long as the process lives
	Executable string `json:"executable"`
}

func identify(pid int) (identity, error) {
	if !IsProcessRunning(pid) {
		return identity{}, fmt.Errorf("process %d does not run", pid)
	}
	started, err := startedAt(pid)
	if err != nil {
		return identity{}, fmt.Errorf("reading when process %d started: %w", pid, err)
	}
	executable, err := (&process.Process{Pid: int32(pid)}).Exe()
	if err != nil {
		return identity{}, fmt.Errorf("reading the program of process %d: %w", pid, err)
	}
	// Linux says so once a package manager has replaced the program; the process is still the one it was.
	return identity{pid, started, strings.TrimSuffix(executable, " (deleted)")}, nil
}

// recorded returns who the PID file at path was written for, if that process still runs under that id.
func recorded(path string, pid int) (identity, bool) {
	if pid == 1 || pid == os.Getpid() {
		return identity{}, false
	}
	data, err := wholefile.Read(recordPath(path), maxPIDFile)
	if err != nil {
		return identity{}, false
	}
	var was identity
	if json.Unmarshal(data, &was) != nil {
		return identity{}, false
	}
	now, err := identify(pid)
	return was, err == nil && now == was
}

func recordPath(path string) string { return path + ".proc" }

func writeRecord(path string, who identity) error {
	data, err := json.Marshal(who)
	if err != nil {
		return err
	}
	return wholefile.Write(recordPath(path), append(data, '\n'), 0o600)
}

// lockWait is how long Start and Stop wait for another one to finish with the PID file. The lock is held for as long
// as it takes to start a process, never while one ends.
const lockWait = 10 * time.Second

// withPIDFile calls f while no other Start or Stop looks at or changes the PID file.
func withPIDFile(path string, f func() error) error {
	if err := makeFolder(path); err != nil {
		return err
	}
	lock := flock.New(path + ".lock")
	for deadline := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		held, err := lock.TryLock()
		if err != nil {
			return fmt.Errorf("locking PID file %s: %w", path, err)
		}
		if held {
			break
		}
		if time.Now().After(deadline) {
			return hint.With(fmt.Errorf("locking PID file %s: another start or stop holds it", path), "try again in a moment")
		}
	}
	defer func() { _ = lock.Unlock() }() // it ends with the process at the latest
	return f()
}

func makeFolder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the folder of the PID file: %w", err)
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
