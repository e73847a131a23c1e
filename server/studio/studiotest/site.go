// Package studiotest has what tests of the offline copy need: a stand-in for Studio, and a server that releases it and
// can lie about it.
package studiotest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base32"
	"encoding/hex"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font/gofont/gomono"
)

//go:embed spa
var spa embed.FS

// A Site is the files of a Studio: name to content.
type Site map[string]string

// Studio is a stand-in for the real Studio: a single-page app with client-side routes, built as bundlers build them. What
// its own code refers to is renamed after its content, one route is a chunk that is loaded when it is opened, and its
// index.html has an inline script, inline styles and an onload handler. Its AI test asks what the real one asks.
//
// Two versions have the names that hold in common: index.html, and what no build renames. Every script differs.
func Studio(version string) Site {
	site := Site{}
	// In this order, each file refers only to those before it, whose names are known by then.
	renamed := []string{"media/letters.ttf", "styles.css", "dom.js", "playground.js", "main.js"}
	names := map[string]string{}
	sources := read()
	for _, name := range renamed {
		content := rewrite(sources[name], version, names)
		if name == "dom.js" { // it mentions no version, and a build changes all of its chunks
			content = "// " + version + "\n" + content
		}
		names[name] = hashed(name, content)
		site[names[name]] = content
	}
	for name, content := range sources {
		if !slices.Contains(renamed, name) {
			site[name] = rewrite(content, version, names)
		}
	}
	return site
}

func read() map[string]string {
	sources := map[string]string{"media/letters.ttf": string(gomono.TTF)}
	root, err := fs.Sub(spa, "spa")
	if err == nil {
		err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(root, name)
			sources[name] = string(data)
			return err
		})
	}
	if err != nil {
		panic(err) // the files are part of the program
	}
	return sources
}

// rewrite fills in the version and the names that files have in this build.
func rewrite(content, version string, names map[string]string) string {
	content = strings.ReplaceAll(content, "%VERSION%", version)
	for _, before := range []string{`"/`, `'./`, `"`} { // as index.html, scripts and the stylesheet write them
		for old, now := range names {
			content = strings.ReplaceAll(content, before+old+before[:1], before+now+before[:1])
		}
	}
	return content
}

// hashed is the name that a build gives a file: main.js becomes main-QX3ZV7KA.js.
func hashed(name, content string) string {
	sum := sha256.Sum256([]byte(content))
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + base32.StdEncoding.EncodeToString(sum[:5]) + ext
}

// With is the site with one more file.
func (s Site) With(name, content string) Site {
	s = maps.Clone(s)
	s[name] = content
	return s
}

// Name returns the name that the file of that stem has in this build: Name("main", ".js") is "main-QX3ZV7KA.js".
func (s Site) Name(t testing.TB, stem, ext string) string {
	t.Helper()
	for name := range s {
		if strings.HasPrefix(name, stem+"-") && path.Ext(name) == ext {
			return name
		}
	}
	t.Fatalf("the site has no file %s-*%s", stem, ext)
	return ""
}

// Zip packs the site the way a release does.
func (s Site) Zip(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(s[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Hash is the sha256 of data as a manifest writes it.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
