package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

const (
	maxProfiles     = 100
	maxProfilesFile = 4 << 20
)

var (
	// ErrNoProfile says that no profile has that name.
	ErrNoProfile = errors.New("there is no upstream of that name")
	// ErrInvalid is every error about what the caller gave.
	ErrInvalid = errors.New("an upstream that cannot be")
)

// invalid is an ErrInvalid that says only what is wrong.
type invalid struct{ error }

func (i invalid) Unwrap() error   { return i.error }
func (invalid) Is(err error) bool { return err == ErrInvalid }

// Profiles are the named upstreams, kept in a file that is the owner's alone. They are safe for concurrent use. A Target
// that was handed out stays good after its profile was changed or deleted: what is in flight ends where it began.
type Profiles struct {
	path string

	mu    sync.Mutex
	named map[string]named
}

type named struct {
	profile Profile
	target  *Target
}

// profilesFile is what is in the file.
type profilesFile struct {
	Upstreams []Profile `json:"upstreams"`
}

// OpenProfiles reads the profiles at path; a missing file holds none. A file that cannot be used is renamed, since it
// holds keys that may be worth having, and setAside says to what. The Profiles are good whatever the error says.
func OpenProfiles(path string) (profiles *Profiles, setAside string, err error) {
	p := &Profiles{path: path, named: map[string]named{}}
	data, err := wholefile.Read(path, maxProfilesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, "", nil
	}
	if err == nil {
		// What others could read is theirs already, but no longer.
		err = errors.Join(makePrivate(path), p.parse(data))
	}
	if err == nil {
		return p, "", nil
	}
	p.named = map[string]named{}
	setAside = path + ".broken"
	if renameErr := os.Rename(path, setAside); renameErr != nil {
		return p, "", fmt.Errorf("reading the upstreams: %w", errors.Join(err, renameErr))
	}
	return p, setAside, fmt.Errorf("reading the upstreams: %w", err)
}

func makePrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(path, 0o600)
}

func (p *Profiles) parse(data []byte) error {
	var file profilesFile
	if err := json.Unmarshal(data, &file); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("broken JSON at byte %d", syntax.Offset)
		}
		return errors.New("it is not the JSON of upstreams") // other errors of the decoder repeat values
	}
	for _, profile := range file.Upstreams {
		profile, err := profile.normalised()
		if err != nil {
			return err
		}
		if err := p.keep(profile); err != nil {
			return err
		}
	}
	return nil
}

// keep puts a profile that is normalised in its place.
func (p *Profiles) keep(profile Profile) error {
	target, err := profile.target()
	if err != nil {
		return err
	}
	p.named[profile.Name] = named{profile, target}
	return nil
}

// List returns all profiles by name.
func (p *Profiles) List() []Profile {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list()
}

func (p *Profiles) list() []Profile {
	all := make([]Profile, 0, len(p.named))
	for _, n := range p.named {
		all = append(all, n.profile)
	}
	slices.SortFunc(all, func(a, b Profile) int {
		if c := strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// Get returns the profile of that name, with the Target that its calls go to from now on.
func (p *Profiles) Get(name string) (Profile, *Target, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.named[name]
	if !ok {
		return Profile{}, nil, noProfile(name)
	}
	return n.profile, n.target, nil
}

func noProfile(name string) error {
	return hint.With(fmt.Errorf("%s: %w", quote(name), ErrNoProfile), "see which there are: chatwright-tray upstream list")
}

// Put adds a profile, or replaces the one of its name. With keepKey its key is the one that is stored, which is refused
// where the base URL names another server than the one it was given for. It returns what is stored, and the Target.
func (p *Profiles) Put(profile Profile, keepKey bool) (Profile, *Target, error) {
	profile, err := profile.normalised()
	if err != nil {
		return profile, nil, invalid{err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, existed := p.named[profile.Name]
	if !existed && len(p.named) >= maxProfiles {
		return profile, nil, hint.With(invalid{fmt.Errorf("there are %d upstreams already", maxProfiles)},
			"remove one that is not needed: chatwright-tray upstream rm NAME")
	}
	if keepKey && before.profile.APIKey != "" {
		if !sameServer(before.profile.BaseURL, profile.BaseURL) {
			return profile, nil, hint.With(invalid{errors.New("the stored key was given for another server")},
				"give the key for this one, or an empty one for none")
		}
		profile.APIKey = before.profile.APIKey
	}
	if existed && before.profile == profile {
		return profile, before.target, nil
	}
	if err := p.keep(profile); err != nil {
		return profile, nil, invalid{err}
	}
	if err := p.write(); err != nil {
		p.restore(profile.Name, before, existed)
		return profile, nil, err
	}
	closeIdle(before.target)
	return profile, p.named[profile.Name].target, nil
}

// Delete forgets the profile of that name, and its key.
func (p *Profiles) Delete(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, ok := p.named[name]
	if !ok {
		return noProfile(name)
	}
	delete(p.named, name)
	if err := p.write(); err != nil {
		p.restore(name, before, true)
		return err
	}
	closeIdle(before.target)
	return nil
}

// restore undoes what could not be written: what holds now is what holds after a restart.
func (p *Profiles) restore(name string, before named, existed bool) {
	if existed {
		p.named[name] = before
	} else {
		delete(p.named, name)
	}
}

func (p *Profiles) write() error {
	data, err := json.MarshalIndent(profilesFile{Upstreams: p.list()}, "", "  ")
	if err != nil {
		return fmt.Errorf("storing the upstreams: %w", err)
	}
	if err := wholefile.Write(p.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("storing the upstreams: %w", err)
	}
	return nil
}

// closeIdle gives back the connections that wait for calls that will not come. Those in use are left alone.
func closeIdle(t *Target) {
	if t == nil {
		return
	}
	if pool, ok := t.Transport.(interface{ CloseIdleConnections() }); ok {
		pool.CloseIdleConnections()
	}
}
