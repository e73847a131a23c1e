package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"chatwright.dev/tray/server/protocol"
)

// Upstreams asks for the model servers that calls can go to. With ask, the daemon asks each whether it answers.
func (c *Client) Upstreams(ctx context.Context, ask bool) (protocol.UpstreamList, error) {
	path := "/v1/upstreams"
	if ask {
		path += "?ask=1"
	}
	var list protocol.UpstreamList
	err := c.get(ctx, path, &list)
	return list, err
}

// Upstream asks for one of them.
func (c *Client) Upstream(ctx context.Context, name string) (protocol.UpstreamEntry, error) {
	var entry protocol.UpstreamEntry
	err := c.get(ctx, upstreamPath(name), &entry)
	return entry, err
}

// PutUpstream adds a named upstream, or replaces it.
func (c *Client) PutUpstream(ctx context.Context, name string, req protocol.PutUpstreamRequest) (protocol.UpstreamEntry, error) {
	var entry protocol.UpstreamEntry
	body, err := json.Marshal(req)
	if err != nil {
		return entry, fmt.Errorf("asking the daemon: %w", err)
	}
	err = c.roundTrip(ctx, http.MethodPut, upstreamPath(name), body, &entry)
	return entry, err
}

// DeleteUpstream forgets a named upstream, and its key.
func (c *Client) DeleteUpstream(ctx context.Context, name string) error {
	return c.roundTrip(ctx, http.MethodDelete, upstreamPath(name), nil, nil)
}

// UseUpstream sends Studio's calls to that upstream from now on: a named one, "configured" or "demo".
func (c *Client) UseUpstream(ctx context.Context, name string) error {
	return c.post(ctx, upstreamPath(name)+"/use", struct{}{}, nil)
}

func upstreamPath(name string) string { return "/v1/upstreams/" + url.PathEscape(name) }
