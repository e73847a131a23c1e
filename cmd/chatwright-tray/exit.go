package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"chatwright.dev/tray/app"
	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
)

// The exit codes, as "chatwright-tray help exit-codes" and the README list them.
const (
	exitOK             = 0
	exitFailed         = 1
	exitUsage          = 2
	exitNotRunning     = 3
	exitAlreadyRunning = 4
	exitUnsupported    = 5
	exitInterrupted    = 130
)

// A codedError ends the program with a code of its own.
type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

// withCode gives err an exit code. A nil err stays nil.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return codedError{err, code}
}

// report prints err for a person, what happened and then the way out, and returns the exit code.
func (c *cli) report(err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(c.stderr, "error:", sentenceOf(err.Error()))
	if way := wayOut(err); way != "" {
		_, _ = fmt.Fprintln(c.stderr, "hint:", sentenceOf(way))
	}
	return exitCode(err)
}

// wayOut is the hint of err. What the system says when a folder cannot be written has none of its own, wherever it
// comes up.
func wayOut(err error) string {
	if way := hint.Of(err); way != "" {
		return way
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room on that disk, or keep the files elsewhere with --state-dir"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "make it yours to write, or keep the files elsewhere with --state-dir"
	}
	return ""
}

func exitCode(err error) int {
	if coded, ok := errors.AsType[codedError](err); ok {
		return coded.code
	}
	if held, ok := errors.AsType[*app.PortHeldError](err); ok && held.Ours {
		return exitAlreadyRunning
	}
	switch {
	case errors.Is(err, app.ErrAborted):
		return exitInterrupted
	case errors.Is(err, instance.ErrHeld), errors.Is(err, server.ErrAlreadyRunning):
		return exitAlreadyRunning
	case errors.Is(err, client.ErrNotRunning), errors.Is(err, server.ErrNotRunning):
		return exitNotRunning
	}
	return exitFailed
}
