// Package tray is the tray menu as a value: Render makes a View of a State, and a Pacer says which difference between
// two views goes to the screen when. It knows no toolkit, no network and no clock of its own, so every menu there can
// be is tested without a screen; package desktop copies the differences to a real one.
//
// A new row costs one field of State, one line in Render and one golden file.
package tray

import (
	"strings"
	"time"
)

// Phase is where the companion is in its life. The words are those of protocol.Phase.
type Phase string

// The phases.
const (
	Starting Phase = "starting"
	Running  Phase = "running"
	Degraded Phase = "degraded"
	External Phase = "external"
	Blocked  Phase = "blocked"
	Stopped  Phase = "stopped"
	Failed   Phase = "failed"
)

// Reach says what is known of the way to the upstream. The words are those of protocol.Reach.
type Reach string

// What is known of an upstream.
const (
	ReachUnknown Reach = "unknown"
	ReachOK      Reach = "ok"
	ReachLoading Reach = "loading"
	ReachDown    Reach = "down"
)

// Action is what a click asks for.
type Action string

// The actions.
const (
	OpenStudio    Action = "OpenStudio"
	OpenConsole   Action = "OpenConsole"
	CopyAddress   Action = "CopyAddress"
	OpenLog       Action = "OpenLog"
	ServerStart   Action = "ServerStart"
	ServerStop    Action = "ServerStop"
	ServerRestart Action = "ServerRestart"
	UseDemo       Action = "UseDemo"
	UseConfigured Action = "UseConfigured"
	// StudioUpdate asks for the newest version, one that was rolled back from too: whoever clicks wants it.
	StudioUpdate   Action = "StudioUpdate"
	StudioCancel   Action = "StudioCancel"
	StudioRollback Action = "StudioRollback"
	StudioFolder   Action = "StudioFolder"
	UseUpstream    Action = "UseUpstream"  // with its key
	LookAgain      Action = "LookAgain"    // for model servers on this machine
	OpenSession    Action = "OpenSession"  // with its id
	StartAtLogin   Action = "StartAtLogin" // with "on" or "off", as the row on the screen promised
	OpenRelease    Action = "OpenRelease"  // the page of a newer release
	Quit           Action = "Quit"
	// MenuOpened asks for nothing: somebody looks. Not every panel tells.
	MenuOpened Action = "MenuOpened"
)

// With is the action for one of several things, by its key.
func (a Action) With(key string) Action { return a + " " + Action(key) }

// Cut takes the key off again; "" when there is none.
func (a Action) Cut() (verb Action, key string) {
	before, key, _ := strings.Cut(string(a), " ")
	return Action(before), key
}

// State is all that the menu depends on. The zero value is a companion that is starting and knows nothing yet. Its
// strings may come from anywhere: Render keeps them to one line of bounded length.
type State struct {
	Version string // of this program; empty: left out
	Phase   Phase  // empty: Starting
	// Detail is who holds the address ("python3 (pid 812)") in Blocked, and why in Failed.
	Detail string
	Addr   string // host:port that is served, or would be

	UpstreamName  string // empty: there is none
	UpstreamReach Reach  // empty: ReachUnknown
	Demo          bool   // the upstream is the built-in demo model
	// ConfiguredUpstream is the name of the upstream that a click left for the demo model; empty: it was not a click.
	ConfiguredUpstream string
	Upstreams          []Upstream // that a click can choose
	Why                string     // why the one in use is in use; empty: left out
	Models             []Model    // that it offers, as far as they are known, loaded ones first
	Recording          string     // where calls are recorded, with what they say; empty: they are not

	Sessions     []Session // live, newest first; SessionRows of them are shown
	LiveSessions int       // how many there are

	// Doing is the server action that is under way (ServerStart, ServerStop or ServerRestart); empty: none.
	Doing Action

	// Capture is where what is said in calls is being kept: "memory" or "disk"; empty: it is not.
	Capture string
	Login   *Login // nil: it cannot be told
	// NewRelease is the version of a newer release of this program; empty: none is known of.
	NewRelease string

	Studio  *Studio // nil: no offline copy is kept
	Metrics Metrics
	Today   *Today         // nil: not known
	Recent  []Call         // newest first
	Notices []Notice       // most important first
	Zone    *time.Location // nil: local time
}

// Login says whether the tray starts at login.
type Login struct {
	On      bool
	Trouble string // why it would start nothing all the same; empty: it would
}

// Upstream is one that calls can go to.
type Upstream struct {
	Key    string // for UseUpstream
	Name   string // on the command line
	Label  string
	Found  bool // on this machine, and nowhere else in the list
	Chosen bool
}

// ModelState says whether a model can answer at once. The words are those of protocol.ModelState.
type ModelState string

// The states of a model that a menu tells apart.
const (
	ModelLoaded  ModelState = "loaded"
	ModelLoading ModelState = "loading"
)

// Model is one that the upstream in use offers.
type Model struct {
	ID        string
	State     ModelState
	SizeBytes int64    // 0: unknown
	GPUShare  *float64 // how many per cent of it are in the memory of a GPU; nil: unknown
}

// Session is a live conversation with a model.
type Session struct {
	ID      string
	Title   string // empty: nothing was said yet
	Folder  string // name of its workspace
	Running bool   // a turn is under way
}

// Metrics is what the proxy counted. A nil pointer is a number that is not known.
type Metrics struct {
	Calls, Errors, InFlight    int64
	P50Ms, P95Ms, FirstTokenMs *int64
}

// Today is what happened since midnight, before this companion was started too.
type Today struct {
	Calls  int64
	Tokens int64 // of the answers
}

// Call is one call that ended.
type Call struct {
	Time            time.Time
	Model           string
	Status          int    // HTTP status; 0: the upstream was never reached
	Verdict         string // the words of protocol.Verdict; empty: complete
	LatencyMs       int64
	Tokens          int64 // of the answer
	TokensKnown     bool
	TokensPerSecond float64 // from the first token on; 0: unknown
}

// Notice is something that the person should know now.
type Notice struct {
	Text string
	Hint string // what to do about it; may be empty
}
