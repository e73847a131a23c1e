package settings

import (
	"maps"
	"slices"
	"strings"

	"chatwright.dev/tray/server/spell"
)

// Nearest is the one of names that somebody probably meant by word: one that begins with it, else the one with the fewest
// slips, and "" where all are other words.
func Nearest(word string, names []string) string {
	nearest, least := "", (len(word)+1)/3+1
	for _, name := range slices.Sorted(slices.Values(names)) {
		if len(word) > 1 && strings.HasPrefix(name, word) {
			return name
		}
		if d := spell.Distance(word, name); d < least {
			nearest, least = name, d
		}
	}
	return nearest
}

// envPrefix begins the variables of all Chatwright programs, serverPrefix those that only a companion reads.
const (
	envPrefix    = "CHATWRIGHT_"
	serverPrefix = envPrefix + "SERVER_"
)

// A Stray is a variable that looks like a setting and is none.
type Stray struct {
	Name    string
	Nearest string // the setting's variable that was probably meant; "" none is near
}

// Strays finds the variables of an environment that look like settings and are none, by name. Other programs of Chatwright
// have variables too: one is a stray if only a companion could read it, or if it is nearly one of ours.
func Strays(environ []string) []Stray {
	known := map[string]bool{}
	for _, e := range entries() {
		if e.Env != "" {
			known[e.Env] = true
		}
	}
	names := slices.Collect(maps.Keys(known))
	var strays []Stray
	for _, line := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, envPrefix) || known[name] {
			continue
		}
		near := nearVariable(name, names)
		if near != "" || strings.HasPrefix(name, serverPrefix) {
			strays = append(strays, Stray{name, near})
		}
	}
	return strays
}

// nearVariable compares what follows the prefix, with SERVER_ and without: which settings have it is easily forgotten.
func nearVariable(name string, known []string) string {
	bare := func(name string) string { return strings.TrimPrefix(strings.TrimPrefix(name, envPrefix), "SERVER_") }
	nearest, least := "", max(1, len(bare(name))/4)+1
	for _, one := range slices.Sorted(slices.Values(known)) {
		if d := spell.Distance(bare(name), bare(one)); d < least {
			nearest, least = one, d
		}
	}
	return nearest
}
