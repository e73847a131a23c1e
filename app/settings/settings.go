// Package settings reads what the user decided: flags over environment over tray.toml over defaults, each value with
// where it comes from. One table (Table) drives all four, the help text and the README.
package settings

import (
	"errors"
	"log/slog"
	"time"
)

// Settings are the values in force.
type Settings struct {
	Addr              string
	Upstream          string // base URL, or "demo"
	DatastateFixtures string // file; "" none
	AllowOrigins      []string
	AllowHosts        []string
	UIDir             string // folder; "" none
	UI                bool   // serve the offline copy of Studio
	UIURL             string
	StateDir          string // folder; "" the XDG base directories
	ControlSocket     string // "" the default of package paths
	AllowRemote       bool
	RemoteTokenFile   string
	UpstreamTimeout   time.Duration // of calls that do not stream; 0 none
	MaxBody           int64         // bytes, of a chat completion request
	MetricsCapacity   int
	Grace             time.Duration
	LogLevel          slog.Level
	StudioOpen        StudioOpen
	NoBrowser         bool // print a URL instead of opening it
	ParentPID         int  // end when this process does; 0 none
}

// StudioOpen says which Studio "Open Studio" opens.
type StudioOpen string

// The choices.
const (
	StudioAuto   StudioOpen = "auto"   // the local copy when there is one, else the hosted
	StudioLocal  StudioOpen = "local"  // what this daemon serves
	StudioHosted StudioOpen = "hosted" // https://chatwright.dev
)

// Input is where the values come from. A nil func or an empty File has none.
type Input struct {
	Flag func(name string) (values []string, set bool) // as Flags.Lookup; name without dashes
	Env  func(name string) (string, bool)              // as os.LookupEnv
	File string                                        // path of tray.toml; it may be missing
	Dir  string                                        // what relative paths of flags and environment start from; "" the working folder
}

// Load returns the settings in force, or an error that names the source of the bad value and has a hint.
func Load(in Input) (Settings, error) { return Settings{}, errors.ErrUnsupported }

// StateDir returns the state folder that flags and environment ask for, which decides where tray.toml is; "" none.
func StateDir(in Input) (string, error) { return "", errors.ErrUnsupported }

// Source says where the value of a setting comes from; name is Setting.Name.
func (s Settings) Source(name string) Source { return Source{} }

// ReadRemoteToken reads the token that remote callers must send; nil when remote access is off.
func (s Settings) ReadRemoteToken() ([]byte, error) { return nil, errors.ErrUnsupported }

// Source is where a value comes from.
type Source struct {
	Kind SourceKind
	Name string // of the flag, the variable or the file
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
func (s Source) String() string { return string(s.Kind) }

// Setting is one line of the table.
type Setting struct {
	Name       string // of the flag (without dashes) and of the file's key
	Env        string
	Default    string // as text; "" none
	Usage      string // one sentence
	Arg        string // what stands for the value in help: "host:port"
	Bool       bool   // may be given as a flag without a value
	Repeatable bool   // more than one value: repeated flags, commas in the environment, an array in the file
	NoFlag     bool   // has no flag
	NoFile     bool   // has no key in the file
}

// Table returns all settings in the order in which help and README show them.
func Table() []Setting { return nil }

// Flags collects as text what the command line sets. The zero value is ready.
//
//	for _, s := range settings.Table() {
//		if s.NoFlag { continue }
//		f := fs.VarPF(flags.Value(s), s.Name, "", s.Usage)
//		if s.Bool { f.NoOptDefVal = "true" }
//	}
type Flags struct {
	values map[string][]string
}

// Lookup is for Input.Flag.
func (f *Flags) Lookup(name string) (values []string, set bool) { values, set = f.values[name]; return }

// Value returns the flag of s; it satisfies flag.Value and pflag.Value.
func (f *Flags) Value(s Setting) *FlagValue { return &FlagValue{f, s} }

// FlagValue is one flag of Flags.
type FlagValue struct {
	flags   *Flags
	setting Setting
}

func (v *FlagValue) String() string        { return v.setting.Default }
func (v *FlagValue) Type() string          { return v.setting.Arg }
func (v *FlagValue) Set(text string) error { return errors.ErrUnsupported }
