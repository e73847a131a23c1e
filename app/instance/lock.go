package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"chatwright.dev/tray/server/hint"
)

// ErrHeld says that another instance holds the lock.
var ErrHeld = errors.New("another instance is running")

// Whoever only asks whether the lock is held takes it, shared, for a moment. So one that is held is tried again for
// longer than a moment lasts, even on a busy machine, before it counts as held.
const (
	lockPatience = 100 * time.Millisecond
	lockRetry    = 5 * time.Millisecond
)

// Lock is the lock of the instance. The system drops it when the process ends, however it ends, and also when its file
// is collected as garbage: so keep the Lock, and Release it at the very end.
type Lock struct {
	file *flock.Flock
}

// Acquire takes the lock at path, or returns ErrHeld. The file stays when the lock is released: removing it would let
// two instances lock two files of the same name.
func Acquire(path string) (*Lock, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	for {
		file := flock.New(path, flock.SetPermissions(0o600))
		locked, err := file.TryLockContext(ctx, lockRetry)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, hint.With(ErrHeld, "see what it does with: chatwright-tray status")
		}
		if err != nil {
			return nil, fmt.Errorf("taking the instance lock: %w", err)
		}
		if locked && stillThere(file, path) {
			return &Lock{file}, nil
		}
		// Somebody removed the file between our opening and locking it; what we hold is the lock of nothing.
		_ = file.Close()
	}
}

func stillThere(file *flock.Flock, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(ours, named)
}

// Release gives the lock back. It may be called more than once.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("releasing the instance lock: %w", err)
	}
	return nil
}

// held reports whether somebody holds the lock. It creates no file.
func held(path string) (bool, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil // no file, or not even a folder for it
	}
	file := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := file.TryRLock()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for the instance lock: %w", err)
	}
	_ = file.Close()
	return !free, nil
}
