package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"chatwright.dev/tray/app/release"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
	"chatwright.dev/tray/server/telemetry"
	"chatwright.dev/tray/server/upstream"
)

// Setting is one line of the table.
type Setting struct {
	Name       string // of the setting, and of its flag (without dashes)
	Env        string // variable
	Key        string // in tray.toml; "" the file cannot set it
	Default    string // as text; "" none
	Arg        string // what stands for the value in help: "host:port"
	Usage      string // what it does, a phrase
	Bool       bool   // the flag may be given without a value
	Repeatable bool   // more than one value: repeated flags, commas in the environment, an array in the file
	NoFlag     bool   // has no flag
}

// kind says which TOML values a setting takes, and whether it is a path.
type kind string

const (
	kindText     kind = "text"
	kindPath     kind = "path"
	kindSwitch   kind = "switch"
	kindNumber   kind = "number"
	kindDuration kind = "duration"
	kindSize     kind = "size"
	kindHolder   kind = "holder"
)

// entry is a Setting with how its text becomes a value. set is called once for each value of a repeatable one.
type entry struct {
	Setting
	kind kind
	set  func(s *Settings, text string) error
}

// Table returns all settings in the order in which help and README show them.
func Table() []Setting {
	var all []Setting
	for _, e := range entries() {
		all = append(all, e.Setting)
	}
	return all
}

func entries() []entry {
	all := append(serverEntries(), limitEntries()...)
	all = append(all, keepingEntries()...)
	all = append(all, appEntries()...)
	for i := range all {
		all[i].Bool = all[i].kind == kindSwitch
	}
	return all
}

// serverEntries are those of the companion that everybody knows, under the names that it gave them.
func serverEntries() []entry {
	return []entry{
		{Setting{Name: "addr", Env: "CHATWRIGHT_SERVER_ADDR", Key: "addr", Default: server.DefaultAddr, Arg: "host:port",
			Usage: "where the daemon listens"},
			kindText, func(s *Settings, text string) error { s.Addr = text; return nil }}, // checked with allow-remote
		{Setting{Name: "upstream", Env: "CHATWRIGHT_SERVER_UPSTREAM", Key: "upstream", Default: server.DefaultUpstreamBaseURL, Arg: "url",
			Usage: `base URL of the model server, or "demo" for the built-in model`},
			kindText, setUpstream},
		{Setting{Name: "datastate", Env: "CHATWRIGHT_SERVER_DATASTATE", Key: HolderKey, Arg: "name=dsn", Repeatable: true,
			Usage: "a database that data-state queries may name: sqlite:PATH, postgres://… or mysql://…"},
			kindHolder, nil}, // its sources add up: see addHolders
		{Setting{Name: "datastate-fixtures", Env: "CHATWRIGHT_SERVER_DATASTATE_FIXTURES", Key: "datastate-fixtures", Arg: "file",
			Usage: "recorded answers to data-state queries"},
			kindPath, func(s *Settings, text string) error { s.DatastateFixtures = text; return nil }},
		{Setting{Name: "allow-origin", Env: "CHATWRIGHT_SERVER_ALLOW_ORIGIN", Key: "allow-origin", Arg: "origin", Repeatable: true,
			Usage: "a further web origin that may call the daemon, such as https://studio.example.com"},
			kindText, addOrigin},
		{Setting{Name: "allow-host", Env: "CHATWRIGHT_SERVER_ALLOW_HOST", Key: "allow-host", Arg: "name", Repeatable: true,
			Usage: "a further host name that the daemon answers to, with or without a port"},
			kindText, addHost},
		{Setting{Name: "ui", Env: "CHATWRIGHT_SERVER_UI", Key: "ui", Default: "false",
			Usage: "keep an offline copy of Studio and serve it"},
			kindSwitch, func(s *Settings, text string) (err error) { s.UI, err = parseSwitch(text); return err }},
		{Setting{Name: "ui-dir", Env: "CHATWRIGHT_SERVER_UI_DIR", Key: "ui-dir", Arg: "folder",
			Usage: "serve this build of Studio; wins over --ui"},
			kindPath, func(s *Settings, text string) error { s.UIDir = text; return nil }},
		{Setting{Name: "ui-url", Env: "CHATWRIGHT_SERVER_UI_URL", Key: "ui-url", Default: server.DefaultUIBaseURL, Arg: "url",
			Usage: "where the offline copy of Studio is downloaded from"},
			kindText, setUIURL},
		{Setting{Name: "ui-key", Env: "CHATWRIGHT_SERVER_UI_KEY", Key: "ui-key", Arg: "key",
			Usage: "minisign public key that a release of Studio must be signed with; none: the hash in its manifest decides"},
			kindText, setUIKey},
		{Setting{Name: "ui-check", Env: "CHATWRIGHT_SERVER_UI_CHECK", Key: "ui-check", Default: "24h", Arg: "duration",
			Usage: "how often a newer Studio is looked for, besides at start and after sleep; 0s for only when somebody asks"},
			kindDuration, setUICheck},
		{Setting{Name: "allow-remote", Env: "CHATWRIGHT_SERVER_ALLOW_REMOTE", Key: "allow-remote", Default: "false",
			Usage: "let --addr be outside loopback; wants --remote-token-file"},
			kindSwitch, func(s *Settings, text string) (err error) { s.AllowRemote, err = parseSwitch(text); return err }},
		{Setting{Name: "remote-token-file", Env: "CHATWRIGHT_SERVER_REMOTE_TOKEN_FILE", Key: "remote-token-file", Arg: "file",
			Usage: "the token that remote callers must send: mode 0600, at least 32 bytes"},
			kindPath, func(s *Settings, text string) error { s.RemoteTokenFile = text; return nil }},
	}
}

func limitEntries() []entry {
	return []entry{
		{Setting{Name: "upstream-timeout", Env: "CHATWRIGHT_SERVER_UPSTREAM_TIMEOUT", Key: "upstream-timeout", Default: "0s", Arg: "duration",
			Usage: "the most that a call may take that does not stream; 0s for no limit"},
			kindDuration, setUpstreamTimeout},
		{Setting{Name: "max-body", Env: "CHATWRIGHT_SERVER_MAX_BODY", Key: "max-body", Default: "64MiB", Arg: "size",
			Usage: "the largest chat completion request that is passed on"},
			kindSize, func(s *Settings, text string) (err error) { s.MaxBody, err = parseSize(text); return err }},
		{Setting{Name: "meter-usage", Env: "CHATWRIGHT_SERVER_METER_USAGE", Key: "meter-usage", Default: "false",
			Usage: "ask the model server for the tokens of streams whose callers did not; they see no difference"},
			kindSwitch, func(s *Settings, text string) (err error) { s.MeterUsage, err = parseSwitch(text); return err }},
		{Setting{Name: "metrics-capacity", Env: "CHATWRIGHT_SERVER_METRICS_CAPACITY", Key: "metrics-capacity", Default: "200", Arg: "number",
			Usage: "how many calls are kept for /metrics and the menu"},
			kindNumber, func(s *Settings, text string) (err error) {
				s.MetricsCapacity, err = parseNumber(text, 100_000)
				return err
			}},
		{Setting{Name: "grace", Env: "CHATWRIGHT_SERVER_GRACE", Key: "grace", Default: server.DefaultGrace.String(), Arg: "duration",
			Usage: "how long calls in flight may go on when the daemon ends"},
			kindDuration, setGrace},
	}
}

// keepingEntries say what is opened and what is kept.
func keepingEntries() []entry {
	return []entry{
		{Setting{Name: "studio-open", Env: "CHATWRIGHT_STUDIO_OPEN", Key: "studio.open", Default: string(StudioAuto), Arg: "auto|local|hosted",
			Usage: `which Studio "Open Studio" opens`},
			kindText, setStudioOpen},
		{Setting{Name: "history", Env: "CHATWRIGHT_HISTORY", Key: "history", Default: "true",
			Usage: "record what each call took, never what it said, in history.db"},
			kindSwitch, func(s *Settings, text string) (err error) { s.History, err = parseSwitch(text); return err }},
		{Setting{Name: "history-days", Env: "CHATWRIGHT_HISTORY_DAYS", Key: "history-days", Default: "90", Arg: "number",
			Usage: "how many days a call is kept in the history"},
			kindNumber, func(s *Settings, text string) (err error) {
				s.HistoryDays, err = parseNumber(text, 3650)
				return err
			}},
		{Setting{Name: "record", Env: "CHATWRIGHT_RECORD", Arg: "folder",
			Usage: "record each call and its answer as a file in this folder, keys left out; see Recordings"},
			kindPath, func(s *Settings, text string) error { s.Record = text; return nil }}, // no key: what is said is not kept for good by a line in a file
		{Setting{Name: "replay", Env: "CHATWRIGHT_REPLAY", Arg: "folder",
			Usage: "answer calls from the recordings in this folder, with no model server and no network"},
			kindPath, func(s *Settings, text string) error { s.Replay = text; return nil }},
		{Setting{Name: "replay-speed", Env: "CHATWRIGHT_REPLAY_SPEED", Default: "1", Arg: "number",
			Usage: "how fast recordings answer: 1 as they were, 2 in half the time, 0 at once"},
			kindNumber, setReplaySpeed},
		{Setting{Name: "max-sessions", Env: "CHATWRIGHT_MAX_SESSIONS", Key: "sessions.max", Default: "1000", Arg: "number",
			Usage: "how many sessions with models may be live at once"},
			kindNumber, func(s *Settings, text string) (err error) {
				s.MaxSessions, err = parseNumber(text, 100_000)
				return err
			}},
		{Setting{Name: "console-sessions", Env: "CHATWRIGHT_CONSOLE_SESSIONS", Key: "console.sessions", Default: "false",
			Usage: "show live sessions in the console, read-only: whoever can reach the daemon on this machine can then read them"},
			kindSwitch, func(s *Settings, text string) (err error) { s.ConsoleSessions, err = parseSwitch(text); return err }},
		{Setting{Name: "capture", Env: "CHATWRIGHT_CAPTURE", Key: CaptureKey, Default: "off", Arg: "off|memory|disk",
			Usage: "keep what is said in calls, for the console: whoever can reach the daemon on this machine can then read it"},
			kindText, setCapture},
	}
}

// appEntries are those of the program around the server.
func appEntries() []entry {
	return []entry{
		{Setting{Name: "notifications", Env: "CHATWRIGHT_NOTIFICATIONS", Key: "notifications", Default: "true",
			Usage: "with a tray: show on the desktop what needs you, once for each cause"},
			kindSwitch, func(s *Settings, text string) (err error) { s.Notifications, err = parseSwitch(text); return err }},
		{Setting{Name: "release-check", Env: "CHATWRIGHT_RELEASE_CHECK", Key: "release-check", Default: "true",
			Usage: "ask once a day for a newer release of this program, and tell of it; nothing is sent but the request, nothing is installed"},
			kindSwitch, func(s *Settings, text string) (err error) { s.ReleaseCheck, err = parseSwitch(text); return err }},
		{Setting{Name: "release-url", Env: "CHATWRIGHT_RELEASE_URL", Key: "release-url", Default: release.DefaultURL, Arg: "url",
			Usage: "who is asked for the newest release"},
			kindText, setReleaseURL},
		{Setting{Name: "log-level", Env: "CHATWRIGHT_LOG_LEVEL", Key: "log-level", Default: "info", Arg: "debug|info|warn|error",
			Usage: "the least that is logged"},
			kindText, setLogLevel},
		{Setting{Name: "otlp-endpoint", Env: "OTEL_EXPORTER_OTLP_ENDPOINT", Key: "otlp-endpoint", Arg: "url",
			Usage: "OpenTelemetry collector that is told how each call went, never what was in it; the other OTEL_ variables count too"},
			kindText, setOTLPEndpoint},
		{Setting{Name: "state-dir", Env: "CHATWRIGHT_HOME", Arg: "folder",
			Usage: "keep all files in this one folder"},
			kindPath, func(s *Settings, text string) error { s.StateDir = text; return nil }},
		{Setting{Name: "control-socket", Env: "CHATWRIGHT_CONTROL_SOCKET", Arg: "path",
			Usage: "where the command line reaches the daemon; its folder must be yours alone"},
			kindText, setControlSocket}, // no kindPath: a pipe's name is not one
		{Setting{Name: "no-browser", Env: "CHATWRIGHT_NO_BROWSER", Default: "false",
			Usage: "open no browser, print the URL"},
			kindSwitch, func(s *Settings, text string) (err error) { s.NoBrowser, err = parseSwitch(text); return err }},
		{Setting{Name: "parent-pid", Env: "CHATWRIGHT_PARENT_PID", Arg: "pid", NoFlag: true,
			Usage: "end when this process does"},
			kindNumber, func(s *Settings, text string) (err error) {
				s.ParentPID, err = parseNumber(text, 1<<31-1)
				return err
			}},
	}
}

func setUpstream(s *Settings, text string) error {
	s.Upstream = strings.TrimSpace(text)
	_, err := upstream.Parse(s.Upstream)
	return err
}

func setStudioOpen(s *Settings, text string) error {
	switch choice := StudioOpen(text); choice {
	case StudioAuto, StudioLocal, StudioHosted:
		s.StudioOpen = choice
		return nil
	}
	return hint.With(fmt.Errorf("%q is not a way to open Studio", text), "write auto, local or hosted")
}

// CaptureKey is the key of the setting that has what is said in calls kept; it can be changed while it runs.
const CaptureKey = "capture"

func setCapture(s *Settings, text string) error {
	switch mode := protocol.CaptureMode(text); mode {
	case protocol.CaptureOff, protocol.CaptureMemory, protocol.CaptureDisk:
		s.Capture = mode
		return nil
	}
	return hint.With(fmt.Errorf("%q is not a way to capture calls", clip(text)), "write off, memory or disk")
}

func setLogLevel(s *Settings, text string) error {
	switch text {
	case "debug", "info", "warn", "error":
		var level slog.Level
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		s.LogLevel = level
		return nil
	}
	return hint.With(fmt.Errorf("%q is not a log level", text), "write debug, info, warn or error")
}

func setReleaseURL(s *Settings, text string) error {
	s.ReleaseURL = text
	return release.CheckURL(text)
}

func setControlSocket(s *Settings, text string) error {
	s.ControlSocket = text
	return nil
}

func addOrigin(s *Settings, text string) error {
	s.AllowOrigins = append(s.AllowOrigins, text)
	return server.CheckOrigin(text)
}

func addHost(s *Settings, text string) error {
	s.AllowHosts = append(s.AllowHosts, text)
	return server.CheckHost(text)
}

func setOTLPEndpoint(s *Settings, text string) (err error) {
	s.OTLPEndpoint, err = telemetry.ParseEndpoint(text)
	return err
}

func setUIURL(s *Settings, text string) error {
	s.UIURL = text
	return studio.CheckBaseURL(text)
}

// setUIKey takes the line of a minisign.pub file that holds the key.
func setUIKey(s *Settings, text string) error {
	s.UIKey = strings.TrimSpace(text)
	if s.UIKey == "" {
		return hint.With(errors.New("it is empty"), "write the last line of a minisign.pub file, or leave the setting out")
	}
	return studio.CheckPublicKey(s.UIKey)
}
