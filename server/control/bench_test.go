package control_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
	"chatwright.dev/tray/server/watch"
)

// serveSessions is a control socket over m, until the benchmark ends.
func serveSessions(b *testing.B, m *session.Manager) (socket string) {
	b.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		b.Fatal(err)
	}
	socket = filepath.Join(dir, "control.sock")
	s := control.New(control.Config{SocketPath: socket, Status: watch.New(protocol.Status{}), Manager: m, Grace: time.Millisecond})
	if err := s.Listen(); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return socket
}

// readFrames reads n events of a session from the first on, as cheaply as it can.
func readFrames(socket, id string, n int) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: d\r\n\r\n", id); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for last := fmt.Appendf(nil, "{\"seq\":%d,", n); ; {
		got, err := conn.Read(buf[len(last):])
		if err != nil {
			return err
		}
		if bytes.Contains(buf[:len(last)+got], last) {
			return nil
		}
		copy(buf, buf[got:got+len(last)]) // a number may come in two pieces
	}
}

// 10,000 events from the log through the socket to 100 clients.
func BenchmarkFanOutOverTheSocket(b *testing.B) {
	const events, clients = 10_000, 100
	m := manage(b, echo)
	socket := serveSessions(b, m)
	for b.Loop() {
		s, err := m.Create(protocol.CreateSessionRequest{Workspace: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				if err := readFrames(socket, s.ID(), events); err != nil {
					b.Error(err)
				}
			})
		}
		for range events - 1 {
			if err := s.Rename("name"); err != nil {
				b.Fatal(err)
			}
		}
		wg.Wait()
	}
}

// 100,000 recorded events through the socket to a client that saw none.
func BenchmarkReplayOverTheSocket(b *testing.B) {
	const events = 100_000
	dir := b.TempDir()
	var record bytes.Buffer
	fmt.Fprintf(&record, `{"seq":1,"session_id":"%s","type":"session.created","at":"2026-11-30T15:43:53Z","payload":{"workspace":"/w"}}`+"\n", docID)
	for seq := 2; seq < events; seq++ {
		fmt.Fprintf(&record, `{"seq":%d,"session_id":"%s","type":"message.delta","at":"2026-11-30T15:43:53Z","payload":{"turn_id":"t2","text":"some twenty letters…"}}`+"\n", seq, docID)
	}
	fmt.Fprintf(&record, `{"seq":%d,"session_id":"%s","type":"turn.completed","at":"2026-11-30T15:43:53Z","payload":{"turn_id":"t2","reason":"done"}}`+"\n", events, docID)
	if err := os.WriteFile(filepath.Join(dir, docID+".jsonl"), record.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	m, err := session.Open(session.Config{Dir: dir, Model: model(echo)})
	if err != nil {
		b.Fatal(err)
	}
	socket := serveSessions(b, m)
	for b.Loop() {
		if err := readFrames(socket, docID, events); err != nil {
			b.Fatal(err)
		}
	}
}

// The time from a piece of an answer to the client that follows.
func BenchmarkAppendToClient(b *testing.B) {
	m := manage(b, echo)
	socket := serveSessions(b, m)
	s, err := m.Create(protocol.CreateSessionRequest{Workspace: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://d/v1/sessions/" + s.ID() + "/events?from=2")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 64<<10)
	_, _ = resp.Body.Read(buf) // retry
	for b.Loop() {
		if err := s.Rename("name"); err != nil {
			b.Fatal(err)
		}
		if _, err := resp.Body.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
