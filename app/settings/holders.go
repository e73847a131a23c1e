package settings

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"chatwright.dev/tray/server/datastate/sqlstore"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

// Holder is a database with where its DSN comes from. A DSN can hold a password, so that it has ways besides the
// settings file and the command line, which others may read.
type Holder struct {
	DSN  string // "" it is in File
	File string // absolute, mode 0600
	// Source is that of the setting, for errors and for who tells the user where a password stands.
	Source Source
}

// Holders returns the DSNs by name, and reads those that stand in files. Its errors say none of them.
func (s Settings) Holders() (map[string]string, error) {
	all := make(map[string]string, len(s.Datastate))
	for _, name := range slices.Sorted(maps.Keys(s.Datastate)) {
		h := s.Datastate[name]
		dsn := h.DSN
		if h.File != "" {
			var err error
			if dsn, err = readDSN(h.File); err != nil {
				return nil, blame(h.Source, fmt.Errorf("data-state holder %q: %w", name, err))
			}
		}
		all[name] = dsn
	}
	return all, nil
}

const maxDSN = 64 << 10

func readDSN(path string) (string, error) {
	const way = "write the DSN into it, and: chmod 600"
	data, err := wholefile.Read(path, maxDSN)
	if err != nil {
		return "", hint.With(err, way)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", hint.With(err, way)
	}
	if tooOpen(info.Mode()) {
		return "", hint.With(fmt.Errorf("%s has mode %04o, want 0600", path, info.Mode().Perm()), "chmod 600 '"+path+"'")
	}
	dsn := string(bytes.TrimSpace(data))
	if strings.ContainsAny(dsn, "\r\n") {
		return "", hint.With(errors.New(path+" holds more than one line"), way)
	}
	return sqlstore.WithFolder(dsn, filepath.Dir(path)), sqlstore.CheckDSN(dsn)
}

// Visible names the holders whose password stands among the arguments of this process, where every user of the machine
// can read it.
func (s Settings) Visible() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Datastate)) {
		if h := s.Datastate[name]; h.Source.Kind == FromFlag && sqlstore.HasSecret(h.DSN) {
			names = append(names, name)
		}
	}
	return names
}

// WithoutSecrets are the arguments of a process with the passwords taken out of them. A DSN that holds one is left out whole:
// of a part of it nobody could say that it is none.
func WithoutSecrets(args []string) []string {
	const flag = "--datastate"
	clean := slices.Clone(args)
	for i, arg := range clean {
		prefix, text := "", arg
		if rest, ok := strings.CutPrefix(arg, flag+"="); ok {
			prefix, text = flag+"=", rest
		} else if i == 0 || args[i-1] != flag {
			continue
		}
		if name, dsn, ok := strings.Cut(text, "="); ok && sqlstore.HasSecret(dsn) {
			clean[i] = prefix + name + "=***"
		}
	}
	return clean
}

// addHolders adds up what the sources say: of two that name the same holder the stronger one counts.
func (e entry) addHolders(s *Settings, in Input, file map[string]value) error {
	s.Datastate = map[string]Holder{}
	if err := fileHolders(s, in, file); err != nil {
		return err
	}
	folder, err := in.folder()
	if err != nil {
		return err
	}
	if in.Env != nil {
		if text, set := in.Env(e.Env); set && text != "" {
			v := value{splitHolders(text), Source{Kind: FromEnv, Name: e.Env}, folder}
			if err := e.namedHolders(s, v); err != nil {
				return err
			}
		}
	}
	if in.Flag != nil {
		if texts, set := in.Flag(e.Name); set {
			return e.namedHolders(s, value{texts, Source{Kind: FromFlag, Name: "--" + e.Name}, folder})
		}
	}
	return nil
}

// namedHolders reads NAME=DSN.
func (e entry) namedHolders(s *Settings, v value) error {
	s.sources[e.Name] = v.source
	seen := map[string]bool{}
	for _, text := range v.texts {
		name, dsn, ok := strings.Cut(text, "=")
		switch {
		case !ok: // what it is may be a secret
			return blame(v.source, hint.With(errors.New("a holder is written as NAME=DSN"), "such as shop=sqlite:./shop.db"))
		case seen[name]:
			return blame(v.source, hint.With(fmt.Errorf("the data-state holder %q is there twice", clip(name)), "give each a name of its own"))
		}
		seen[name] = true
		if err := s.addHolder(name, dsn, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) addHolder(name, dsn string, v value) error {
	err := sqlstore.CheckName(name)
	if err == nil {
		if err = sqlstore.CheckDSN(dsn); err != nil {
			err = fmt.Errorf("data-state holder %q: %w", name, err)
		}
	}
	if err != nil {
		return blame(v.source, err)
	}
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok && !strings.HasPrefix(path, "//") {
		dsn = "sqlite:" + absolute(path, v)
	}
	s.Datastate[name] = Holder{DSN: dsn, Source: v.source}
	return nil
}

// holderStart is where a further holder begins: a DSN may have commas of its own.
var holderStart = regexp.MustCompile(`,\s*[A-Za-z0-9_][A-Za-z0-9_.-]*=(?:sqlite3?|postgres(?:ql)?|mysql|mariadb):`)

func splitHolders(text string) []string {
	var parts []string
	from := 0
	for _, at := range holderStart.FindAllStringIndex(text, -1) {
		parts = append(parts, strings.TrimSpace(text[from:at[0]]))
		from = at[0] + 1
	}
	return append(parts, strings.Trim(text[from:], ", \t\n"))
}

// HolderKey stands in Table for the keys of the file that name a holder: [datastate.NAME], with dsn, dsn_env or dsn_file.
const HolderKey = "datastate.NAME.dsn"

const holderWay = `write [datastate.NAME] and in it one of dsn = "…", dsn_env = "VARIABLE" and dsn_file = "path"`

// isHolderKey reports whether a key of the file is one of a [datastate.NAME] table.
func isHolderKey(key string) bool {
	_, member, ok := cutHolderKey(key)
	return ok && (member == "dsn" || member == "dsn_env" || member == "dsn_file")
}

func cutHolderKey(key string) (name, member string, ok bool) {
	rest, ok := strings.CutPrefix(key, "datastate.")
	at := strings.LastIndex(rest, ".")
	if !ok || at < 1 {
		return "", "", false
	}
	return rest[:at], rest[at+1:], true
}

// fileHolders reads the [datastate.NAME] tables.
func fileHolders(s *Settings, in Input, file map[string]value) error {
	for _, key := range slices.Sorted(maps.Keys(file)) {
		name, member, ok := cutHolderKey(key)
		if !ok || !isHolderKey(key) {
			continue
		}
		v := file[key]
		if _, twice := s.Datastate[name]; twice {
			return blame(v.source, hint.With(fmt.Errorf("the data-state holder %q has more than one DSN", clip(name)), "keep one of dsn, dsn_env and dsn_file"))
		}
		s.sources["datastate"] = v.source
		text := v.texts[0]
		switch member {
		case "dsn_env":
			variable := text
			text = ""
			if in.Env != nil {
				text, _ = in.Env(variable)
			}
			if text == "" {
				return blame(v.source, hint.With(fmt.Errorf("data-state holder %q: the variable %s is not set", name, clip(variable)), "set it to the DSN, or remove the holder"))
			}
		case "dsn_file":
			if err := sqlstore.CheckName(name); err != nil {
				return blame(v.source, err)
			}
			s.Datastate[name] = Holder{File: absolute(text, v), Source: v.source}
			continue
		}
		if err := s.addHolder(name, text, v); err != nil {
			return err
		}
	}
	return nil
}
