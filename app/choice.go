package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// causeProfiles is the cause of the notice that the named upstreams were lost.
const causeProfiles = "upstreams"

// A choice is the upstreams that calls can go to, and which of them Studio's calls do go to: the configured one, the
// demo model, a named one, or one that was found on this machine. In this order decide who begins:
//
//   - a flag or the environment, since whoever wrote it means this run;
//   - what was chosen last, in the menu or on the command line, if it is one of those that are always there or have a
//     name;
//   - tray.toml;
//   - when nobody has said: what was found, by the rules of package detect.
type choice struct {
	profiles   *upstream.Profiles
	selector   *upstream.Selector
	scout      *scout
	find       func(context.Context) []protocol.FoundServer // nil: nobody looks
	configured func() string                                // the upstream setting
	log        *slog.Logger
	lost       *protocol.Notice // what happened to the named ones; nil: nothing
	replay     *upstream.Target // answers all calls instead of every upstream; nil: none does

	mu      sync.Mutex // held while the choice, or what is chosen, changes
	chosen  string     // a name, or the base URL of one that was found
	why     string     // why that one
	before  string     // what was chosen before the demo model; "" nothing
	open    bool       // nobody has said, and nothing was found yet
	found   findings
	setting *upstream.Target // of the setting; kept so that its connections are
	demo    *upstream.Target
	reaches map[string]reached // what was last known of each, by name
}

// reached is what was found out about a target.
type reached struct {
	target *upstream.Target
	reach  protocol.Reach
	detail string
}

// candidate is one upstream that could be chosen.
type candidate struct {
	name   string // under which the command line chooses it
	key    string // under which it is remembered: the name, or the base URL of one that was found
	source protocol.UpstreamSource
	target *upstream.Target
	model  string
}

// newChoice reads the named upstreams and what was chosen last. The first is where calls go at the beginning.
func newChoice(cfg Config, remembered *memory, log *slog.Logger) (c *choice, first *upstream.Target, err error) {
	c = &choice{
		log: log, demo: upstream.NewDemo(upstream.DemoConfig{}), reaches: map[string]reached{},
		chosen: upstream.ConfiguredName, why: whyAsSet, found: findings{targets: map[string]*upstream.Target{}},
	}
	c.configured = func() string { return cfg.Settings.Upstream }
	if c.setting, err = upstream.Parse(cfg.Settings.Upstream); err != nil {
		return nil, nil, err
	}
	if c.replay, err = newReplay(cfg.Settings); err != nil {
		return nil, nil, err
	}
	profiles, setAside, err := upstream.OpenProfiles(cfg.Paths.Upstreams)
	c.profiles = profiles
	if err != nil {
		log.Warn("reading the named upstreams", "err", err, "setAside", setAside)
		c.lost = &protocol.Notice{Cause: causeProfiles, Text: "The named upstreams could not be read", Since: time.Now(),
			Hint: "Add them again: chatwright-tray upstream add NAME URL."}
		if setAside != "" {
			c.lost.Hint = "The old file is " + filepath.Base(setAside) + "."
		}
	}
	return c, c.begin(cfg.Settings, remembered), nil
}

// begin is where calls go until somebody has looked for model servers, if that is needed at all.
func (c *choice) begin(now settings.Settings, remembered *memory) *upstream.Target {
	switch {
	case c.replay != nil:
		return c.replay
	case explicit(now):
		return c.setting
	}
	name := remembered.Chosen()
	c.open = now.Source("upstream").Kind == settings.FromDefault
	switch {
	case name == "" || name == upstream.ConfiguredName:
		return c.setting
	case isBase(name):
		if target := c.found.target(name); target != nil {
			c.chosen, c.why = name, whyUsedLast
			return target
		}
		return c.setting
	}
	one, err := c.named(name)
	if err != nil {
		c.log.Warn("the upstream that was chosen last is gone", "upstream", name)
		return c.setting
	}
	c.chosen, c.why, c.open = name, whyUsedLast, false
	return one.target
}

// join gives the choice the parts that it works with, before anybody asks for it.
func (c *choice) join(selector *upstream.Selector, scout *scout, configured func() string) {
	c.selector, c.scout, c.configured = selector, scout, configured
	c.show()
	if c.lost != nil {
		scout.board.notify(*c.lost)
	}
}

// explicit says whether whoever started this run said which upstream it is to have.
func explicit(s settings.Settings) bool {
	kind := s.Source("upstream").Kind
	return kind == settings.FromFlag || kind == settings.FromEnv
}

// named returns the upstream of that name, or at that base URL, as it is now.
func (c *choice) named(name string) (candidate, error) {
	switch {
	case c.replay != nil: // whatever was asked when it was recorded
		return c.replaying(), nil
	case isBase(name):
		return c.byBase(name)
	}
	one, err := c.told(name)
	if errors.Is(err, upstream.ErrNoProfile) {
		for _, other := range c.all() {
			if other.source == protocol.SourceFound && other.name == name {
				return other, nil
			}
		}
	}
	return one, err
}

// told returns the upstream of that name among those that the user told of, or that are always there.
func (c *choice) told(name string) (candidate, error) {
	switch name {
	case upstream.ConfiguredName:
		target, err := c.fromSetting()
		return candidate{name, name, protocol.SourceConfigured, target, ""}, err
	case upstream.DemoName:
		return candidate{name, name, protocol.SourceDemo, c.demo, ""}, nil
	}
	profile, target, err := c.profiles.Get(name)
	return candidate{name, name, protocol.SourceNamed, target, profile.Model}, err
}

// fromSetting is the target of the upstream setting. It is called with the lock held, or before anybody else can.
func (c *choice) fromSetting() (*upstream.Target, error) {
	target, err := upstream.Parse(c.configured())
	if err != nil {
		return nil, err
	}
	if c.setting.String() != target.String() {
		c.setting = target
	}
	return c.setting, nil
}

// all returns every upstream there is, in the order in which lists and menus show them.
func (c *choice) all() []candidate {
	if c.replay != nil {
		return []candidate{c.replaying()}
	}
	var all []candidate
	names := []string{upstream.ConfiguredName, upstream.DemoName}
	for _, p := range c.profiles.List() {
		names = append(names, p.Name)
	}
	for _, name := range names {
		if found, err := c.told(name); err == nil { // one may be deleted meanwhile
			all = append(all, found)
		}
	}
	return append(all, c.foundOnes(all)...)
}

// For returns where a turn's calls go now, with the model for turns that name none; an empty name is the one that is in
// use.
func (c *choice) For(name string) (*upstream.Target, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == "" {
		name = c.chosen
	}
	found, err := c.named(name)
	return found.target, found.model, err
}

// Use sends Studio's calls to another upstream from now on, and remembers that.
func (c *choice) Use(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replay != nil {
		return errReplaying
	}
	found, err := c.named(name)
	if err != nil {
		return refused(err)
	}
	c.open, c.why = false, whyChosen
	c.take(found)
	c.scout.memory.Choose(found.key)
	return nil
}

// Back leaves the demo model for what was in use before it; where nothing was, for the configured one.
func (c *choice) Back() error {
	c.mu.Lock()
	before := cmp.Or(c.before, upstream.ConfiguredName)
	c.mu.Unlock()
	return c.Use(before)
}

// take makes found the one in use. It is called with the lock held.
func (c *choice) take(found candidate) {
	if found.key == upstream.DemoName && c.chosen != found.key {
		c.before = c.chosen
	}
	c.chosen = found.key
	c.selector.Store(found.target)
	c.show()
	c.scout.report(found.target, protocol.ReachUnknown, "")
	c.scout.Ask()
	c.log.Info("upstream chosen", "upstream", found.target.Name)
}

// show puts what the menu has of it on the board. It is called with the lock held.
func (c *choice) show() {
	var rows []tray.Upstream
	for _, one := range c.all() {
		row := c.row(one)
		if one.target.Demo && len(rows) > 0 && rows[0].Label == row.Label { // the configured one is the demo model
			rows[0].Chosen = rows[0].Chosen || row.Chosen
			continue
		}
		rows = append(rows, row)
	}
	back := ""
	if one, err := c.named(cmp.Or(c.before, upstream.ConfiguredName)); err == nil && !one.target.Inside() {
		back = c.row(one).Label
	}
	found, why := c.found.servers, c.why
	c.scout.board.Update(func(p parts) parts {
		p.choosable, p.back, p.found, p.why = rows, back, found, why
		return p
	})
}

// List says what is known of each upstream; with ask, each is asked, all at once.
func (c *choice) List(ctx context.Context, ask bool) protocol.UpstreamList {
	if ask {
		c.Look(ctx)
		c.mu.Lock()
		all := c.all()
		c.mu.Unlock()
		c.probe(ctx, all)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all()
	list := protocol.UpstreamList{}
	for _, one := range all {
		list.Upstreams = append(list.Upstreams, c.entry(one))
	}
	return list
}

// probe asks each of them and remembers what they say.
func (c *choice) probe(ctx context.Context, all []candidate) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var group sync.WaitGroup
	for _, one := range all {
		group.Go(func() {
			reach, detail := c.scout.reach(ctx, one.target)
			if errors.Is(ctx.Err(), context.Canceled) { // whoever asked has gone: it says nothing
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.reaches[one.key] = reached{one.target, reach, detail}
			if one.key == c.chosen && c.selector.Load() == one.target {
				c.scout.report(one.target, reach, detail)
			}
		})
	}
	group.Wait()
}

// entry is what is known of one. It is called with the lock held.
func (c *choice) entry(one candidate) protocol.UpstreamEntry {
	e := protocol.UpstreamEntry{
		UpstreamProfile: protocol.UpstreamProfile{
			Name: one.name, Kind: protocol.KindOpenAI, BaseURL: one.target.String(), HasKey: one.target.APIKey != "",
			Model: one.model, Protocol: protocol.ProtocolChatCompletions,
		},
		Source: one.source, Active: one.key == c.chosen, Reach: protocol.ReachUnknown,
	}
	if known, ok := c.reaches[one.key]; ok && known.target == one.target {
		e.Reach, e.Detail = known.reach, known.detail
	}
	if now := c.scout.board.Get().upstream; e.Active && c.selector.Load() == one.target { // every call tells of it
		e.Reach, e.Detail = now.Reach, now.Detail
	}
	return e
}
