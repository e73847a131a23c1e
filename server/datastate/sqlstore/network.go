package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
)

// isNetwork tells an error of a connection, whoever noticed it.
func isNetwork(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) { // which call themselves network errors
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
