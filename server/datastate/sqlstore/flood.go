package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	// maxBytes bounds what the rows of one query may hold together.
	maxBytes = 16 << 20
	// maxAnswer bounds what a server may send of them: in its own spelling they are longer.
	maxAnswer = 2 * maxBytes
)

// errTooLarge is also for what nobody reads to its end: one value of a gigabyte would be in memory before its size was
// looked at, and the rows after it would be on the wire still.
var errTooLarge = fmt.Errorf("the rows are over %d MiB together: choose fewer columns, or narrow the query", maxBytes>>20)

// A dam is around the connections of one database: the first byte too many of an answer ends its connection. Drivers
// keep that to themselves, or call it the server's fault, so that the dam counts how often it was.
type dam struct{ broken atomic.Int64 }

// A dialer makes connections.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d *dam) around(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &dammedConn{Conn: conn, dam: d}, nil
	}
}

// frontend refuses a message of PostgreSQL by the length that it begins with, for which memory would be made.
func (*dam) frontend(r io.Reader, w io.Writer) *pgproto3.Frontend {
	f := pgproto3.NewFrontend(r, w)
	f.SetMaxBodyLen(maxAnswer)
	return f
}

// overflowed tells the error of an answer that was cut off; before is what broken was.
func (d *dam) overflowed(err error, before int64) bool {
	_, message := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err)
	return message || d != nil && d.broken.Load() != before
}

func (d *dam) count() int64 {
	if d == nil {
		return 0
	}
	return d.broken.Load()
}

type dammedConn struct {
	net.Conn
	dam *dam
	got atomic.Int64 // since the last question
}

func (c *dammedConn) Write(p []byte) (int, error) {
	c.got.Store(0)
	return c.Conn.Write(p)
}

func (c *dammedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.got.Add(int64(n)) > maxAnswer {
		c.dam.broken.Add(1)
		return 0, errTooLarge
	}
	return n, err
}

// SyscallConn is how the driver of MySQL looks whether an idle connection still has another end.
func (c *dammedConn) SyscallConn() (syscall.RawConn, error) {
	if conn, ok := c.Conn.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
