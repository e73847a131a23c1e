// Package detect finds the model servers that run on this machine. A server counts by what it answers, never by the
// port alone: a port only says where to look, and a name that is no more than a guess carries a question mark.
//
// It asks this machine only, with GET requests that change nothing, each bounded in time and size, and it looks when it
// is told to: at start, on "Look again", after sleep; never in a loop.
package detect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

const defaultTimeout = 300 * time.Millisecond

// Config says where to look. The zero value looks on the usual ports.
type Config struct {
	// Address turns a usual port into the host and port that is asked instead. Nil: localhost and that port. An empty
	// answer leaves the port out, such as the one that this program listens on itself.
	Address func(port int) string
	// Timeout is how long one question may take. Zero: 300 ms, in which every server of this machine answers that does
	// not have its hands full.
	Timeout time.Duration
}

// Find returns the model servers that answer now, in the order of the table of servers. It takes as long as the slowest
// answers, at most four times Config.Timeout.
func Find(ctx context.Context, cfg Config) []protocol.FoundServer {
	if cfg.Address == nil {
		cfg.Address = func(port int) string { return fmt.Sprintf("localhost:%d", port) }
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	ports := usualPorts()
	found := make([]*protocol.FoundServer, len(ports))
	var all sync.WaitGroup
	for i, port := range ports {
		address := cfg.Address(port)
		if address == "" {
			continue
		}
		all.Go(func() { found[i] = look(ctx, port, address, cfg.Timeout) })
	}
	all.Wait()
	var servers []protocol.FoundServer
	for _, server := range found {
		if server != nil {
			servers = append(servers, *server)
		}
	}
	slices.SortStableFunc(servers, func(a, b protocol.FoundServer) int { return rank(a.Kind) - rank(b.Kind) })
	return servers
}

// usualPorts are all ports of the table, each once.
func usualPorts() (ports []int) {
	for _, k := range kinds {
		for _, port := range k.ports {
			if !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	return ports
}

// look asks what listens at an address. What usually listens there is asked for first; only something that lists models
// is asked for all the rest, so that other programs of a developer's machine see few requests.
func look(ctx context.Context, port int, address string, timeout time.Duration) *protocol.FoundServer {
	target, err := upstream.Parse("http://" + address)
	if err != nil || !target.Loopback() {
		return nil
	}
	a := &asker{target: target, timeout: timeout}
	if !a.listens(ctx) {
		return nil
	}
	var usual, others []kind
	for _, k := range kinds {
		if slices.Contains(k.ports, port) {
			usual = append(usual, k)
		} else {
			others = append(others, k)
		}
	}
	if found := a.first(ctx, usual); found != nil {
		return found
	}
	if _, ok := a.models(ctx, "/v1/models"); !ok {
		return nil
	}
	if found := a.first(ctx, others); found != nil {
		return found
	}
	return &protocol.FoundServer{Kind: kindUnknown, Name: guess(usual), BaseURL: target.String() + "/v1", Reach: protocol.ReachOK}
}

// first asks for all of these kinds side by side and returns the first in their order that it is.
func (a *asker) first(ctx context.Context, among []kind) *protocol.FoundServer {
	found := make([]*protocol.FoundServer, len(among))
	var all sync.WaitGroup
	for i, k := range among {
		if k.is == nil {
			continue
		}
		all.Go(func() {
			if mark, ok := k.is(ctx, a); ok {
				found[i] = &protocol.FoundServer{Kind: k.id, Name: k.name, BaseURL: a.target.String() + k.base, Version: mark.version, Reach: mark.reach()}
			}
		})
	}
	all.Wait()
	for _, server := range found {
		if server != nil {
			return server
		}
	}
	return nil
}

// guess names what could not be told, with what usually listens on its port.
func guess(usual []kind) string {
	var names []string
	for _, k := range usual {
		names = append(names, k.name)
	}
	if len(names) == 0 {
		return "OpenAI-compatible"
	}
	return "OpenAI-compatible (" + strings.Join(names, " or ") + "?)"
}
