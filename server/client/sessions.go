package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"chatwright.dev/tray/server/protocol"
)

// CreateSession begins a session, or carries on an older one.
func (c *Client) CreateSession(ctx context.Context, req protocol.CreateSessionRequest) (protocol.Session, error) {
	var s protocol.Session
	err := c.post(ctx, "/v1/sessions", req, &s)
	return s, err
}

// Sessions asks for the live sessions in the order of their creation and, with recorded, for those that are only on
// disk after them, newest first. A workspace that is not "" leaves out those of others.
func (c *Client) Sessions(ctx context.Context, recorded bool, workspace string) ([]protocol.Session, error) {
	query := url.Values{}
	if recorded {
		query.Set("recorded", "1")
	}
	if workspace != "" {
		query.Set("workspace", workspace)
	}
	path := "/v1/sessions"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var list protocol.SessionList
	err := c.get(ctx, path, &list)
	return list.Sessions, err
}

// Session asks for one session, live or recorded.
func (c *Client) Session(ctx context.Context, id string) (protocol.Session, error) {
	var s protocol.Session
	err := c.get(ctx, sessionPath(id, ""), &s)
	return s, err
}

// DeleteSession ends a session; with purge, its record goes too.
func (c *Client) DeleteSession(ctx context.Context, id string, purge bool) error {
	path := sessionPath(id, "")
	if purge {
		path += "?purge=1"
	}
	return c.roundTrip(ctx, http.MethodDelete, path, nil, nil)
}

// RenameSession gives a session a name; "" restores the title that is derived from its first words.
func (c *Client) RenameSession(ctx context.Context, id, name string) error {
	return c.post(ctx, sessionPath(id, "/name"), protocol.RenameRequest{Name: name}, nil)
}

// StartTurn says something to the model and returns the id of the turn; what comes of it, the events tell. With a
// SubmissionID that is the caller's own, it is safe to call it again after a lost answer: there is one turn for it.
func (c *Client) StartTurn(ctx context.Context, id string, req protocol.TurnRequest) (turnID string, err error) {
	var answer protocol.TurnResponse
	err = c.post(ctx, sessionPath(id, "/turns"), req, &answer)
	return answer.TurnID, err
}

// Interrupt ends the turn that runs. Where none does, it changes nothing.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	return c.post(ctx, sessionPath(id, "/interrupt"), struct{}{}, nil)
}

// Steer cuts off what the model is saying and says text to it, in the same turn.
func (c *Client) Steer(ctx context.Context, id, text string) error {
	return c.post(ctx, sessionPath(id, "/steer"), protocol.SteerRequest{Text: text}, nil)
}

// Undo puts back the files that the last turn changed.
func (c *Client) Undo(ctx context.Context, id string) (protocol.UndoResponse, error) {
	var answer protocol.UndoResponse
	err := c.post(ctx, sessionPath(id, "/undo"), struct{}{}, &answer)
	return answer, err
}

// Approve answers an approval.
func (c *Client) Approve(ctx context.Context, id, approvalID string, d protocol.Decision) error {
	return c.post(ctx, sessionPath(id, "/approvals/"+url.PathEscape(approvalID)), protocol.ApprovalRequest{Decision: d}, nil)
}

// Specs asks for the folders of a workspace that hold specifications.
func (c *Client) Specs(ctx context.Context, workspace string) ([]protocol.SpecFolder, error) {
	var list protocol.SpecList
	err := c.get(ctx, "/v1/specs?"+url.Values{"workspace": {workspace}}.Encode(), &list)
	return list.Folders, err
}

// Events asks for a page of a session's events, from the one with this number on; 0 is the oldest that is kept.
func (c *Client) Events(ctx context.Context, id string, from uint64) (protocol.EventsPage, error) {
	path := sessionPath(id, "/events")
	if from != 0 {
		path += "?from=" + strconv.FormatUint(from, 10)
	}
	var page protocol.EventsPage
	err := c.get(ctx, path, &page)
	return page, err
}

func sessionPath(id, rest string) string { return "/v1/sessions/" + url.PathEscape(id) + rest }
