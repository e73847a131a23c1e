package protocol

import "time"

// Health is the answer of GET /health on the control socket.
type Health struct {
	Status string `json:"status"` // "ok"
}

// VersionInfo is the answer of GET /version on the control socket.
type VersionInfo struct {
	Version    string `json:"version"`
	Protocol   string `json:"protocol"`
	InstanceID string `json:"instance_id"`
}

// Discovery is the content of daemon.json: how programs of the same user find the running daemon.
type Discovery struct {
	InstanceID string    `json:"instance_id"`
	PID        int       `json:"pid"`
	StartedAt  time.Time `json:"started_at"`
	Version    string    `json:"version"`
	Protocol   string    `json:"protocol"`
	Addr       string    `json:"addr"`
	Socket     string    `json:"socket"`

	// Args and Dir are how the daemon was started, without its program's name. Passwords are left out of a file that is
	// kept: who starts another like it asks for the Launch.
	Args []string `json:"args,omitempty"`
	Dir  string   `json:"dir,omitempty"`
}

// Launch is the answer of GET /v1/launch: how the daemon was started, whole, so that a restart can do the same.
type Launch struct {
	Args []string `json:"args"`
	Dir  string   `json:"dir"`
}

// ShutdownRequest is the body of POST /v1/shutdown. InstanceID must be that of the daemon that is asked.
type ShutdownRequest struct {
	InstanceID string `json:"instance_id"`
	GraceMs    *int64 `json:"grace_ms,omitempty"` // absent: the daemon's own grace
}

// OpenTarget names a page that the daemon opens in the user's browser.
type OpenTarget string

// The pages.
const (
	OpenStudio  OpenTarget = "studio"
	OpenConsole OpenTarget = "console"
)

// OpenRequest is the body of POST /v1/open.
type OpenRequest struct {
	Target OpenTarget `json:"target"`
	// URLOnly asks for the page's URL and opens nothing.
	URLOnly bool `json:"url_only,omitempty"`
}

// OpenResponse says which URL was opened.
type OpenResponse struct {
	URL string `json:"url"`
}

// ServerAction is the last element of POST /v1/server/{action}.
type ServerAction string

// The actions on the HTTP server that the daemon owns.
const (
	ServerStart   ServerAction = "start"
	ServerStop    ServerAction = "stop"
	ServerRestart ServerAction = "restart"
)

// Error is the body of every error answer on the control socket.
type Error struct {
	Code    ErrorCode `json:"code"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"` // what to do about it, for a person
}

// ErrorCode is a stable word that programs decide on.
type ErrorCode string

// The error codes, with the HTTP status each comes with.
const (
	CodeInvalidInput     ErrorCode = "invalid_input"             // 400
	CodeWorkspace        ErrorCode = "workspace_invalid"         // 400
	CodeForbidden        ErrorCode = "forbidden"                 // 403
	CodeNotFound         ErrorCode = "not_found"                 // 404
	CodeSessionNotFound  ErrorCode = "session_not_found"         // 404
	CodeMethod           ErrorCode = "method_not_allowed"        // 405
	CodeWrongInstance    ErrorCode = "wrong_instance"            // 409
	CodeConflict         ErrorCode = "conflict"                  // 409
	CodeTurnActive       ErrorCode = "turn_already_active"       // 409
	CodeNoActiveTurn     ErrorCode = "no_active_turn"            // 409
	CodeApprovalResolved ErrorCode = "approval_already_resolved" // 409
	CodeApprovalExpired  ErrorCode = "approval_expired"          // 410
	CodeEventsExpired    ErrorCode = "events_expired"            // 410
	CodeTooLarge         ErrorCode = "too_large"                 // 413
	CodeInternal         ErrorCode = "internal"                  // 500
	CodeMaxSessions      ErrorCode = "max_sessions_reached"      // 503
	CodeUpdateFailed     ErrorCode = "update_failed"             // 502: the release cannot be had, or is refused
	CodeCancelled        ErrorCode = "cancelled"                 // 409: by another request
)
