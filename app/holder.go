package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	gopsnet "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"

	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
)

// Bounds of what is asked of whoever holds our address.
const (
	askTimeout   = time.Second
	maxAnswer    = 4 << 20 // bytes; 200 calls are far below it
	maxHealth    = 64 << 10
	maxForeign   = 1000 // calls of it that are kept: the newest
	maxText      = 200  // bytes of each text in them, as of our own calls
	followPeriod = 2 * time.Second
	maxMissed    = 2 // failed reads in a row after which the other companion counts as gone
)

// A neighbour asks other programs on this machine. Its client keeps no connection, so that it holds nothing open in
// a server that wants to end.
type neighbour struct{ client *http.Client }

func newNeighbour() neighbour {
	return neighbour{&http.Client{
		Timeout:   askTimeout,
		Transport: &http.Transport{DisableKeepAlives: true}, // and no Proxy: the address is loopback
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// WhoHolds says who listens on addr: another companion, or a program that the system names; nil when nobody does.
func WhoHolds(ctx context.Context, addr string) *PortHeldError {
	held := newNeighbour().holder(ctx, addr)
	if !held.Ours && held.Holder == "" {
		return nil
	}
	return held
}

// holder finds out who holds addr: another companion, which says so itself, or a program that the system names.
func (n neighbour) holder(ctx context.Context, addr string) *PortHeldError {
	held := &PortHeldError{Addr: addr}
	var health struct {
		Name string `json:"name"`
	}
	decode := func(body io.Reader) error { return json.NewDecoder(io.LimitReader(body, maxHealth)).Decode(&health) }
	if err := n.get(ctx, "http://"+addr+"/health", decode); err == nil && health.Name == protocol.ServerName {
		held.Ours = true
	}
	held.Holder = listenerOf(ctx, addr)
	return held
}

// follow reads the other companion's metrics until it is gone or ctx ends.
func (n neighbour) follow(ctx context.Context, addr string, onMetrics func(protocol.Metrics)) {
	last := mark{length: -1}
	missed := 0
	ticker := time.NewTicker(followPeriod)
	defer ticker.Stop()
	for {
		var calls []protocol.Call
		decode := func(body io.Reader) (err error) { calls, err = decodeCalls(body); return err }
		if err := n.get(ctx, "http://"+addr+"/metrics", decode); err != nil {
			if missed++; missed >= maxMissed {
				return
			}
		} else {
			missed = 0
			if m := markOf(calls); m != last {
				last = m
				onMetrics(summarise(calls))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// decodeCalls reads calls one by one and keeps the newest, so that an answer of a million empty ones, which a program
// that only pretends to be a companion may give, costs no more than one of ours.
func decodeCalls(body io.Reader) ([]protocol.Call, error) {
	dec := json.NewDecoder(io.LimitReader(body, maxAnswer))
	if start, err := dec.Token(); err != nil || start != json.Delim('[') {
		return nil, errors.Join(errors.New("the calls are not a list"), err)
	}
	var calls []protocol.Call
	for read := 0; dec.More(); read++ {
		if read == 100*maxForeign {
			return nil, errors.New("the calls are too many")
		}
		var c protocol.Call
		if err := dec.Decode(&c); err != nil {
			return nil, err
		}
		if len(calls) == 2*maxForeign {
			calls = calls[:copy(calls, calls[maxForeign:])]
		}
		calls = append(calls, clipped(c))
	}
	if _, err := dec.Token(); err != nil { // the end of the list: without it, this is not all
		return nil, err
	}
	return calls[max(0, len(calls)-maxForeign):], nil
}

// clipped bounds what a foreign program says as the proxy bounds what it hears itself.
func clipped(c protocol.Call) protocol.Call {
	for _, text := range []*string{&c.Model, &c.ResponseFormat, &c.Error, &c.FinishReason, &c.Upstream, &c.ID} {
		if len(*text) > maxText {
			*text = strings.ToValidUTF8((*text)[:maxText], "")
		}
	}
	if len(c.Verdict) > 20 { // the longest of ours has 14; they are the keys of a map
		c.Verdict = ""
	}
	return c
}

// A mark tells one list of calls from another: lists grow at their end and shrink at their start.
type mark struct {
	length int
	newest time.Time
}

func markOf(calls []protocol.Call) mark {
	if len(calls) == 0 {
		return mark{}
	}
	return mark{len(calls), calls[len(calls)-1].Timestamp}
}

// summarise makes a snapshot of calls that another companion measured.
func summarise(calls []protocol.Call) protocol.Metrics {
	store := metrics.New(max(len(calls), 1))
	for _, c := range calls {
		store.End(c) // which began there
	}
	return store.Snapshot()
}

func (n neighbour) get(ctx context.Context, url string, decode func(body io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: status %d", url, resp.StatusCode)
	}
	return decode(resp.Body)
}

// listenerOf names the program that listens on addr, as "nginx (pid 812)"; "" when the system does not tell, which is
// usual for programs of other users.
func listenerOf(ctx context.Context, addr string) string {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return ""
	}
	conns, err := gopsnet.ConnectionsWithContext(ctx, "tcp")
	if err != nil {
		return ""
	}
	for _, c := range conns {
		if c.Status != "LISTEN" || c.Laddr.Port != uint32(port) || c.Pid == 0 {
			continue
		}
		if p, err := process.NewProcessWithContext(ctx, c.Pid); err == nil {
			if name, err := p.NameWithContext(ctx); err == nil && name != "" {
				return fmt.Sprintf("%s (pid %d)", name, c.Pid)
			}
		}
		return fmt.Sprintf("pid %d", c.Pid)
	}
	return ""
}
