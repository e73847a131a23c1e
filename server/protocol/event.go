package protocol

import (
	"encoding/json"
	"time"
)

// Event is one entry of a session's log. Seq counts from 1 without a gap and is never used twice. What Payload holds,
// Type says.
type Event struct {
	Seq       uint64          `json:"seq"`
	SessionID string          `json:"session_id"`
	Type      EventType       `json:"type"`
	At        time.Time       `json:"at"`
	Payload   json.RawMessage `json:"payload"`
}

// EventsPage is the answer of GET /v1/sessions/{id}/events to those who accept JSON and not a stream. Next is where to
// read on: ?from=Next.
type EventsPage struct {
	Events []Event `json:"events"`
	Next   uint64  `json:"next"`
}

// EventType says what an event's payload is.
type EventType string

// The types, each with its payload.
const (
	EventSessionCreated   EventType = "session.created"        // SessionCreated
	EventSessionResumed   EventType = "session.resumed"        // SessionResumed
	EventSessionRenamed   EventType = "session.renamed"        // SessionRenamed
	EventSessionCompacted EventType = "session.compacted"      // SessionCompacted
	EventSessionError     EventType = "session.error"          // SessionError
	EventTurnStarted      EventType = "turn.started"           // TurnStarted
	EventTurnSteered      EventType = "turn.steered"           // TurnSteered
	EventTurnCompleted    EventType = "turn.completed"         // TurnCompleted
	EventMessageDelta     EventType = "message.delta"          // MessageDelta
	EventMessageReasoning EventType = "message.reasoning"      // MessageDelta
	EventToolRequested    EventType = "tool.requested"         // ToolRequested
	EventApprovalRequired EventType = "tool.approval_required" // ApprovalRequired
	EventApprovalResolved EventType = "tool.approval_resolved" // ApprovalResolved
	EventToolCompleted    EventType = "tool.completed"         // ToolCompleted
	EventPlanUpdated      EventType = "plan.updated"           // PlanUpdated
	EventProgress         EventType = "progress"               // Progress
)

// The names of the frames on an event stream that are no events of the log, and so carry no id.
const (
	FrameClosed  = "closed"  // the session has ended: nothing will follow; no data
	FrameTrouble = "trouble" // Error: nothing can be recorded, so what happens cannot be shown
)

// SessionCreated opens the log of a session.
type SessionCreated struct {
	Workspace   string `json:"workspace"`
	Model       string `json:"model,omitempty"`
	Upstream    string `json:"upstream,omitempty"`
	SandboxMode string `json:"sandbox_mode"`
}

// SessionResumed opens the log of a session that carries on an older one. The conversation so far follows it, as the
// events that it was made of.
type SessionResumed struct {
	SourceID    string    `json:"source_id"`
	Turns       int       `json:"turns"`
	StartedAt   time.Time `json:"started_at"` // when the older one began
	Workspace   string    `json:"workspace"`
	Model       string    `json:"model,omitempty"`
	Upstream    string    `json:"upstream,omitempty"`
	SandboxMode string    `json:"sandbox_mode"`
}

// SessionRenamed gives a session a name; "" takes it away.
type SessionRenamed struct {
	Name string `json:"name"`
}

// SessionCompacted says that older turns were replaced by a summary in what the model hears.
type SessionCompacted struct {
	Turns   int    `json:"turns"`
	Summary string `json:"summary"`
}

// SessionError says what went wrong, for a person.
type SessionError struct {
	TurnID  string `json:"turn_id,omitempty"` // the turn that it ended
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// TurnStarted is what the user said.
type TurnStarted struct {
	TurnID       string     `json:"turn_id"`
	Text         string     `json:"text"`
	Images       []ImageRef `json:"images,omitempty"`
	SubmissionID string     `json:"submission_id,omitempty"`
}

// ImageRef names an image that is kept beside the record.
type ImageRef struct {
	MediaType string `json:"media_type"`
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
}

// TurnSteered is what the user said during the turn. The answer before it was cut off there.
type TurnSteered struct {
	TurnID string `json:"turn_id"`
	Text   string `json:"text"`
}

// TurnReason says how a turn ended.
type TurnReason string

// The reasons.
const (
	TurnDone          TurnReason = "done"
	TurnInterrupted   TurnReason = "interrupted"
	TurnMaxIterations TurnReason = "max_iterations"
	TurnRepeatLoop    TurnReason = "repeat_loop"
	TurnMaxTokens     TurnReason = "max_tokens"
	TurnError         TurnReason = "error" // a session.error before it says why
	TurnUnverified    TurnReason = "unverified"
	TurnIncomplete    TurnReason = "incomplete" // the model stopped without saying that it was done
)

// TurnCompleted ends a turn.
type TurnCompleted struct {
	TurnID string     `json:"turn_id"`
	Reason TurnReason `json:"reason"`
	Usage  *Usage     `json:"usage,omitempty"` // absent: unknown
	Model  string     `json:"model,omitempty"` // the one that answered, when it said so
}

// Usage counts the tokens of a turn.
type Usage struct {
	InputTokens     int64  `json:"input_tokens"`
	OutputTokens    int64  `json:"output_tokens"`
	CacheReadTokens *int64 `json:"cache_read_tokens,omitempty"`
}

// MessageDelta is a piece of what the model says, or of what it thinks.
type MessageDelta struct {
	TurnID string `json:"turn_id"`
	Text   string `json:"text"`
}

// ToolRequested says that the model asks for a tool.
type ToolRequested struct {
	TurnID string          `json:"turn_id"`
	CallID string          `json:"call_id"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
}

// ApprovalRequired asks the user whether a tool may run.
type ApprovalRequired struct {
	TurnID     string    `json:"turn_id"`
	CallID     string    `json:"call_id"`
	ApprovalID string    `json:"approval_id"`
	Summary    string    `json:"summary"`
	ExpiresAt  time.Time `json:"expires_at"` // unanswered until then, it is denied
}

// ApprovalResolved is the answer, whoever gave it.
type ApprovalResolved struct {
	ApprovalID string   `json:"approval_id"`
	Decision   Decision `json:"decision"`
	Expired    bool     `json:"expired,omitempty"` // nobody answered in time
}

// ToolCompleted is what a tool brought about.
type ToolCompleted struct {
	TurnID  string `json:"turn_id"`
	CallID  string `json:"call_id"`
	Output  string `json:"output"`
	IsError bool   `json:"is_error,omitempty"`
}

// PlanUpdated is the plan of a turn as it now stands.
type PlanUpdated struct {
	TurnID string     `json:"turn_id"`
	Steps  []PlanStep `json:"steps"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	Text   string         `json:"text"`
	Status PlanStepStatus `json:"status"`
}

// PlanStepStatus says how far a step is.
type PlanStepStatus string

// The states of a step.
const (
	StepPending PlanStepStatus = "pending"
	StepActive  PlanStepStatus = "active"
	StepDone    PlanStepStatus = "done"
)

// Progress says what a turn is doing, for a person.
type Progress struct {
	TurnID string `json:"turn_id"`
	Text   string `json:"text"`
}
