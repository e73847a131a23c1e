package protocol

// CallStatus narrows calls down to those that failed, or to the others.
type CallStatus string

// The states. What counts as failed is what the metrics count as an error.
const (
	CallsOK    CallStatus = "ok"
	CallsError CallStatus = "error"
)

// CallsQuery is what GET /console/calls asks for; the members are the names of the parameters, in all of which absent
// means no bound.
type CallsQuery struct {
	Before  string     // RecordedCalls.Next of the page before
	Limit   int        // 1 to MaxCallsPage; absent: 200
	Model   string     // that answered, or was asked for
	Status  CallStatus // ok or error
	Verdict Verdict
	Text    string // in the models, the error, the finish reason, the upstream or the id, in any case
}

// MaxCallsPage is the size of the largest page of calls.
const MaxCallsPage = 2000

// RecordedCalls is the answer of GET /console/calls.
type RecordedCalls struct {
	Calls []Call `json:"calls"` // newest first
	Next  string `json:"next"`  // "": there are no more
}

// OfferedModels is the answer of GET /console/models.
type OfferedModels struct {
	Upstream Upstream `json:"upstream"`
	Models   []Model  `json:"models"`
}

// NamedUpstream is an upstream that has a name, as the console shows it. It has no field for the key.
type NamedUpstream struct {
	Name    string `json:"name"`
	BaseURL string `json:"baseURL"`
	HasKey  bool   `json:"hasKey"`
	Model   string `json:"model"`
	Active  bool   `json:"active"`
}

// Upstreams is the answer of GET /console/upstreams.
type Upstreams struct {
	Found  []FoundServer   `json:"found"`  // on this machine
	Named  []NamedUpstream `json:"named"`  // the configured one and the demo model among them
	Active string          `json:"active"` // the name of the one that calls go to
	Why    string          `json:"why"`    // "used last": why it is that one
}

// Checks is the answer of GET /console/doctor.
type Checks struct {
	Checks []Check `json:"checks"`
}

// SettingValue is a setting in force, with where its value comes from. Secrets are left out of it.
type SettingValue struct {
	Key    string `json:"key"`  // in tray.toml, or its name
	Flag   string `json:"flag"` // with its dashes; "" it has none
	Env    string `json:"env"`  // "" it has none
	Value  string `json:"value"`
	Source string `json:"source"` // "flag", "environment", "tray.toml", "default"; "console": changed while it runs
	Help   string `json:"help"`
}

// SettingValues is the answer of GET /console/settings.
type SettingValues struct {
	Settings []SettingValue `json:"settings"`
}

// ConsoleAction is the last element of POST /console/actions/{action}.
type ConsoleAction string

// The actions.
const (
	ActionStudioUpdate   ConsoleAction = "studio-update"
	ActionStudioCancel   ConsoleAction = "studio-cancel"
	ActionStudioRollback ConsoleAction = "studio-rollback"
	ActionUseUpstream    ConsoleAction = "use-upstream" // with Upstream
	ActionLookAgain      ConsoleAction = "look-again"   // for model servers
	ActionCapture        ConsoleAction = "capture"      // with Mode
)

// ConsoleActionRequest is the body of POST /console/actions/{action}.
type ConsoleActionRequest struct {
	Upstream string      `json:"upstream,omitempty"` // a name, a base URL that was found, or "demo"
	Mode     CaptureMode `json:"mode,omitempty"`
	// Forget removes what was captured so far.
	Forget bool `json:"forget,omitempty"`
}

// Refusal is what /console/actions answers when it did not do what was asked.
type Refusal struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"` // what to do about it
}

// CaptureMode says where what is said in calls is kept.
type CaptureMode string

// The modes.
const (
	CaptureOff    CaptureMode = "off"
	CaptureMemory CaptureMode = "memory"
	CaptureDisk   CaptureMode = "disk"
)

// CaptureState is the answer of GET /console/capture.
type CaptureState struct {
	Mode       CaptureMode `json:"mode"`
	Kept       int         `json:"kept"`  // calls, also of modes before this one
	Bytes      int64       `json:"bytes"` // what they take
	LimitBytes int64       `json:"limitBytes"`
}

// CapturedCall is the answer of GET /console/capture/{id}: what was said in one call, without its secrets.
type CapturedCall struct {
	Request string `json:"request"` // the body, as text
	Answer  string `json:"answer"`
	// RequestTruncated says that the request was too large to be kept, AnswerTruncated that the answer broke off or was
	// too large to be kept whole.
	RequestTruncated bool `json:"requestTruncated"`
	AnswerTruncated  bool `json:"answerTruncated"`
}
