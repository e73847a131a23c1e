// Package settings reads what the user decided: flags over environment over tray.toml over defaults, each value with
// where it comes from, so that a bad one can be found. One table (Table) drives all four, the help text and the README.
// tray.toml is the user's and is never written; what the app itself remembers is State, in a file of its own.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// Settings are the values in force. Files and folders are absolute.
type Settings struct {
	Addr              string
	Upstream          string            // base URL, or "demo"
	Datastate         map[string]Holder // the databases by name
	DatastateFixtures string            // file; "" none
	AllowOrigins      []string
	AllowHosts        []string
	UIDir             string // folder; "" none
	UI                bool   // keep and serve the offline copy of Studio
	UIURL             string
	UIKey             string        // minisign public key of Studio's releases; "" none
	UICheck           time.Duration // between two looks for a newer Studio; 0 only when asked
	StudioOpen        StudioOpen
	StateDir          string // folder; "" the XDG base directories
	ControlSocket     string // "" the default of package paths
	AllowRemote       bool
	RemoteTokenFile   string        // "" none
	UpstreamTimeout   time.Duration // of calls that do not stream; 0 none
	MaxBody           int64         // bytes, of a chat completion request
	MeterUsage        bool          // ask for the usage of streams whose callers did not
	MetricsCapacity   int
	Grace             time.Duration // more than 0
	Record            string        // folder that calls are recorded in; "" none are
	Replay            string        // folder of recordings that answer calls; "" upstreams do
	ReplaySpeed       float64       // 1 as recorded; 0 at once
	History           bool          // record the calls in a file
	HistoryDays       int           // how long they are kept
	MaxSessions       int           // live at once
	ConsoleSessions   bool          // the console shows them
	Capture           protocol.CaptureMode
	Notifications     bool   // errors that need the user are shown on the desktop
	ReleaseCheck      bool   // ask once a day for a newer release
	ReleaseURL        string // whom
	LogLevel          slog.Level
	OTLPEndpoint      string // base URL of an OpenTelemetry collector; "" none
	NoBrowser         bool   // print a URL instead of opening it
	ParentPID         int    // end when this process does; 0 none

	sources map[string]Source   // by name; those that are missing are defaults
	texts   map[string][]string // by name, as they were given
}

// StudioOpen says which Studio "Open Studio" opens.
type StudioOpen string

// The choices.
const (
	StudioAuto   StudioOpen = "auto"   // the local one where there is one, else the hosted
	StudioLocal  StudioOpen = "local"  // what this daemon serves
	StudioHosted StudioOpen = "hosted" // https://chatwright.dev/studio/
)

// Input is where the values come from. A nil func or an empty File has none.
type Input struct {
	Flag func(name string) (values []string, set bool) // Flags.Lookup; name without dashes
	Env  func(name string) (string, bool)              // os.LookupEnv
	File string                                        // path of tray.toml; it may be missing
	Dir  string                                        // where relative paths of flags and environment start; "" the working folder
}

// Source is where a value comes from.
type Source struct {
	Kind SourceKind
	Name string // of the flag (with dashes), the variable or the file
	Line int    // in the file
}

// SourceKind is a kind of Source.
type SourceKind string

// The kinds, weakest first.
const (
	FromDefault SourceKind = "default"
	FromFile    SourceKind = "file"
	FromEnv     SourceKind = "environment"
	FromFlag    SourceKind = "flag"
)

// String reads as a person writes it: "flag --addr", "environment CHATWRIGHT_SERVER_ADDR", "tray.toml line 4".
func (s Source) String() string {
	switch s.Kind {
	case FromFile:
		return fmt.Sprintf("%s line %d", s.Name, s.Line)
	case FromEnv, FromFlag:
		return string(s.Kind) + " " + s.Name
	}
	return string(FromDefault)
}

// value is what one source says of one setting, as text.
type value struct {
	texts  []string
	source Source
	folder string // where a relative path starts
}

// Load returns the settings in force. An error names the source of the bad value and has a hint. Whether files and
// folders exist is not asked here, but by CheckFiles: only a start needs them.
func Load(in Input) (Settings, error) {
	file, err := readFile(in.File)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{sources: make(map[string]Source), texts: make(map[string][]string)}
	for _, e := range entries() {
		if e.kind == kindHolder {
			if err := e.addHolders(&s, in, file); err != nil {
				return Settings{}, err
			}
			continue
		}
		v, err := e.find(in, file)
		if err != nil {
			return Settings{}, err
		}
		s.sources[e.Name], s.texts[e.Name] = v.source, v.texts
		if err := e.apply(&s, v); err != nil {
			return Settings{}, err
		}
	}
	return s, s.checkTogether()
}

// StateDir returns the state folder that flags and environment ask for, which decides where tray.toml is; "" for the
// XDG base directories.
func StateDir(in Input) (string, error) {
	s, err := loadOne(in, "state-dir")
	return s.StateDir, err
}

// ControlSocket returns the control socket that flags and environment ask for; "" for the default. With StateDir it is
// all that a command needs to find the daemon, even where tray.toml is broken.
func ControlSocket(in Input) (string, error) {
	s, err := loadOne(in, "control-socket")
	return s.ControlSocket, err
}

func loadOne(in Input, name string) (s Settings, err error) {
	for _, e := range entries() {
		if e.Name != name {
			continue
		}
		v, err := e.find(in, nil)
		if err != nil {
			return s, err
		}
		return s, e.apply(&s, v)
	}
	return s, fmt.Errorf("no setting is named %q", name)
}

// Source says where the value of a setting comes from; name is that of Setting.Name.
func (s Settings) Source(name string) Source {
	if source, ok := s.sources[name]; ok {
		return source
	}
	return Source{Kind: FromDefault}
}

// find asks the sources, strongest first. A variable that is set to nothing counts as not set, as usual.
func (e entry) find(in Input, file map[string]value) (value, error) {
	folder, err := in.folder()
	if err != nil {
		return value{}, err
	}
	if in.Flag != nil && !e.NoFlag {
		if texts, set := in.Flag(e.Name); set {
			return value{texts, Source{Kind: FromFlag, Name: "--" + e.Name}, folder}, nil
		}
	}
	if in.Env != nil && e.Env != "" {
		if text, set := in.Env(e.Env); set && text != "" {
			return value{e.splitEnv(text), Source{Kind: FromEnv, Name: e.Env}, folder}, nil
		}
	}
	if v, set := file[e.Key]; set && e.Key != "" {
		return v, nil
	}
	v := value{source: Source{Kind: FromDefault}, folder: folder}
	if e.Default != "" {
		v.texts = []string{e.Default}
	}
	return v, nil
}

// folder is where relative paths of flags and environment start.
func (in Input) folder() (string, error) {
	if in.Dir != "" {
		return in.Dir, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working folder: %w", err)
	}
	return folder, nil
}

func (e entry) splitEnv(text string) []string {
	if !e.Repeatable {
		return []string{text}
	}
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// apply sets the value, or says whose fault it is that it cannot.
func (e entry) apply(s *Settings, v value) error {
	if len(v.texts) == 0 {
		return nil
	}
	texts := v.texts
	if !e.Repeatable {
		texts = texts[len(texts)-1:] // the last flag wins
	}
	for _, text := range texts {
		if e.kind == kindPath {
			text = absolute(text, v)
		}
		if err := e.set(s, text); err != nil {
			return blame(v.source, err)
		}
	}
	return nil
}

// absolute resolves a path. One of the file starts at the file's folder, since a daemon that is started at login has
// no working folder to speak of; and there "~/" means home, since no shell has seen to it.
func absolute(path string, v value) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && v.source.Kind == FromFile {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(v.folder, path)
}

func blame(source Source, err error) error { return fmt.Errorf("%s: %w", source, err) }

// checkTogether looks at values that depend on one another.
func (s Settings) checkTogether() error {
	if s.AllowRemote && s.RemoteTokenFile == "" {
		return blame(s.Source("allow-remote"), hint.With(
			fmt.Errorf("remote callers need a token"),
			"name a file with one: --remote-token-file. Make it with: (umask 077; openssl rand -hex 32 > token)"))
	}
	if err := s.checkRecordings(); err != nil {
		return err
	}
	if err := server.CheckAddr(s.Addr, s.AllowRemote); err != nil {
		return blame(s.Source("addr"), err)
	}
	return nil
}

func (s Settings) checkRecordings() error {
	replay, speed := s.Source("replay"), s.Source("replay-speed")
	switch {
	case s.Record != "" && s.Replay != "":
		return blame(replay, hint.With(fmt.Errorf("calls are recorded (%s) or answered from recordings, not both", s.Source("record")),
			"leave out one of --record and --replay"))
	case s.Replay == "" && speed.Kind != FromDefault:
		return blame(speed, hint.With(errors.New("nothing is replayed"), "name the recordings too: --replay FOLDER"))
	}
	return nil
}
