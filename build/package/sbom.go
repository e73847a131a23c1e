package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// A bom is a bill of materials as CycloneDX 1.5 has it; only what is said here.
type bom struct {
	BOMFormat    string         `json:"bomFormat"`
	SpecVersion  string         `json:"specVersion"`
	Version      int            `json:"version"`
	Metadata     bomMetadata    `json:"metadata"`
	Components   []bomComponent `json:"components"`
	Dependencies []bomDependsOn `json:"dependencies"`
}

type bomMetadata struct {
	Timestamp string       `json:"timestamp"`
	Component bomComponent `json:"component"`
}

type bomComponent struct {
	Ref        string        `json:"bom-ref"`
	Type       string        `json:"type"`
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	PURL       string        `json:"purl,omitempty"`
	Hashes     []bomHash     `json:"hashes,omitempty"`
	Licences   []bomLicence  `json:"licenses,omitempty"`
	Properties []bomProperty `json:"properties,omitempty"`
}

type bomHash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type bomLicence struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type bomProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type bomDependsOn struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// makeSBOM writes what is in each program: it is read from the program itself, so it lists what was linked, not what
// go.mod would allow.
func (r *release) makeSBOM(ctx context.Context) error {
	programs := map[target]string{}
	var err error
	for _, arch := range r.arches {
		t := target{goos: "linux", goarch: arch}
		if programs[t], err = r.build(ctx, t); err != nil {
			return err
		}
	}
	t := windowsTray()
	if programs[t], err = r.windowsProgram(ctx, t); err != nil {
		return err
	}
	for t, program := range programs {
		parts, err := r.components(ctx, program)
		if err != nil {
			return err
		}
		binary, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		data, err := json.MarshalIndent(r.billOf(t, binary, parts), "", "  ")
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s-%s-%s.cdx.json", programName, r.version, t.goos, t.goarch)
		if err := r.put(name, append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// billOf lists the parts of a program. It carries no serial number: the same program has the same bill.
func (r *release) billOf(t target, binary []byte, parts []component) bom {
	sum := sha256.Sum256(binary)
	self := component{path: "chatwright.dev/tray", version: "v" + r.version}
	main := self.bill("application")
	main.Name, main.PURL = programName, self.purl()+"?goos="+t.goos+"&goarch="+t.goarch
	main.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(sum[:])}}
	main.Licences = licences("Apache-2.0")
	b := bom{
		BOMFormat: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: bomMetadata{Timestamp: r.when.Format("2006-01-02T15:04:05Z"), Component: main},
	}
	all := bomDependsOn{Ref: main.Ref}
	for _, part := range parts {
		entry := part.bill("library")
		b.Components = append(b.Components, entry)
		all.DependsOn = append(all.DependsOn, entry.Ref)
	}
	b.Dependencies = []bomDependsOn{all}
	return b
}

func (c component) bill(kind string) bomComponent {
	entry := bomComponent{
		Ref: c.purl(), Type: kind, Name: c.path, Version: c.version, PURL: c.purl(), Licences: licences(c.spdx()...),
	}
	if c.sum != "" {
		entry.Properties = []bomProperty{{"golang:go.sum", c.sum}} // a hash of the module's files, not of one file
	}
	return entry
}

// purl is the name by which scanners look a module up; the Go library is known as "std", without the "go" of its
// version.
func (c component) purl() string {
	version := c.version
	if c.path == "std" {
		version = strings.TrimPrefix(version, "go")
	}
	return "pkg:golang/" + c.path + "@" + url.QueryEscape(version)
}

func licences(ids ...string) []bomLicence {
	var all []bomLicence
	for _, id := range ids {
		var l bomLicence
		l.Licence.ID = id
		all = append(all, l)
	}
	return all
}
