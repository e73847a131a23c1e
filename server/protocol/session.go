package protocol

import "time"

// SessionState says what a session is doing.
type SessionState string

// The states. A session that is only on disk is closed.
const (
	SessionIdle    SessionState = "idle"
	SessionRunning SessionState = "running"
	SessionBlocked SessionState = "blocked" // a turn waits for the answer to an approval
	SessionClosed  SessionState = "closed"
)

// Session is a conversation with a model, live or recorded.
type Session struct {
	ID          string       `json:"id"` // sorts by time of creation
	State       SessionState `json:"state"`
	Live        bool         `json:"live"` // false: only on disk; it can be read and resumed
	Workspace   string       `json:"workspace"`
	Model       string       `json:"model"`    // "": the upstream's own choice
	Upstream    string       `json:"upstream"` // name of the profile; "": the one in use
	SandboxMode string       `json:"sandbox_mode"`
	CreatedAt   time.Time    `json:"created_at"`
	LastSeq     uint64       `json:"last_seq"`
	FirstSeq    uint64       `json:"first_seq"` // the oldest event that can still be read
	Title       string       `json:"title"`     // the name it was given, or its first words
	// ContextWindow is how many tokens the model takes; absent: unknown.
	ContextWindow *int64 `json:"context_window,omitempty"`
	// Interrupted: the last turn was cut short, by somebody or by the end of the daemon.
	Interrupted bool `json:"interrupted,omitempty"`
	// Trouble is why nothing can be recorded at present, so that turns end with an error; "": there is none.
	Trouble string `json:"trouble,omitempty"`
}

// CreateSessionRequest is the body of POST /v1/sessions.
type CreateSessionRequest struct {
	Workspace   string `json:"workspace,omitempty"` // absolute, an existing folder; a resumed session may leave it out
	Model       string `json:"model,omitempty"`     // "": the upstream's own choice, or the one of the resumed session
	Upstream    string `json:"upstream,omitempty"`  // name of a profile; "": the one in use, or that of the resumed session
	SandboxMode string `json:"sandbox_mode,omitempty"`
	Resume      string `json:"resume,omitempty"` // id of a session whose conversation the new one carries on
}

// SessionList is the answer of GET /v1/sessions: the live ones in the order of their creation, then, when they were
// asked for, those that are only on disk, newest first.
type SessionList struct {
	Sessions []Session `json:"sessions"`
}

// RenameRequest is the body of POST /v1/sessions/{id}/name.
type RenameRequest struct {
	Name string `json:"name"` // "": the title is derived again
}

// TurnRequest is the body of POST /v1/sessions/{id}/turns.
type TurnRequest struct {
	Text   string  `json:"text"`
	Images []Image `json:"images,omitempty"`
	// SubmissionID makes it safe to ask again after a lost answer: the same one is answered with the same turn.
	SubmissionID string `json:"submission_id,omitempty"`
}

// Image is a picture that goes to the model with a text.
type Image struct {
	MediaType string `json:"media_type"` // image/png, image/jpeg, image/gif or image/webp
	Data      []byte `json:"data"`       // base64 on the wire
}

// TurnResponse is the answer of POST /v1/sessions/{id}/turns.
type TurnResponse struct {
	TurnID string `json:"turn_id"`
}

// SteerRequest is the body of POST /v1/sessions/{id}/steer. What the model was saying is cut off and kept; the text is
// the next thing it hears, in the same turn.
type SteerRequest struct {
	Text string `json:"text"`
}

// UndoResponse is the answer of POST /v1/sessions/{id}/undo.
type UndoResponse struct {
	Restored []string    `json:"restored"`
	Refused  []UndoIssue `json:"refused"`
}

// UndoIssue is a file that was not put back.
type UndoIssue struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Decision is the answer to an approval.
type Decision string

// The decisions.
const (
	DecisionAllow        Decision = "allow"
	DecisionAllowSession Decision = "allow_session"
	DecisionAllowProject Decision = "allow_project"
	DecisionAllowAlways  Decision = "allow_always"
	DecisionDeny         Decision = "deny"
)

// ApprovalRequest is the body of POST /v1/sessions/{id}/approvals/{approval_id}.
type ApprovalRequest struct {
	Decision Decision `json:"decision"`
}

// SpecFolder is a folder of a workspace that holds specifications.
type SpecFolder struct {
	Path    string   `json:"path"`    // relative to the workspace
	Pending []string `json:"pending"` // the specifications in it that are not met yet
}

// SpecList is the answer of GET /v1/specs.
type SpecList struct {
	Folders []SpecFolder `json:"folders"`
}
