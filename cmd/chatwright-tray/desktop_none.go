//go:build darwin && !cgo

package main

import (
	"context"

	"chatwright.dev/tray/app"
)

// hasDesktop says whether this build can show a tray: on macOS that takes cgo.
const hasDesktop = false

func (c *cli) runWithTray(ctx context.Context, cfg app.Config) error { return app.Run(ctx, cfg) }
