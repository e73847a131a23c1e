//go:build windows || darwin

package notify

import (
	"context"

	"github.com/gen2brain/beeep"
)

// nativeDesktop shows notifications that can be neither taken back nor answered.
type nativeDesktop struct{ app string }

func dial(_ context.Context, cfg Config) (desktop, error) { return nativeDesktop{cfg.App}, nil }

func (d nativeDesktop) post(_ context.Context, n Notice) (uint32, error) {
	beeep.AppName = d.app
	return 0, beeep.Notify(n.Title, n.Body, "")
}

func (nativeDesktop) withdraw(context.Context, uint32) {}
func (nativeDesktop) events() <-chan event             { return nil }
func (nativeDesktop) close()                           {}
