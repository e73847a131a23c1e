// Package client speaks to a running daemon over its control socket: one method an operation. The command line, a
// second launch and the tests use it.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/localsock"
	"chatwright.dev/tray/server/protocol"
)

// ErrNotRunning says that nobody listens on the socket: there is no such file, or a connection is refused. A daemon
// that is slow, or a socket that we may not open, is another error.
var ErrNotRunning = errors.New("the daemon is not running")

// ErrHungUp says that the daemon took the connection and closed it without a whole answer, as one does that is ending.
var ErrHungUp = errors.New("the daemon closed the connection")

// Error is an error answer of the daemon.
type Error struct {
	Status  int // HTTP
	Code    protocol.ErrorCode
	Message string
	Hint    string // what to do about it; "" when there is nothing to say
}

func (e *Error) Error() string { return e.Message }

// Unwrap makes the daemon's hint one of ours, for hint.Of.
func (e *Error) Unwrap() error {
	if e.Hint == "" {
		return nil
	}
	return hint.With(errors.New(e.Message), e.Hint)
}

// maxAnswer bounds an answer, and one event of a stream: both are a thousand calls at most.
const maxAnswer = 16 << 20

// Client speaks to one daemon. It is safe for concurrent use and holds no connection between calls, so it needs no
// closing. No request is ever sent twice: the caller decides what a lost answer means.
type Client struct {
	path string
	http *http.Client
}

// New returns a client of the daemon that listens on socketPath. It does not connect.
func New(socketPath string) *Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return localsock.Dial(ctx, socketPath)
		},
		// A connection for each request costs little here, and net/http replays only on one that it kept.
		DisableKeepAlives:  true,
		DisableCompression: true,
	}
	return &Client{path: socketPath, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// SocketPath is where the client connects to.
func (c *Client) SocketPath() string { return c.path }

// Health asks whether the daemon answers.
func (c *Client) Health(ctx context.Context) error {
	var health protocol.Health
	if err := c.get(ctx, "/health", &health); err != nil {
		return err
	}
	if health.Status != "ok" {
		return fmt.Errorf("the daemon says that it is %q", health.Status)
	}
	return nil
}

// Version asks which daemon this is.
func (c *Client) Version(ctx context.Context) (protocol.VersionInfo, error) {
	var v protocol.VersionInfo
	err := c.get(ctx, "/version", &v)
	return v, err
}

// Status asks for the state of the daemon.
func (c *Client) Status(ctx context.Context) (protocol.Status, error) {
	var s protocol.Status
	err := c.get(ctx, "/v1/status", &s)
	return s, err
}

// Launch asks how the daemon was started. The arguments may hold passwords.
func (c *Client) Launch(ctx context.Context) (protocol.Launch, error) {
	var l protocol.Launch
	err := c.get(ctx, "/v1/launch", &l)
	return l, err
}

// Calls asks for the calls that ended after the cursor, at most limit of them; limit 0 leaves it to the daemon.
func (c *Client) Calls(ctx context.Context, after uint64, limit int) (protocol.CallsPage, error) {
	query := url.Values{"after": {strconv.FormatUint(after, 10)}}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var page protocol.CallsPage
	err := c.get(ctx, "/v1/calls?"+query.Encode(), &page)
	return page, err
}

// History asks for a page of the calls that were recorded. A bound that q leaves out is left to the daemon.
func (c *Client) History(ctx context.Context, q protocol.HistoryQuery) (protocol.HistoryPage, error) {
	query := url.Values{}
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	for name, text := range map[string]string{"model": q.Model, "after": q.After} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if q.Limit != 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var page protocol.HistoryPage
	err := c.get(ctx, "/v1/history?"+query.Encode(), &page)
	return page, err
}

// Shutdown asks the daemon with this instance id, and no other, to end. A nil grace leaves it to the daemon. It
// returns when the daemon has agreed, which is before it has ended.
func (c *Client) Shutdown(ctx context.Context, instanceID string, grace *time.Duration) error {
	req := protocol.ShutdownRequest{InstanceID: instanceID}
	if grace != nil {
		ms := grace.Milliseconds()
		req.GraceMs = &ms
	}
	return c.post(ctx, "/v1/shutdown", req, nil)
}

// URL asks where a page is, and opens nothing.
func (c *Client) URL(ctx context.Context, target protocol.OpenTarget) (string, error) {
	var answer protocol.OpenResponse
	err := c.post(ctx, "/v1/open", protocol.OpenRequest{Target: target, URLOnly: true}, &answer)
	return answer.URL, err
}

// Open asks the daemon to open a page in the user's browser, and returns its URL.
func (c *Client) Open(ctx context.Context, target protocol.OpenTarget) (string, error) {
	var answer protocol.OpenResponse
	err := c.post(ctx, "/v1/open", protocol.OpenRequest{Target: target}, &answer)
	return answer.URL, err
}

// Server starts, stops or restarts the daemon's HTTP server, and returns when that is done.
func (c *Client) Server(ctx context.Context, action protocol.ServerAction) error {
	return c.post(ctx, "/v1/server/"+url.PathEscape(string(action)), struct{}{}, nil)
}

func (c *Client) get(ctx context.Context, path string, answer any) error {
	return c.roundTrip(ctx, http.MethodGet, path, nil, answer)
}

func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("asking the daemon: %w", err)
	}
	return c.roundTrip(ctx, http.MethodPost, path, data, answer)
}

// roundTrip sends one request and decodes the answer into answer, unless that is nil. Members that we do not know are
// ignored: the daemon may be newer.
func (c *Client) roundTrip(ctx context.Context, method, path string, body []byte, answer any) error {
	resp, err := c.send(ctx, method, path, "application/json", body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("reading the daemon's answer: %w", err)
	}
	if len(data) > maxAnswer {
		return fmt.Errorf("the daemon's answer is over %d bytes", maxAnswer)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("decoding the daemon's answer: %w", err)
	}
	return nil
}

// send returns a successful answer whose body is still to be read, or an error.
func (c *Client) send(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	// The host is of no consequence: the socket was chosen already.
	req, err := http.NewRequestWithContext(ctx, method, "http://chatwright"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking the daemon: %w", err)
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // "Get http://chatwright/…" tells nobody anything
		}
		if localsock.NobodyListens(err) {
			return nil, hint.With(notRunningError{err}, "start it with: chatwright-tray start")
		}
		dial, ok := errors.AsType[*net.OpError](err)
		if connected := !ok || dial.Op != "dial"; connected && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrHungUp, err)
		}
		return nil, fmt.Errorf("asking the daemon: %w", err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, readError(resp)
}

// notRunningError is ErrNotRunning that keeps its cause, without boring a person with it.
type notRunningError struct{ cause error }

func (notRunningError) Error() string     { return ErrNotRunning.Error() }
func (n notRunningError) Unwrap() []error { return []error{ErrNotRunning, n.cause} }

// readError makes an *Error of any answer that is not a success, whoever gave it.
func readError(resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("reading the daemon's answer: %w", err)
	}
	var body protocol.Error
	if json.Unmarshal(data, &body) != nil || body.Message == "" {
		body = protocol.Error{Message: "the daemon answered " + resp.Status}
	}
	return &Error{Status: resp.StatusCode, Code: body.Code, Message: body.Message, Hint: body.Hint}
}
