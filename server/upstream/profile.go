package upstream

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// ConfiguredName names the upstream of the settings where a profile's name is expected, as DemoName does the demo
// model. No profile can have either name.
const ConfiguredName = string(protocol.SourceConfigured)

const (
	maxModel = 200  // runes of a model's name
	maxKey   = 4096 // bytes of a key
)

// profileName is what a profile may be called. It is a path element, a word on a command line and a row of a menu.
var profileName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// Profile is a named upstream with its key. It is what the file holds, and goes nowhere else: Public is what may be
// told.
type Profile struct {
	Name     string                    `json:"name"`
	Kind     protocol.UpstreamKind     `json:"kind"`
	BaseURL  string                    `json:"base_url"`
	APIKey   string                    `json:"api_key,omitempty"`
	Model    string                    `json:"model,omitempty"`
	Protocol protocol.UpstreamProtocol `json:"protocol"`
}

// String keeps the key out of whatever prints a Profile.
func (p Profile) String() string { return p.Name + " (" + p.BaseURL + ")" }

// GoString is String for %#v.
func (p Profile) GoString() string { return p.String() }

// LogValue is String for a log that writes JSON.
func (p Profile) LogValue() slog.Value { return slog.StringValue(p.String()) }

// Public is p as it may be told.
func (p Profile) Public() protocol.UpstreamProfile {
	return protocol.UpstreamProfile{
		Name: p.Name, Kind: p.Kind, BaseURL: p.BaseURL, HasKey: p.APIKey != "", Model: p.Model, Protocol: p.Protocol,
	}
}

// ErrReserved refuses a name that means something else already.
var ErrReserved = errors.New("the name is taken by an upstream that is always there")

// CheckName says why name cannot be that of a profile.
func CheckName(name string) error {
	if !profileName.MatchString(name) {
		return hint.With(fmt.Errorf("%s is no name of an upstream", quote(name)),
			"take 1 to 64 letters, digits, dots, underscores and hyphens, with a letter or digit first")
	}
	if strings.EqualFold(name, DemoName) || strings.EqualFold(name, ConfiguredName) {
		return hint.With(fmt.Errorf("%q: %w", name, ErrReserved), "choose another name")
	}
	return nil
}

// quote repeats foreign text in an error, as far as it fits there.
func quote(text string) string {
	const most = 80
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(text, "\uFFFD"))
}

// normalised checks p and fills in what may be left out. Its errors repeat neither key nor URL.
func (p Profile) normalised() (Profile, error) {
	if err := CheckName(p.Name); err != nil {
		return p, err
	}
	if p.Kind == "" {
		p.Kind = protocol.KindOpenAI
	}
	if p.Protocol == "" {
		p.Protocol = protocol.ProtocolChatCompletions
	}
	switch {
	case p.Kind != protocol.KindOpenAI:
		return p, hint.With(fmt.Errorf("kind: %s is unknown", quote(string(p.Kind))), `the kind is "openai", or left out`)
	case p.Protocol != protocol.ProtocolChatCompletions:
		return p, hint.With(fmt.Errorf("protocol: %s is unknown", quote(string(p.Protocol))), `the protocol is "chat_completions", or left out`)
	}
	base, err := parseBase(strings.TrimSpace(p.BaseURL))
	if err != nil {
		return p, fmt.Errorf("base_url: %w", err)
	}
	p.BaseURL = base.String()
	if p.Model = strings.TrimSpace(p.Model); !isModelName(p.Model) {
		return p, fmt.Errorf("model: the name is longer than %d characters, or has some that cannot be seen", maxModel)
	}
	if p.APIKey = strings.TrimSpace(p.APIKey); !isKey(p.APIKey) {
		return p, fmt.Errorf("api_key: it is longer than %d bytes, or has spaces or characters that no header can carry", maxKey)
	}
	return p, nil
}

func isModelName(model string) bool {
	return utf8.ValidString(model) && utf8.RuneCountInString(model) <= maxModel && !strings.ContainsFunc(model, func(r rune) bool {
		return !unicode.IsPrint(r)
	})
}

// isKey says whether key can stand in an Authorization header after "Bearer ".
func isKey(key string) bool {
	return len(key) <= maxKey && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// sameServer says whether two base URLs lead to one server, so that a key for the one may go to the other.
func sameServer(a, b string) bool {
	one, err := url.Parse(a)
	if err != nil {
		return false
	}
	other, err := url.Parse(b)
	return err == nil && one.Scheme == other.Scheme && strings.EqualFold(one.Host, other.Host)
}

// target makes the Target of a profile that is normalised.
func (p Profile) target() (*Target, error) {
	t, err := Parse(p.BaseURL)
	if err != nil {
		return nil, err
	}
	t.Name, t.APIKey = p.Name, p.APIKey
	return t, nil
}
