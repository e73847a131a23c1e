package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
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
	if err := n.get(ctx, "http://"+addr+"/health", &health); err == nil && health.Name == protocol.ServerName {
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
		if err := n.get(ctx, "http://"+addr+"/metrics", &calls); err != nil {
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
		store.Begin(c.Model)
		store.End(c)
	}
	return store.Snapshot()
}

func (n neighbour) get(ctx context.Context, url string, v any) error {
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
	return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(v)
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
