package session

import (
	"fmt"

	"chatwright.dev/tray/server/protocol"
)

// Error is an error with the code that it is answered with.
type Error struct {
	Code    protocol.ErrorCode
	Message string
}

func (e *Error) Error() string { return e.Message }

// ErrorCode tells package control what to answer.
func (e *Error) ErrorCode() protocol.ErrorCode { return e.Code }

func invalid(format string, args ...any) error {
	return &Error{protocol.CodeInvalidInput, fmt.Sprintf(format, args...)}
}

func notFound() error { return &Error{protocol.CodeSessionNotFound, "there is no such session"} }

func expired() error {
	return &Error{protocol.CodeEventsExpired, "these events are not kept any more"}
}
