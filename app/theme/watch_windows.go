package theme

import (
	"context"
	"fmt"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

const (
	personalize = `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`
	taskbar     = "SystemUsesLightTheme" // of the task bar; programs have a value of their own
)

// Watch tells light, at once and at each change, whether the task bar is light, until ctx ends. Windows before 10 has
// no such choice; the task bar is dark there.
func Watch(ctx context.Context, light func(bool)) error {
	key, err := registry.OpenKey(registry.CURRENT_USER, personalize, registry.QUERY_VALUE|registry.NOTIFY)
	if err != nil {
		light(false)
		<-ctx.Done()
		return nil
	}
	defer func() { _ = key.Close() }()
	moved, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		return fmt.Errorf("watching the theme: %w", err)
	}
	defer func() { _ = windows.CloseHandle(moved) }()
	ended, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return fmt.Errorf("watching the theme: %w", err)
	}
	// The handle is waited for by a call that knows no context; it may be closed only once nobody sets it any more.
	stop := make(chan struct{})
	set := make(chan struct{})
	go func() {
		defer close(set)
		select {
		case <-ctx.Done():
			_ = windows.SetEvent(ended)
		case <-stop:
		}
	}()
	defer func() {
		close(stop)
		<-set
		_ = windows.CloseHandle(ended)
	}()
	for ctx.Err() == nil {
		// Asked to be told before looked, so that no change slips through between the two.
		if err := windows.RegNotifyChangeKeyValue(windows.Handle(key), false, windows.REG_NOTIFY_CHANGE_LAST_SET, moved, true); err != nil {
			return fmt.Errorf("watching the theme: %w", err)
		}
		value, _, err := key.GetIntegerValue(taskbar)
		light(err == nil && value == 1)
		if _, err := windows.WaitForMultipleObjects([]windows.Handle{moved, ended}, false, windows.INFINITE); err != nil {
			return fmt.Errorf("watching the theme: %w", err)
		}
	}
	return nil
}
