package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"chatwright.dev/tray/assets/icon"
	"chatwright.dev/tray/server/hint"
)

// Windows decides by the program whether it has a console: one that has none prints nothing in a terminal, and one that
// has one opens it beside the tray. So there are two, built from the same source. The one for the terminal ends in
// ".com", which Windows looks for before ".exe": whoever types "chatwright-tray status" runs it, whoever double-clicks
// runs the tray. (Attaching to the console of the caller would print too, but the shell does not wait for a program
// without a console: the prompt comes back first, and scripts see no exit code.)
func windowsTray() target     { return target{goos: "windows", goarch: "amd64", windowed: true} }
func windowsTerminal() target { return target{goos: "windows", goarch: "amd64"} }

func (t target) windowsName() string {
	if t.windowed {
		return programName + ".exe"
	}
	return programName + ".com"
}

func (r *release) makeWindows(ctx context.Context) error {
	files, err := r.windowsFiles(ctx)
	if err != nil {
		return err
	}
	top := r.windowsBase()
	data, err := zipped(top, files, r.when)
	if err != nil {
		return err
	}
	return r.put(top+".zip", data)
}

// windowsBase is how the names of the Windows packages begin.
func (r *release) windowsBase() string {
	return fmt.Sprintf("%s-%s-windows-amd64", programName, r.version)
}

func (r *release) windowsFiles(ctx context.Context) ([]file, error) {
	var files []file
	for _, t := range []target{windowsTray(), windowsTerminal()} {
		path, err := r.windowsProgram(ctx, t)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{t.windowsName(), 0o755, data})
	}
	readme, err := r.fill("build/windows/README.txt", nil)
	if err != nil {
		return nil, err
	}
	licence, err := r.read("LICENSE")
	if err != nil {
		return nil, err
	}
	commands, err := r.read("build/manual/commands.md")
	if err != nil {
		return nil, err
	}
	program, err := r.build(ctx, windowsTray())
	if err != nil {
		return nil, err
	}
	others, err := r.thirdPartyLicences(ctx, program)
	if err != nil {
		return nil, err
	}
	return append(files, file{"README.txt", 0o644, crlf(readme)}, file{"LICENSE.txt", 0o644, crlf(licence)},
		file{"commands.md", 0o644, crlf(commands)}, file{"third-party-licences.txt", 0o644, crlf(others)}), nil
}

// crlf ends lines the way every editor on Windows shows them.
func crlf(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

// windowsProgram builds a program and adds its icon, version and manifest. They are added to what was built: as objects
// for the linker they would have to lie in the folder of the source.
func (r *release) windowsProgram(ctx context.Context, t target) (string, error) {
	built, err := r.build(ctx, t)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(r.work, "resources-"+t.windowsName())
	description := "Chatwright Tray"
	if !t.windowed {
		description = "Chatwright Tray, for a terminal"
	}
	resources, err := r.fill("build/windows/winres.json", map[string]string{"Description": description, "File": t.windowsName()})
	if err != nil {
		return "", err
	}
	drawing, err := r.windowsIcon()
	if err != nil {
		return "", err
	}
	binary, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	name := programName + ".exe" // the tool wants it so
	err = lay(folder, []file{{"winres.json", 0o644, resources}, {"icon.ico", 0o644, drawing}, {name, 0o755, binary}}, r.when)
	if err != nil {
		return "", err
	}
	err = goRun(ctx, folder, nil, goWinres, "patch", "--no-backup", "--in", "winres.json", name)
	return filepath.Join(folder, name), err
}

func (r *release) windowsIcon() ([]byte, error) {
	svg, err := r.read("assets/icon/" + icon.AppSource)
	if err != nil {
		return nil, err
	}
	return icon.AppICO(svg)
}

// makeInstaller makes the installer for one user.
func (r *release) makeInstaller(ctx context.Context) error {
	if _, err := exec.LookPath("makensis"); err != nil {
		return hint.With(fmt.Errorf("the installer needs makensis: %w", err), "apt-get install -y --no-install-recommends nsis, or leave it out: all --without installer")
	}
	files, err := r.windowsFiles(ctx)
	if err != nil {
		return err
	}
	drawing, err := r.windowsIcon()
	if err != nil {
		return err
	}
	base := filepath.Join(r.work, "installer")
	stage := filepath.Join(base, "files")
	if err := lay(base, []file{{"icon.ico", 0o644, drawing}}, r.when); err != nil {
		return err
	}
	if err := lay(stage, files, r.when); err != nil {
		return err
	}
	out := filepath.Join(r.dist, r.windowsBase()+"-setup.exe")
	_, err = capture(ctx, r.root, []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.when.Unix())}, "makensis", "-V2", "-WX",
		"-DVERSION="+r.version, "-DSTAGE="+stage, "-DOUT="+out, filepath.Join("build", "windows", "installer.nsi"))
	if err != nil {
		return err
	}
	return r.made(out)
}
