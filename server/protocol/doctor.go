package protocol

// CheckState is how a check of the doctor came out.
type CheckState string

// The states of a check.
const (
	CheckOK      CheckState = "ok"
	CheckWarning CheckState = "warning" // it works, but perhaps not as somebody expects
	CheckFailed  CheckState = "failed"
	CheckSkipped CheckState = "skipped" // it does not apply here
	CheckUnknown CheckState = "unknown" // it could not be found out
)

// Check is one thing that the doctor looked at.
type Check struct {
	ID     string     `json:"id"`   // stable: "port", "upstream" …
	Name   string     `json:"name"` // as a person reads it
	State  CheckState `json:"state"`
	Detail string     `json:"detail"`
	Fix    string     `json:"fix,omitempty"` // what to do about it, in one line
}
