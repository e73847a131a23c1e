package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"chatwright.dev/tray/assets/icon"
	"chatwright.dev/tray/server/hint"
)

// canBuildMacOS reports whether this machine can build the tray of macOS, which is written in Objective-C.
func canBuildMacOS() bool { return runtime.GOOS == "darwin" }

// makeMacOS makes the app for both processors. It is signed for this machine only (ad hoc); build/README.md says how to
// sign it for others and have Apple notarise it.
func (r *release) makeMacOS(ctx context.Context) error {
	if !canBuildMacOS() {
		return hint.With(errors.New("the tray of macOS needs Apple's compiler and frameworks"),
			"run this on a Mac with the Xcode command line tools; here, a program without the tray can be built, see build/README.md")
	}
	var programs []string
	for _, arch := range []string{"arm64", "amd64"} {
		program, err := r.build(ctx, target{goos: "darwin", goarch: arch, cgo: true})
		if err != nil {
			return err
		}
		programs = append(programs, program)
	}
	universal := filepath.Join(r.work, "universal")
	if _, err := capture(ctx, r.root, nil, "lipo", append(programs, "-create", "-output", universal)...); err != nil {
		return err
	}
	binary, err := os.ReadFile(universal)
	if err != nil {
		return err
	}
	others, err := r.thirdPartyLicences(ctx, programs[0])
	if err != nil {
		return err
	}
	files, err := r.appBundle(binary, others)
	if err != nil {
		return err
	}
	stage := filepath.Join(r.work, "macos")
	if err := lay(stage, files, r.when); err != nil {
		return err
	}
	app := filepath.Join(stage, appName)
	if _, err := capture(ctx, r.root, nil, "codesign", "--force", "--sign", "-", "--options", "runtime", app); err != nil {
		return err
	}
	out := filepath.Join(r.dist, fmt.Sprintf("%s-%s-macos.zip", programName, r.version))
	if _, err := capture(ctx, r.root, nil, "ditto", "-c", "-k", "--keepParent", app, out); err != nil {
		return err
	}
	return r.made(out)
}

const appName = "Chatwright Tray.app"

// appBundle lays the app out. It needs no Mac.
func (r *release) appBundle(program, others []byte) ([]file, error) {
	info, err := r.fill("build/darwin/Info.plist", nil)
	if err != nil {
		return nil, err
	}
	svg, err := r.read("assets/icon/" + icon.AppSourceMacOS)
	if err != nil {
		return nil, err
	}
	drawing, err := icon.ICNS(svg)
	if err != nil {
		return nil, err
	}
	licence, err := r.read("LICENSE")
	if err != nil {
		return nil, err
	}
	manual, err := r.read("build/manual/chatwright-tray.1")
	if err != nil {
		return nil, err
	}
	const contents = appName + "/Contents/"
	return sorted([]file{
		{contents + "Info.plist", 0o644, info},
		{contents + "PkgInfo", 0o644, []byte("APPL????")},
		{contents + "MacOS/" + programName, 0o755, program},
		{contents + "Resources/" + programName + ".icns", 0o644, drawing},
		{contents + "Resources/LICENSE.txt", 0o644, licence},
		{contents + "Resources/third-party-licences.txt", 0o644, others},
		{contents + "Resources/" + programName + ".1", 0o644, manual},
	}), nil
}
