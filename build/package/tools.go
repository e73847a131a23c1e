package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// The tools that are fetched and built by "go run", at these versions and checked against the checksum database. They
// are no dependencies of the program, so they are not in its go.mod.
const (
	nfpm     = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"
	goWinres = "github.com/tc-hib/go-winres@v0.3.3"
)

// goRun runs a tool in a folder.
func goRun(ctx context.Context, dir string, env []string, tool string, args ...string) error {
	_, err := capture(ctx, dir, env, "go", append([]string{"run", tool}, args...)...)
	return err
}

const programName = "chatwright-tray"

// A target is one program that is built.
type target struct {
	goos, goarch string
	windowed     bool // Windows: it has no console, so none opens beside the tray
	cgo          bool // macOS: the tray needs it
}

// build builds the program for a target and returns where it is. It carries neither paths of this machine nor the
// state of the checkout (-buildvcs): an archive of the same source gives the same bytes as a clone.
func (r *release) build(ctx context.Context, t target) (string, error) {
	name := t.goos + "-" + t.goarch
	ldflags := "-s -w"
	if t.windowed {
		name += "-windowed"
		ldflags += " -H=windowsgui"
	}
	out := filepath.Join(r.work, name, programName)
	cgo := "0"
	if t.cgo {
		cgo = "1"
	}
	env := []string{"GOOS=" + t.goos, "GOARCH=" + t.goarch, "CGO_ENABLED=" + cgo, "GOFLAGS="}
	_, err := capture(ctx, r.root, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+ldflags, "-o", out,
		"./cmd/"+programName)
	if err != nil {
		return "", fmt.Errorf("building for %s: %w", name, err)
	}
	return out, nil
}
