package app

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// causeStudio is the cause of the notice that says why there is no, or no newer, copy of Studio.
const causeStudio = "studio"

// studioManifest is the file of a release that is asked for first.
const studioManifest = "studio-ui.manifest.json"

// newLibrarian makes what keeps the offline copy of Studio; nil when the settings want none, or serve a folder.
func (a *app) newLibrarian() (*librarian, error) {
	now := a.settings.Load()
	if !now.UI || now.UIDir != "" {
		return nil, nil
	}
	store, err := studio.Open(studio.Config{
		CacheDir: a.cfg.Paths.UI, LegacyDir: a.cfg.Paths.LegacyUI, BaseURL: now.UIURL, PublicKey: now.UIKey, Log: a.log,
	})
	if err != nil {
		return nil, err
	}
	warn := a.cfg.Warn
	if warn == nil {
		warn = func(string) {}
	}
	l := &librarian{
		copies: studio.NewKeeper(store, a.serveCopy),
		board:  a.board, log: a.log, every: now.UICheck, rand: rand.Float64, warn: warn,
		folder: a.cfg.Paths.UI, woke: make(chan struct{}, 1), looked: make(chan struct{}),
	}
	a.ui.OnDamage(l.damaged)
	return l, nil
}

// serveCopy serves c from now on; the zero Copy is none, and then there is the console. Pages of the others that are
// still open find their hashed files there.
func (a *app) serveCopy(c studio.Copy, others []studio.Copy) {
	a.ui.SetCopy(c, others)
	ui := a.page(a.settings.Load())
	a.board.Update(func(p parts) parts {
		if p.ui.Source == protocol.UICopy && ui.Source == protocol.UICopy {
			p.studioChanged = time.Now()
		}
		p.ui = ui
		return p
	})
	a.log.Info("serving the offline copy of Studio", "version", c.Version)
}

func (a *app) serves(ui protocol.UI) {
	a.board.Update(func(p parts) parts { p.ui = ui; return p })
}

// studioNotice is what a person is told of an update that failed: the cause itself comes first, since a row of the menu
// has no room for the way to it.
func studioNotice(err error, have bool) protocol.Notice {
	cause := studioCause(err)
	n := protocol.Notice{Cause: causeStudio, Text: "Studio was not updated: " + cause, Hint: sentence(hint.Of(err)), Since: time.Now()}
	if !have {
		n.Text = "Studio could not be fetched: " + cause
		n.Hint = strings.TrimSpace(withStop(n.Hint) + " Studio at https://chatwright.dev works meanwhile.")
	}
	return n
}

// studioCause says in a phrase why an update failed. The log has all of it.
func studioCause(err error) string {
	whole := strings.TrimPrefix(err.Error(), "updating Studio: ")
	lookup, isLookup := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "its folder cannot be written"
	case isLookup:
		return lookup.Name + " was not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, studio.ErrManifest):
		if at := strings.LastIndex(whole, studioManifest); at >= 0 { // "no usable manifest at URL: cause"
			if _, cause, ok := strings.Cut(whole[at:], ": "); ok {
				return cause
			}
		}
	}
	return whole
}

// withWay adds what to do where only the system said what is wrong.
func (l *librarian) withWay(err error) error {
	switch {
	case err == nil || hint.Of(err) != "":
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return hint.With(err, "make room on that disk: chatwright-tray studio prune removes what is not needed")
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return hint.With(err, "make the folder yours to write: "+l.folder)
	}
	return err
}

// withStop ends a text that another follows.
func withStop(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// studioURL prefers the name under which Studio keeps its data, where the system resolves that name to this machine and
// to where we listen.
func studioURL(ctx context.Context, addr string, resolve func(context.Context, string) ([]net.IPAddr, error)) string {
	plain := "http://" + reachable(addr) + "/"
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return plain
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	resolved, err := resolve(ctx, studioHost)
	if err != nil {
		return plain
	}
	ours := net.ParseIP(host)
	found := ours == nil || ours.IsUnspecified() // a name such as localhost, or every address
	for _, at := range resolved {
		if !at.IP.IsLoopback() {
			return plain
		}
		found = found || at.IP.Equal(ours)
	}
	if !found {
		return plain
	}
	return "http://" + net.JoinHostPort(studioHost, port) + "/"
}

// reachable is how a browser here reaches addr: one that means every address is none to ask.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if host = "127.0.0.1"; ip.To4() == nil {
			host = "::1"
		}
		return net.JoinHostPort(host, port)
	}
	return addr
}
