package protocol_test

import (
	"encoding/json"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

const id = "20261130-154353764-k7ra"

func sessionSamples() map[string]any {
	session := protocol.Session{ID: id, State: protocol.SessionRunning, Live: true, Workspace: "/home/ada/shop", Model: "llama3.2",
		Upstream: "work", SandboxMode: "read-only", CreatedAt: at, LastSeq: 412, FirstSeq: 1, Title: "What is <b>?",
		ContextWindow: ptr(int64(131072)), Interrupted: true, Trouble: "recording the conversation: no space left on device"}
	least := protocol.Session{ID: id, State: protocol.SessionClosed, Workspace: "/home/ada/shop", CreatedAt: at, LastSeq: 1, FirstSeq: 1}
	folder := protocol.SpecFolder{Path: "specs/cart", Pending: []string{"checkout.md"}}
	issue := protocol.UndoIssue{Path: "cart.go", Reason: "it was changed since"}
	return map[string]any{
		"Session":       session,
		"Session.least": least,
		"CreateSessionRequest": protocol.CreateSessionRequest{Workspace: "/home/ada/shop", Model: "llama3.2", Upstream: "work",
			SandboxMode: "workspace-write", Resume: id},
		"CreateSessionRequest.least": protocol.CreateSessionRequest{Workspace: "/home/ada/shop"},
		"SessionList":                protocol.SessionList{Sessions: []protocol.Session{least}},
		"RenameRequest":              protocol.RenameRequest{Name: "The cart"},
		"RenameRequest.least":        protocol.RenameRequest{},
		"TurnRequest": protocol.TurnRequest{Text: "What is this?", SubmissionID: "s-1",
			Images: []protocol.Image{{MediaType: "image/png", Data: []byte("\x89PNG")}}},
		"TurnRequest.least":    protocol.TurnRequest{Text: "Hello"},
		"Image":                protocol.Image{MediaType: "image/png", Data: []byte("\x89PNG")},
		"TurnResponse":         protocol.TurnResponse{TurnID: "t2"},
		"SteerRequest":         protocol.SteerRequest{Text: "shorter"},
		"UndoResponse":         protocol.UndoResponse{Restored: []string{"a.go"}, Refused: []protocol.UndoIssue{issue}},
		"UndoIssue":            issue,
		"ApprovalRequest":      protocol.ApprovalRequest{Decision: protocol.DecisionAllowSession},
		"SpecFolder":           folder,
		"SpecList":             protocol.SpecList{Folders: []protocol.SpecFolder{folder}},
		"SpecList.least":       protocol.SpecList{Folders: []protocol.SpecFolder{}},
		"EventsPage.least":     protocol.EventsPage{Events: []protocol.Event{}, Next: 1},
		"SessionCreated":       protocol.SessionCreated{Workspace: "/home/ada/shop", Model: "llama3.2", Upstream: "work", SandboxMode: "read-only"},
		"SessionCreated.least": protocol.SessionCreated{Workspace: "/home/ada/shop", SandboxMode: "read-only"},
		"SessionResumed": protocol.SessionResumed{SourceID: id, Turns: 3, StartedAt: at, Workspace: "/home/ada/shop", Model: "llama3.2",
			Upstream: "work", SandboxMode: "read-only"},
		"SessionResumed.least": protocol.SessionResumed{SourceID: id, StartedAt: at, Workspace: "/home/ada/shop", SandboxMode: "read-only"},
		"SessionRenamed":       protocol.SessionRenamed{Name: "The cart"},
		"SessionCompacted":     protocol.SessionCompacted{Turns: 12, Summary: "They spoke of carts."},
		"SessionError":         protocol.SessionError{TurnID: "t2", Message: "the upstream refused the connection", Hint: "is Ollama up?"},
		"SessionError.least":   protocol.SessionError{Message: "it broke"},
	}
}

func eventSamples() map[string]any {
	usage := protocol.Usage{InputTokens: 900, OutputTokens: 40, CacheReadTokens: ptr(int64(800))}
	ref := protocol.ImageRef{MediaType: "image/png", SHA256: strings.Repeat("0f", 32), Bytes: 4096}
	step := protocol.PlanStep{Text: "read the cart", Status: protocol.StepActive}
	// Payload is compact as it is in the record; the golden file is indented, so its sample has no members to indent.
	event := protocol.Event{Seq: 7, SessionID: id, Type: protocol.EventProgress, At: at, Payload: json.RawMessage(`{}`)}
	return map[string]any{
		"Event":                  event,
		"EventsPage":             protocol.EventsPage{Events: []protocol.Event{event}, Next: 8},
		"TurnStarted":            protocol.TurnStarted{TurnID: "t2", Text: "What is this?", Images: []protocol.ImageRef{ref}, SubmissionID: "s-1"},
		"TurnStarted.least":      protocol.TurnStarted{TurnID: "t2", Text: "Hello"},
		"ImageRef":               ref,
		"TurnSteered":            protocol.TurnSteered{TurnID: "t2", Text: "shorter"},
		"TurnCompleted":          protocol.TurnCompleted{TurnID: "t2", Reason: protocol.TurnDone, Usage: &usage, Model: "llama3.2:latest"},
		"TurnCompleted.least":    protocol.TurnCompleted{TurnID: "t2", Reason: protocol.TurnInterrupted},
		"Usage":                  usage,
		"Usage.least":            protocol.Usage{InputTokens: 1},
		"MessageDelta":           protocol.MessageDelta{TurnID: "t2", Text: "A <cart> & more"},
		"ToolRequested":          protocol.ToolRequested{TurnID: "t2", CallID: "c1", Name: "read_file", Input: json.RawMessage(`{}`)},
		"ApprovalRequired":       protocol.ApprovalRequired{TurnID: "t2", CallID: "c1", ApprovalID: "a1", Summary: "write cart.go", ExpiresAt: at},
		"ApprovalResolved":       protocol.ApprovalResolved{ApprovalID: "a1", Decision: protocol.DecisionDeny, Expired: true},
		"ApprovalResolved.least": protocol.ApprovalResolved{ApprovalID: "a1", Decision: protocol.DecisionAllow},
		"ToolCompleted":          protocol.ToolCompleted{TurnID: "t2", CallID: "c1", Output: "no such file", IsError: true},
		"ToolCompleted.least":    protocol.ToolCompleted{TurnID: "t2", CallID: "c1"},
		"PlanUpdated":            protocol.PlanUpdated{TurnID: "t2", Steps: []protocol.PlanStep{step}},
		"PlanStep":               step,
		"Progress":               protocol.Progress{TurnID: "t2", Text: "asking the model"},
	}
}
