package app

import (
	"context"
	"sync/atomic"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/telemetry"
)

// A telemeter exports calls to an OpenTelemetry collector while the settings, or the environment, name one.
type telemeter struct {
	config  func() telemetry.Config // from the settings in force
	renew   chan struct{}           // capacity 1: the settings have changed
	current atomic.Pointer[telemetry.Exporter]
}

func newTelemeter(config func() telemetry.Config) *telemeter {
	t := &telemeter{config: config, renew: make(chan struct{}, 1)}
	t.current.Store(telemetry.New(config()))
	return t
}

// Renew takes the settings as they are now.
func (t *telemeter) Renew() {
	select {
	case t.renew <- struct{}{}:
	default: // it is wanted already, and not read yet
	}
}

// observe is told of each call that ended, on the call's goroutine.
func (t *telemeter) observe(c protocol.Call) {
	if exporter := t.current.Load(); exporter != nil {
		exporter.Observe(c)
	}
}

// Run exports until ctx ends, and sends what is left.
func (t *telemeter) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := t.exportUntilRenewed(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *telemeter) exportUntilRenewed(ctx context.Context) error {
	running, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	if exporter := t.current.Load(); exporter != nil {
		go func() { ended <- exporter.Run(running) }()
	} else {
		ended <- nil
	}
	select {
	case <-ctx.Done():
	case <-t.renew:
		t.current.Store(telemetry.New(t.config())) // before the old one ends, so that no call falls between
		end()
	}
	return <-ended
}
