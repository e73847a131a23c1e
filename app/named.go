package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// Get says what is known of one upstream.
func (c *choice) Get(name string) (protocol.UpstreamEntry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := c.named(name)
	if err != nil {
		return protocol.UpstreamEntry{}, refused(err)
	}
	return c.entry(found), nil
}

// Put adds a named upstream, or replaces it: the next call goes where it says now.
func (c *choice) Put(name string, req protocol.PutUpstreamRequest) (entry protocol.UpstreamEntry, added bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if target, err := upstream.Parse(req.BaseURL); err == nil { // what is wrong with it the profiles say
		if err := c.notOurselves(target); err != nil {
			return entry, false, err
		}
	}
	_, _, err = c.profiles.Get(name)
	added = err != nil
	profile := upstream.Profile{Name: name, Kind: req.Kind, BaseURL: req.BaseURL, Model: req.Model, Protocol: req.Protocol}
	if req.APIKey != nil {
		profile.APIKey = *req.APIKey
	}
	if _, _, err = c.profiles.Put(profile, req.APIKey == nil); err != nil {
		return entry, false, refused(err)
	}
	found, err := c.named(name)
	if err != nil {
		return entry, false, refused(err)
	}
	c.log.Info("named upstream stored", "upstream", name, "added", added)
	if found.key == c.chosen && c.selector.Load() != found.target {
		c.take(found)
	} else {
		c.show()
	}
	return c.entry(found), added, nil
}

// Delete forgets a named upstream that is not in use.
func (c *choice) Delete(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch name {
	case upstream.ConfiguredName, upstream.DemoName:
		return hint.With(control.Refuse(protocol.CodeInvalidInput, fmt.Sprintf("%q is always there", name)),
			"to send calls elsewhere: chatwright-tray upstream use NAME")
	case c.chosen:
		return hint.With(control.Refuse(protocol.CodeConflict, fmt.Sprintf("%q is in use", name)),
			"use another first: chatwright-tray upstream use "+upstream.ConfiguredName)
	}
	if err := c.profiles.Delete(name); err != nil {
		return refused(err)
	}
	delete(c.reaches, name)
	c.log.Info("named upstream removed", "upstream", name)
	c.show()
	return nil
}

// refused gives an error of the profiles the code that belongs to it on the control socket.
func refused(err error) error {
	switch {
	case errors.Is(err, upstream.ErrNoProfile):
		return hint.With(control.Refuse(protocol.CodeNotFound, err.Error()), hint.Of(err))
	case errors.Is(err, upstream.ErrInvalid):
		return hint.With(control.Refuse(protocol.CodeInvalidInput, err.Error()), hint.Of(err))
	}
	return err
}

// notOurselves refuses a target whose calls would come in here again. The proxy refuses such calls as well: an address
// may become ours long after it was named.
func (c *choice) notOurselves(target *upstream.Target) error {
	own, err := netip.ParseAddrPort(c.scout.board.Get().addr)
	if err != nil {
		return nil // it listens nowhere yet
	}
	if own.Addr().IsUnspecified() { // every interface, the loopback among them
		own = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), own.Port())
	}
	if !target.LeadsTo(net.TCPAddrFromAddrPort(own)) {
		return nil
	}
	return hint.With(control.Refuse(protocol.CodeInvalidInput, fmt.Sprintf("%s is this companion itself", target)),
		"name a model server; those on this machine: chatwright-tray upstream list")
}
