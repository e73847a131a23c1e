// Command package makes what people install: packages for Linux, the program and its installer for Windows, the app for
// macOS, and the lists that let them check what they got. Run it from anywhere in a checkout:
//
//	go run ./build/package all
//
// The same checkout gives the same bytes, on any machine with the same Go: times are those of the last commit, or of
// SOURCE_DATE_EPOCH. What it needs is Go and, for the Windows installer, makensis; build/README.md says how each
// package is made. Versions of the tools that it fetches stand in tools.go, the version of the program in the program.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/server/hint"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		if way := hint.Of(err); way != "" {
			fmt.Fprintln(os.Stderr, "hint:", way)
		}
		os.Exit(1)
	}
}

// A step makes one kind of package.
type step struct {
	name, short string
	make        func(r *release, ctx context.Context) error
}

// steps are all kinds, in the order of "all": checksums come last, over what the others made.
func steps() []step {
	return []step{
		{"deb", "Debian packages", (*release).makeDeb},
		{"rpm", "RPM packages", (*release).makeRPM},
		{"tar", "Linux archives", (*release).makeTar},
		{"windows", "the Windows archive", (*release).makeWindows},
		{"installer", "the Windows installer", (*release).makeInstaller},
		{"macos", "the macOS app; on a Mac only", (*release).makeMacOS},
		{"sbom", "bills of materials (CycloneDX), one for each program", (*release).makeSBOM},
		{"channels", "the Homebrew cask and the winget manifest of this release", (*release).makeChannels},
		{"checksums", "SHA256SUMS over everything that is there", (*release).makeChecksums},
	}
}

func command() *cobra.Command {
	var opts options
	var without []string
	root := &cobra.Command{
		Use:           "package",
		Short:         "Make the packages of Chatwright Tray",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVarP(&opts.dist, "output", "o", "", "folder for the packages (default: dist in the checkout)")
	root.PersistentFlags().StringSliceVar(&opts.arches, "arch", []string{"amd64", "arm64"}, "processors of the Linux packages")
	run := func(chosen func() []step) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			r, err := newRelease(cmd.Context(), opts, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, s := range chosen() {
				if err := s.make(r, cmd.Context()); err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
			}
			return nil
		}
	}
	for _, s := range steps() {
		root.AddCommand(&cobra.Command{Use: s.name, Short: "Make " + s.short, Args: cobra.NoArgs, RunE: run(func() []step { return []step{s} })})
	}
	all := &cobra.Command{
		Use: "all", Short: "Make everything that this machine can make", Args: cobra.NoArgs,
		RunE: run(func() []step { return everything(without) }),
	}
	all.Flags().StringSliceVar(&without, "without", nil, "kinds to leave out")
	root.AddCommand(all)
	return root
}

// everything is each step that this machine can do, but for those that are left out.
func everything(without []string) []step {
	var able []step
	for _, s := range steps() {
		if (s.name != "macos" || canBuildMacOS()) && !slices.Contains(without, s.name) {
			able = append(able, s)
		}
	}
	return able
}
