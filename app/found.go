package app

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
	"chatwright.dev/tray/server/upstream/detect"
)

// Why an upstream is in use, besides what package detect says.
const (
	whyAsSet    = "as set"
	whyChosen   = "chosen" // in this run
	whyUsedLast = "used last"
)

// unknownKind is the kind of a model server that could not be told.
const unknownKind = string(protocol.KindOpenAI)

// findings are the model servers that were found on this machine when somebody last looked. They are part of a choice
// and guarded by its lock.
type findings struct {
	servers []protocol.FoundServer
	targets map[string]*upstream.Target // by base URL; kept so that connections are
	looked  bool                        // somebody has looked in this run
}

// at returns the server with that base URL, if it was ever found.
func (f *findings) at(base string) (protocol.FoundServer, bool) {
	i := slices.IndexFunc(f.servers, func(s protocol.FoundServer) bool { return s.BaseURL == base })
	if i < 0 {
		return protocol.FoundServer{}, false
	}
	return f.servers[i], true
}

// target returns where calls to a base URL go; nil when it is none.
func (f *findings) target(base string) *upstream.Target {
	if t := f.targets[base]; t != nil {
		return t
	}
	t, err := upstream.Parse(base)
	if err != nil || t.Inside() {
		return nil
	}
	f.targets[base] = t
	return t
}

// isBase says whether a name is the base URL of a server that was found, which no profile can be called.
func isBase(name string) bool { return strings.Contains(name, "://") }

// foundOnes are the servers that were found and that nothing else in the list stands for, as candidates. One that is in
// use stays even when it was not found any more: it is where calls go. It is called with the lock held.
func (c *choice) foundOnes(others []candidate) (found []candidate) {
	bases := make([]string, 0, len(c.found.servers)+1)
	for _, s := range c.found.servers {
		bases = append(bases, s.BaseURL)
	}
	if isBase(c.chosen) && !slices.Contains(bases, c.chosen) {
		bases = append(bases, c.chosen)
	}
	for _, base := range bases {
		target := c.found.target(base)
		if target == nil || base != c.chosen && slices.ContainsFunc(others, func(o candidate) bool { return same(o.target, target) }) {
			continue
		}
		taken := func(name string) bool {
			named := func(o candidate) bool { return o.name == name }
			return slices.ContainsFunc(others, named) || slices.ContainsFunc(found, named)
		}
		found = append(found, candidate{name: c.foundName(base, taken), key: base, source: protocol.SourceFound, target: target})
	}
	return found
}

// foundName is the name under which a command line chooses a server that was found: its kind, with the port where that
// says too little.
func (c *choice) foundName(base string, taken func(string) bool) string {
	server, ok := c.found.at(base)
	if ok && server.Kind != unknownKind && !taken(server.Kind) {
		return server.Kind
	}
	kind := "local"
	if ok && server.Kind != unknownKind {
		kind = server.Kind
	}
	return kind + "-" + c.found.target(base).BaseURL.Port()
}

// same says whether two targets are one server: "localhost" and "127.0.0.1" mean the same machine.
func same(a, b *upstream.Target) bool {
	if a.Loopback() && b.Loopback() {
		return a.BaseURL.Port() == b.BaseURL.Port() && a.BaseURL.Path == b.BaseURL.Path
	}
	return a.String() == b.String()
}

// kindOf is the name of the program that was found where target leads; "" when it is not known.
func kindOf(found []protocol.FoundServer, target *upstream.Target) string {
	for _, s := range found {
		u, err := url.Parse(s.BaseURL)
		if err == nil && s.Kind != unknownKind && target.Loopback() && u.Port() == target.BaseURL.Port() && u.Path == target.BaseURL.Path {
			return s.Name
		}
	}
	return ""
}

// Look looks for model servers on this machine, and settles the first choice if it is still open. What is in use because
// somebody chose it, or because it was found, stays in use whatever is there now.
func (c *choice) Look(ctx context.Context) {
	if c.replay != nil { // nothing goes over a network
		return
	}
	servers := c.find(ctx)
	if ctx.Err() != nil { // whoever asked has gone: what was not found may be there
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found.servers, c.found.looked = servers, true
	c.log.Info("looked for model servers", "found", len(servers))
	c.show()
	if c.open {
		c.settle()
	}
	c.scout.again()
}

// look is Look, but for somebody who has not asked: where an upstream was named, nobody's ports are knocked at.
func (c *choice) look(ctx context.Context, asked bool) {
	c.mu.Lock()
	wanted := asked || c.open || c.found.looked
	c.mu.Unlock()
	if wanted {
		c.Look(ctx)
	}
}

// finder looks where the settings of this run have it, and never at our own address.
func finder(cfg detect.Config, own func() string) func(context.Context) []protocol.FoundServer {
	at := cfg.Address
	if at == nil {
		at = func(port int) string { return fmt.Sprintf("localhost:%d", port) }
	}
	return func(ctx context.Context) []protocol.FoundServer {
		_, port, _ := net.SplitHostPort(own())
		return detect.Find(ctx, detect.Config{Timeout: cfg.Timeout, Address: func(usual int) string {
			address := at(usual)
			if _, there, err := net.SplitHostPort(address); err != nil || there == port {
				return ""
			}
			return address
		}})
	}
}

// settle makes the first choice from what was found. Nothing of it is remembered as a decision: at the next start it is
// made anew. It is called with the lock held.
func (c *choice) settle() {
	first := detect.Choose("", c.lastUsed(), c.setting.String(), c.found.servers)
	c.open, c.why = len(c.found.servers) == 0, first.Why
	one, err := c.byBase(first.BaseURL)
	if err != nil || one.key == c.chosen && c.selector.Load() == one.target {
		c.show() // why, if nothing else
		return
	}
	c.take(one)
}

// lastUsed is the base URL that was chosen last, or else the one that last answered. It is called with the lock held.
func (c *choice) lastUsed() string {
	switch chosen := c.scout.memory.Chosen(); {
	case isBase(chosen):
		return chosen
	case chosen == upstream.ConfiguredName:
		return c.setting.String()
	}
	return c.scout.memory.LastToAnswer()
}

// byBase returns the candidate whose calls go to a base URL: one that is in the list under another name stands for it.
// It is called with the lock held.
func (c *choice) byBase(base string) (candidate, error) {
	target := c.found.target(base)
	for _, one := range c.all() {
		if one.key == base || target != nil && !one.target.Inside() && same(one.target, target) {
			return one, nil
		}
	}
	return candidate{}, fmt.Errorf("%q: %w", base, upstream.ErrNoProfile)
}

// offer is what a notice about a dead upstream offers instead, as the menu and the command line name it; "" when nothing
// else was found.
func (p parts) offer() string {
	for _, row := range p.choosable {
		if row.Found && !row.Chosen {
			return row.Label + " was found: choose it in the menu under Upstream, or with: chatwright-tray upstream use " + row.Name + "."
		}
	}
	return ""
}

// Found are the model servers that were found when somebody last looked.
func (c *choice) Found() []protocol.FoundServer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.found.servers)
}

// Why says in a phrase why the upstream in use is in use.
func (c *choice) Why() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// row is a candidate as the menu shows it. It is called with the lock held.
func (c *choice) row(one candidate) tray.Upstream {
	label := one.target.Name
	if kind := kindOf(c.found.servers, one.target); kind != "" && one.source != protocol.SourceNamed {
		label = kind + " · " + label
	}
	return tray.Upstream{
		Key: one.key, Name: one.name, Label: label, Chosen: one.key == c.chosen,
		Found: one.source == protocol.SourceFound,
	}
}
