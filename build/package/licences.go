package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// licenceFile matches the files in which modules keep their terms and what must be passed on with them.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// A component is a part of the program that others made.
type component struct {
	path, version, sum string
	terms              []term
}

type term struct{ name, text string }

// components are the modules that are linked into a program, and the Go library itself, with their terms. A module
// without terms is an error: what nobody allowed must not be passed on.
func (r *release) components(ctx context.Context, program string) ([]component, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("reading what the program is made of: %w", err)
	}
	goroot, err := capture(ctx, r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	std := component{path: "std", version: info.GoVersion}
	if std.terms, err = termsIn(strings.TrimSpace(goroot)); err != nil {
		return nil, err
	}
	folders, err := r.moduleFolders(ctx, info.Deps)
	if err != nil {
		return nil, err
	}
	all := []component{std}
	for _, dep := range info.Deps {
		c := component{path: dep.Path, version: dep.Version, sum: dep.Sum}
		if c.terms, err = termsIn(folders[dep.Path]); err != nil {
			return nil, fmt.Errorf("%s: %w", dep.Path, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// moduleFolders is where the sources of modules are, by their paths.
func (r *release) moduleFolders(ctx context.Context, deps []*debug.Module) (map[string]string, error) {
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, dep := range deps {
		args = append(args, dep.Path)
	}
	said, err := capture(ctx, r.root, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for line := range strings.Lines(said) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders[path] = folder
	}
	return folders, nil
}

// termsIn reads the terms at the top of a module.
func termsIn(folder string) ([]term, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var terms []term
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		terms = append(terms, term{e.Name(), strings.ReplaceAll(string(text), "\r\n", "\n")})
	}
	if len(terms) == 0 {
		return nil, errors.New("it has no licence")
	}
	return terms, nil
}

// thirdPartyLicences is the text that is passed on with a program: the terms of everything in it, word for word.
func (r *release) thirdPartyLicences(ctx context.Context, program string) ([]byte, error) {
	all, err := r.components(ctx, program)
	if err != nil {
		return nil, err
	}
	return licenceText(all), nil
}

func licenceText(all []component) []byte {
	var b bytes.Buffer
	b.WriteString("Chatwright Tray contains the libraries below, under these terms.\n")
	for _, c := range all {
		name := c.path + " " + c.version
		if c.path == "std" {
			name = "The Go library, " + c.version
		}
		for _, t := range c.terms {
			_, _ = fmt.Fprintf(&b, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, t.name, strings.TrimSpace(t.text))
		}
	}
	return b.Bytes()
}

// spdx names the licences of a component as SPDX does, by phrases that only they have. A component under terms that
// none of them fits gets none: a guess would be worse.
func (c component) spdx() []string {
	var ids []string
	for _, t := range c.terms {
		text := strings.Join(strings.Fields(t.text), " ")
		for _, known := range licencePhrases() {
			if strings.Contains(text, known.phrase) && (known.not == "" || !strings.Contains(text, known.not)) &&
				!slices.Contains(ids, known.id) {
				ids = append(ids, known.id)
			}
		}
	}
	return ids
}

// licencePhrases tell licences apart. not is in a longer licence that has the phrase as well.
func licencePhrases() []struct{ id, phrase, not string } {
	const bsd = "Redistributions of source code must retain the above copyright"
	const endorse = "used to endorse or promote products"
	return []struct{ id, phrase, not string }{
		{"Apache-2.0", "Apache License Version 2.0, January 2004", ""},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy", ""},
		{"BSD-3-Clause", endorse, ""},
		{"BSD-2-Clause", bsd, endorse},
		{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee", ""},
		{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee", ""},
		{"MPL-2.0", "Mozilla Public License Version 2.0", ""},
		{"MPL-2.0", "Mozilla Public License, version 2.0", ""},
		{"Unlicense", "This is free and unencumbered software released into the public domain", ""},
	}
}
