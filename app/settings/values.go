package settings

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

// sourceName is a kind of Source as the console shows them.
func sourceName(kind SourceKind) string {
	if kind == FromFile {
		return "tray.toml"
	}
	return string(kind)
}

// Values is what is in force, in the order of the table, for a person to read: each value as it was given, and where it
// comes from. A DSN is shown without what could be a secret; no other setting can hold one.
func (s Settings) Values() []protocol.SettingValue {
	var all []protocol.SettingValue
	for _, e := range entries() {
		v := protocol.SettingValue{Key: e.Key, Env: e.Env, Help: e.Usage, Source: sourceName(s.Source(e.Name).Kind)}
		if v.Key == "" {
			v.Key = e.Name
		}
		if !e.NoFlag {
			v.Flag = "--" + e.Name
		}
		if e.kind == kindHolder {
			all = append(all, s.holderValues(v)...)
			continue
		}
		texts := s.texts[e.Name]
		if !e.Repeatable && len(texts) > 1 {
			texts = texts[len(texts)-1:]
		}
		v.Value = strings.Join(texts, ", ")
		all = append(all, v)
	}
	return all
}

// holderValues has a line for each database.
func (s Settings) holderValues(v protocol.SettingValue) []protocol.SettingValue {
	if len(s.Datastate) == 0 {
		return []protocol.SettingValue{v}
	}
	var all []protocol.SettingValue
	for _, name := range slices.Sorted(maps.Keys(s.Datastate)) {
		h := s.Datastate[name]
		v.Key, v.Value, v.Source = "datastate."+name, withoutSecret(h.DSN), sourceName(h.Source.Kind)
		if h.File != "" {
			v.Value = "in " + h.File
		}
		all = append(all, v)
	}
	return all
}

// withoutSecret keeps of a DSN what cannot be one: which kind of database, on which host, of which name. User names are
// left out too, since some services have keys there.
func withoutSecret(dsn string) string {
	kind, rest, _ := strings.Cut(dsn, ":")
	if strings.HasPrefix(kind, "sqlite") {
		path, _, _ := strings.Cut(rest, "?")
		return kind + ":" + path
	}
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || strings.ContainsAny(u.Path, "@?=&") {
		return kind + ":…"
	}
	return kind + "://" + u.Host + u.Path
}
