package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"chatwright.dev/tray/server/hint"
)

var (
	// ErrAlreadyRunning means that the PID file names a companion that runs.
	ErrAlreadyRunning = errors.New("the companion is already running")
	// ErrNotRunning means that the PID file names no companion that runs.
	ErrNotRunning = errors.New("the companion is not running")
)

// defaultStopWait leaves a companion its grace and the time to tidy up.
const defaultStopWait = DefaultGrace + 2*time.Second

// StartOptions say what Start starts.
type StartOptions struct {
	Executable string   // empty: the program that runs now
	Args       []string // without the program's name
	PIDFile    string   // required
	LogFile    string   // what the process writes is appended here; empty: nowhere
	Dir        string   // the folder that the process starts in; empty: that of this process
}

// Start starts the companion as a process of its own session, which outlives the caller's terminal, and records it in
// the PID file. It does not wait until the companion answers. If the file names one that runs, Start changes nothing
// and returns its id with ErrAlreadyRunning; a file that names none is replaced; one that cannot be read is an error.
// Of concurrent calls with one PID file one starts a process.
func Start(opts StartOptions) (pid int, err error) {
	if opts.PIDFile == "" {
		return 0, errors.New("starting the companion: no PID file is named")
	}
	err = withPIDFile(opts.PIDFile, func() error {
		old, err := ReadPIDFile(opts.PIDFile)
		switch {
		case err == nil:
			if _, ours := recorded(opts.PIDFile, old); ours {
				pid = old
				return ErrAlreadyRunning
			}
			if err := RemovePIDFile(opts.PIDFile); err != nil {
				return err
			}
		case !os.IsNotExist(err):
			return err
		}
		pid, err = launch(opts)
		return err
	})
	return pid, err
}

func launch(opts StartOptions) (pid int, err error) {
	if opts.Executable == "" {
		if opts.Executable, err = os.Executable(); err != nil {
			return 0, fmt.Errorf("finding this program: %w", err)
		}
	}
	cmd := exec.Command(opts.Executable, opts.Args...)
	cmd.Dir = opts.Dir
	cmd.SysProcAttr = detached()
	if opts.LogFile != "" {
		log, err := openLog(opts.LogFile)
		if err != nil {
			return 0, fmt.Errorf("opening the log of the companion: %w", err)
		}
		defer log.Close() // the child has its own descriptor
		cmd.Stdout, cmd.Stderr = log, log
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting the companion: %w", err)
	}
	if err := WritePIDFile(opts.PIDFile, cmd.Process.Pid); err != nil {
		// Nobody could find it to stop it. It is our own child, not waited for yet, so its id is still its own.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 0, err
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// Stop asks the companion that the PID file names to end, waits until it has, and removes the file. Zero wait means
// the grace and 2 s. Only the very process that the file was written for is signalled; for any other, and for none,
// the file is removed and the error is ErrNotRunning. A companion that still runs after the wait is an error, and the
// file stays.
func Stop(pidPath string, wait time.Duration) error {
	if wait == 0 {
		wait = defaultStopWait
	}
	var who identity
	err := withPIDFile(pidPath, func() (err error) {
		who, err = signal(pidPath)
		return err
	})
	if err != nil {
		return err
	}
	if !gone(who, wait) {
		return hint.With(fmt.Errorf("stopping the companion: process %d still runs after %s", who.PID, wait),
			"wait for its calls to end and stop it again, or end the process by its id")
	}
	return withPIDFile(pidPath, func() error {
		if pid, err := ReadPIDFile(pidPath); err == nil && pid != who.PID {
			return nil // somebody started the next one
		}
		return RemovePIDFile(pidPath)
	})
}

// signal asks the process that the PID file was written for to end, and says who it is.
func signal(pidPath string) (identity, error) {
	pid, err := ReadPIDFile(pidPath)
	if os.IsNotExist(err) {
		return identity{}, ErrNotRunning
	}
	if err != nil {
		return identity{}, err
	}
	// The handle first, then the question who it is: where the system has handles for processes (pidfd, Windows), the
	// signal cannot reach another that got the id in between.
	handle, err := os.FindProcess(pid)
	if err != nil {
		return identity{}, stale(pidPath)
	}
	defer func() { _ = handle.Release() }()
	who, ours := recorded(pidPath, pid)
	if !ours {
		return identity{}, stale(pidPath)
	}
	if err := terminate(handle); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return identity{}, fmt.Errorf("stopping the companion: signalling process %d: %w", pid, err)
	}
	return who, nil
}

// stale removes a PID file that names no companion.
func stale(pidPath string) error {
	if err := RemovePIDFile(pidPath); err != nil {
		return errors.Join(ErrNotRunning, err)
	}
	return ErrNotRunning
}

// gone waits until the process has ended. A process that is not our child can only be asked again and again.
func gone(who identity, wait time.Duration) bool {
	for deadline := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		if !IsProcessRunning(who.PID) {
			return true
		}
		if started, err := startedAt(who.PID); err == nil && started != who.Started {
			return true // its id has gone to another
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
