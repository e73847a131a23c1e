package protocol

import "time"

// Phase is where the companion is in its life.
type Phase string

// The phases.
const (
	PhaseStarting Phase = "starting" // until the listener answers
	PhaseRunning  Phase = "running"
	PhaseDegraded Phase = "degraded" // serving, but the upstream refuses or fails
	PhaseExternal Phase = "external" // another chatwright-server holds the address; its metrics are shown
	PhaseBlocked  Phase = "blocked"  // something else holds the address
	PhaseStopped  Phase = "stopped"  // by the user
	PhaseFailed   Phase = "failed"   // ended with an error, and restarts did not help
)

// Reach says what is known of the way to an upstream.
type Reach string

// What is known of an upstream.
const (
	ReachUnknown Reach = "unknown" // not asked yet
	ReachOK      Reach = "ok"
	ReachLoading Reach = "loading"
	ReachDown    Reach = "down"
)

// Upstream is the model server that calls go to.
type Upstream struct {
	Name    string `json:"name"`    // as a person reads it: "localhost:11434", "Demo model"
	BaseURL string `json:"baseURL"` // without credentials; "demo" for the built-in model
	Demo    bool   `json:"demo,omitempty"`
	Reach   Reach  `json:"reach"`
	Detail  string `json:"detail,omitempty"` // why it is not ok
}

// UI says what is served at "/".
type UI struct {
	Source  string `json:"source"` // UIConsole, UIFolder or UICopy
	Version string `json:"version,omitempty"`
}

// The sources of the page at "/".
const (
	UIConsole = "console"
	UIFolder  = "folder"
	UICopy    = "offline-copy"
)

// Notice is something that a person should know now. At most one per Cause is shown at a time.
type Notice struct {
	Cause string    `json:"cause"` // stable key, such as "upstream" or "port"
	Text  string    `json:"text"`
	Hint  string    `json:"hint,omitempty"`
	Since time.Time `json:"since"`
}

// Status is the answer of GET /v1/status and the data of each event of GET /v1/status/events and GET /console/events.
type Status struct {
	InstanceID string    `json:"instanceId,omitempty"`
	Version    string    `json:"version"`
	PID        int       `json:"pid,omitempty"`
	StartedAt  time.Time `json:"startedAt"`
	Phase      Phase     `json:"phase"`
	Detail     string    `json:"detail,omitempty"` // why, for blocked and failed
	Addr       string    `json:"addr"`             // host:port that is served, or that would be
	Upstream   Upstream  `json:"upstream"`
	UI         UI        `json:"ui"`
	Metrics    Metrics   `json:"metrics"`
	History    *History  `json:"history,omitempty"` // absent: none is kept, or it is not read yet
	// Studio is the offline copy. Absent: none is kept.
	Studio *StudioStatus `json:"studio,omitempty"`
	// Sessions says how many there are, and nothing of what they are about: a page may read a Status. Absent: this
	// companion holds none.
	Sessions *SessionCounts `json:"sessions,omitempty"`
	// Recording is the name of the folder that calls are recorded in, with what they say. Absent: they are not.
	Recording string `json:"recording,omitempty"`
	// Capture says that what is said in calls is being kept, and where. Absent: it is not.
	Capture CaptureMode `json:"capture,omitempty"`
	// Autostart says whether the tray starts at login. Absent: it cannot be told, or this companion has none.
	Autostart *Autostart `json:"autostart,omitempty"`
	// Release is a newer release of the companion that can be had. Absent: none is known of.
	Release *Release `json:"release,omitempty"`
	Notices []Notice `json:"notices,omitempty"`
}

// Autostart says what the system would do at the next login.
type Autostart struct {
	On      bool   `json:"on"`
	Trouble string `json:"trouble,omitempty"` // why it would start nothing all the same
}

// Release is a release of the companion.
type Release struct {
	Version string `json:"version"`
	URL     string `json:"url"` // of the page that has it
}

// SessionCounts counts the conversations with models that a companion holds.
type SessionCounts struct {
	Live    int `json:"live"`
	Running int `json:"running"` // of them, those with a turn under way
}
