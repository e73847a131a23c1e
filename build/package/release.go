package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/template"
	"time"

	"chatwright.dev/tray/server/hint"
)

// options are what the command line says.
type options struct {
	dist   string   // "" means dist in the checkout
	arches []string // of the Linux packages
}

// A release is what is being packaged, and where.
type release struct {
	root    string // the checkout
	dist    string // where packages go
	work    string // what is left over on the way; may be deleted
	version string // as the program says it
	when    time.Time
	arches  []string
	host    string    // the program built for this machine: it tells its version and writes its completions
	log     io.Writer // a line for each file that is made
}

func newRelease(ctx context.Context, opts options, log io.Writer) (*release, error) {
	mod, err := capture(ctx, "", nil, "go", "env", "GOMOD")
	if err != nil {
		return nil, fmt.Errorf("finding the checkout: %w", err)
	}
	r := &release{root: filepath.Dir(strings.TrimSpace(mod)), arches: opts.arches, log: log}
	if r.dist, err = filepath.Abs(opts.dist); err != nil {
		return nil, fmt.Errorf("finding the output folder: %w", err)
	}
	if opts.dist == "" {
		r.dist = filepath.Join(r.root, "dist")
	}
	r.work = filepath.Join(r.dist, "work")
	if err := os.MkdirAll(r.work, 0o755); err != nil {
		return nil, err
	}
	if r.when, err = sourceDate(ctx, r.root, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return nil, err
	}
	if r.host, err = r.build(ctx, target{goos: runtime.GOOS, goarch: runtime.GOARCH}); err != nil {
		return nil, err
	}
	said, err := capture(ctx, r.work, nil, r.host, "version")
	if err != nil {
		return nil, fmt.Errorf("asking the program for its version: %w", err)
	}
	r.version, err = versionOf(said)
	return r, err
}

// versionOf takes the version out of what "chatwright-tray version" prints.
func versionOf(said string) (string, error) {
	fields := strings.Fields(said)
	if len(fields) != 2 || fields[0] != programName {
		return "", fmt.Errorf("reading the version: the program said %q", said)
	}
	return fields[1], nil
}

// sourceDate is the time that packages carry: that of SOURCE_DATE_EPOCH, or of the last commit.
func sourceDate(ctx context.Context, root, epoch string) (time.Time, error) {
	if epoch == "" {
		said, err := capture(ctx, root, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, hint.With(fmt.Errorf("finding the time of the last commit: %w", err),
				"outside a git checkout, set SOURCE_DATE_EPOCH to the seconds since 1970 of the release")
		}
		epoch = strings.TrimSpace(said)
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// made says that a file is there, with its size, since size is what people pay.
func (r *release) made(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.log, "%8.1f MB  %s\n", float64(info.Size())/1e6, filepath.Base(path))
	return err
}

// fill puts the facts of the release into a template of the checkout.
func (r *release) fill(name string, more map[string]string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	facts := map[string]string{
		"Version":  r.version,
		"Date":     r.when.Format(time.DateOnly),
		"RFC5322":  r.when.Format("Mon, 02 Jan 2006 15:04:05 -0700"),
		"Releases": releasesURL,
	}
	for k, v := range more {
		facts[k] = v
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, facts); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// releasesURL is where the files of a release are downloaded from.
const releasesURL = "https://github.com/chatwright/tray/releases/download"

// capture runs a program in a folder, with additions to this process's environment, and returns what it printed. When
// it fails, the error holds what it complained about.
func capture(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	if said := strings.TrimSpace(string(out) + complaint.String()); said != "" {
		return "", fmt.Errorf("running %s: %w: %s", filepath.Base(name), err, said)
	}
	return "", fmt.Errorf("running %s: %w", filepath.Base(name), err)
}
