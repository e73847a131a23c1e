package server

import (
	"context"

	"chatwright.dev/tray/server/protocol"
)

// Upstreams lets the console show the model servers that calls can go to, and choose between them.
type Upstreams struct {
	// Overview says what is known now. It asks nobody.
	Overview func() protocol.UpstreamOverview
	// Look looks for model servers on this machine again and returns when that is done.
	Look func(ctx context.Context)
	// Use sends calls to another one from now on, by its name; those in flight end where they began.
	Use func(name string) error
	// Models asks the one in use which models it offers. Empty: it offers none, or did not answer.
	Models func(ctx context.Context) []protocol.Model
}
