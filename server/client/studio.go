package client

import (
	"context"

	"chatwright.dev/tray/server/protocol"
)

// Studio asks for the state of the offline copy.
func (c *Client) Studio(ctx context.Context) (protocol.StudioStatus, error) {
	var s protocol.StudioStatus
	err := c.get(ctx, "/v1/studio", &s)
	return s, err
}

// UpdateStudio installs the newest release, if it is newer, and returns when that is done; meanwhile StatusEvents shows
// how far it is. It goes on when ctx ends: CancelStudio is what ends it. One that runs already is joined.
func (c *Client) UpdateStudio(ctx context.Context, req protocol.StudioUpdateRequest) (protocol.StudioStatus, error) {
	var s protocol.StudioStatus
	err := c.post(ctx, "/v1/studio/update", req, &s)
	return s, err
}

// RollBackStudio serves the version before the present one, until one is released that is newer than the present one.
func (c *Client) RollBackStudio(ctx context.Context) (protocol.StudioStatus, error) {
	var s protocol.StudioStatus
	err := c.post(ctx, "/v1/studio/rollback", struct{}{}, &s)
	return s, err
}

// PruneStudio removes the copies that are neither served nor what a rollback would serve, and what updates left behind.
func (c *Client) PruneStudio(ctx context.Context) (protocol.StudioPruned, error) {
	var p protocol.StudioPruned
	err := c.post(ctx, "/v1/studio/prune", struct{}{}, &p)
	return p, err
}

// CancelStudio ends a running update; what was downloaded is kept for the next where the server can resume.
func (c *Client) CancelStudio(ctx context.Context) (protocol.StudioStatus, error) {
	var s protocol.StudioStatus
	err := c.post(ctx, "/v1/studio/cancel", struct{}{}, &s)
	return s, err
}
