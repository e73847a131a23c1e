package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"chatwright.dev/tray/assets/icon"
)

// A layout is where one kind of Linux package puts what differs between them.
type layout struct {
	prefix  string // of everything: "usr/"; archives have none and are unpacked into a prefix of the user's choice
	program string // how the systemd unit calls the program
	zsh     string // folder of zsh completions
	units   string // folder of systemd units of users
	debian  bool   // has what Debian's policy asks for besides
}

func debLayout() layout {
	return layout{prefix: "usr/", program: "/usr/bin/" + programName, zsh: "share/zsh/vendor-completions", units: "lib/systemd/user", debian: true}
}

func rpmLayout() layout {
	return layout{prefix: "usr/", program: "/usr/bin/" + programName, zsh: "share/zsh/site-functions", units: "lib/systemd/user"}
}

// tarLayout is made to be unpacked into ~/.local, where desktops and systemd look for what belongs to one user.
func tarLayout() layout {
	return layout{program: "%h/.local/bin/" + programName, zsh: "share/zsh/site-functions", units: "share/systemd/user"}
}

// linuxFiles are all files of a Linux package.
func (r *release) linuxFiles(ctx context.Context, arch string, l layout) ([]file, error) {
	program, err := r.build(ctx, target{goos: "linux", goarch: arch})
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	files := []file{{"bin/" + programName, 0o755, binary}}
	for _, part := range []func(context.Context, layout) ([]file, error){r.desktopFiles, r.iconFiles, r.shellFiles, r.docFiles} {
		more, err := part(ctx, l)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	licences, err := r.thirdPartyLicences(ctx, program)
	if err != nil {
		return nil, err
	}
	if licences, err = gzipped(licences); err != nil {
		return nil, err
	}
	files = append(files, file{docFolder + "third-party-licences.txt.gz", 0o644, licences})
	for i := range files {
		files[i].name = l.prefix + files[i].name
	}
	return files, nil
}

const docFolder = "share/doc/" + programName + "/"

// desktopFiles are what desktops and the service manager read.
func (r *release) desktopFiles(_ context.Context, l layout) ([]file, error) {
	var files []file
	for _, f := range []struct{ template, to string }{
		{"build/linux/dev.chatwright.tray.desktop", "share/applications/dev.chatwright.tray.desktop"},
		{"build/linux/dev.chatwright.tray.metainfo.xml", "share/metainfo/dev.chatwright.tray.metainfo.xml"},
		{"build/linux/chatwright-tray.service", l.units + "/chatwright-tray.service"},
	} {
		data, err := r.fill(f.template, map[string]string{"Program": l.program})
		if err != nil {
			return nil, err
		}
		files = append(files, file{f.to, 0o644, data})
	}
	return files, nil
}

// iconFiles are the icon in every size that themes have, as a drawing, and in one colour for panels that want it so.
func (r *release) iconFiles(context.Context, layout) ([]file, error) {
	const theme = "share/icons/hicolor/"
	svg, err := r.read("assets/icon/" + icon.AppSource)
	if err != nil {
		return nil, err
	}
	symbolic, err := r.read("assets/icon/idle.svg")
	if err != nil {
		return nil, err
	}
	files := []file{
		{theme + "scalable/apps/" + programName + ".svg", 0o644, svg},
		{theme + "symbolic/apps/" + programName + "-symbolic.svg", 0o644, symbolic},
	}
	for _, size := range icon.AppSizes() {
		data, err := icon.Picture(svg, size)
		if err != nil {
			return nil, err
		}
		files = append(files, file{fmt.Sprintf("%s%dx%[2]d/apps/%s.png", theme, size, programName), 0o644, data})
	}
	return files, nil
}

// shellFiles are the completions, as the program itself writes them.
func (r *release) shellFiles(ctx context.Context, l layout) ([]file, error) {
	var files []file
	for _, f := range []struct{ shell, to string }{
		{"bash", "share/bash-completion/completions/" + programName},
		{"zsh", l.zsh + "/_" + programName},
		{"fish", "share/fish/vendor_completions.d/" + programName + ".fish"},
	} {
		said, err := capture(ctx, r.work, nil, r.host, "completion", f.shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{f.to, 0o644, []byte(said)})
	}
	return files, nil
}

// docFiles are the manual, the changes and the licence.
func (r *release) docFiles(_ context.Context, l layout) ([]file, error) {
	copyright, err := r.fill("build/linux/copyright", nil)
	if err != nil {
		return nil, err
	}
	files := []file{{docFolder + "copyright", 0o644, copyright}}
	pages := []struct{ from, to string }{
		{"build/manual/chatwright-tray.1", "share/man/man1/chatwright-tray.1.gz"},
		{"CHANGELOG.md", docFolder + "changelog.gz"},
		{"build/manual/commands.md", docFolder + "commands.md.gz"},
	}
	for _, f := range pages {
		data, err := r.read(f.from)
		if err != nil {
			return nil, err
		}
		if data, err = gzipped(data); err != nil {
			return nil, err
		}
		files = append(files, file{f.to, 0o644, data})
	}
	if !l.debian {
		return files, nil
	}
	changes, err := r.fill("build/linux/changelog.Debian", nil)
	if err != nil {
		return nil, err
	}
	if changes, err = gzipped(changes); err != nil {
		return nil, err
	}
	overrides, err := r.read("build/linux/lintian-overrides")
	if err != nil {
		return nil, err
	}
	return append(files, file{docFolder + "changelog.Debian.gz", 0o644, changes},
		file{"share/lintian/overrides/" + programName, 0o644, overrides}), nil
}

func (r *release) makeDeb(ctx context.Context) error {
	return r.makeNative(ctx, "deb", debLayout(), func(arch string) string {
		return fmt.Sprintf("%s_%s-1_%s.deb", programName, r.version, arch)
	})
}

func (r *release) makeRPM(ctx context.Context) error {
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64"} // RPM names processors its own way
	return r.makeNative(ctx, "rpm", rpmLayout(), func(arch string) string {
		return fmt.Sprintf("%s-%s-1.%s.rpm", programName, r.version, machines[arch])
	})
}

// makeNative lays the files of a package out as they are to be installed and has nfpm pack them.
func (r *release) makeNative(ctx context.Context, kind string, l layout, name func(arch string) string) error {
	for _, arch := range r.arches {
		files, err := r.linuxFiles(ctx, arch, l)
		if err != nil {
			return err
		}
		stage := filepath.Join(r.work, kind+"-"+arch)
		if err := lay(stage, files, r.when); err != nil {
			return fmt.Errorf("laying out the files: %w", err)
		}
		out := filepath.Join(r.dist, name(arch))
		env := []string{
			"VERSION=" + r.version, "ARCH=" + arch, "STAGE=" + stage,
			fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.when.Unix()),
		}
		if err := goRun(ctx, r.root, env, nfpm, "package", "-f", "build/nfpm.yaml", "-p", kind, "-t", out); err != nil {
			return err
		}
		if err := r.made(out); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) makeTar(ctx context.Context) error {
	install, err := r.fill("build/linux/INSTALL", nil)
	if err != nil {
		return err
	}
	for _, arch := range r.arches {
		files, err := r.linuxFiles(ctx, arch, tarLayout())
		if err != nil {
			return err
		}
		files = append(files, file{docFolder + "INSTALL", 0o644, install})
		top := fmt.Sprintf("%s-%s-linux-%s", programName, r.version, arch)
		data, err := tarGz(top, files, r.when)
		if err != nil {
			return err
		}
		if err := r.put(top+".tar.gz", data); err != nil {
			return err
		}
	}
	return nil
}
