package studio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server/studio"
)

// The steps of an update, as Config.OnStep hears of them.
var steps = []string{
	"download noted", "downloading", "downloaded", "checked", "unpacking", "packing", "wrote .manifest.json", "wrote .copy.json", "synced", "wrote .sha256", "made room", "in place",
}

// The two kinds of update: beside the old copy, and in its place.
var upgrades = map[string]string{"to a new version": "1.1.0", "of the same version": "1.0.0"}

// security.md 17: an update that fails at any step leaves the old copy, and nothing else.
func TestAFailureAtAnyStepLeavesTheOldCopy(t *testing.T) {
	full := errors.New("no space left on device")
	for name, version := range upgrades {
		for _, step := range steps[:len(steps)-1] { // the last comes after the switch
			t.Run(name+", "+step, func(t *testing.T) {
				t.Parallel() // an install waits for the disk
				r := newRelease(t)
				r.publish(t, "1.0.0", studioSite("old"))
				s, cfg := open(t, r.URL, nil)
				update(t, s)
				r.publish(t, version, studioSite("new"))
				cfg.OnStep(func(name string) error {
					if name == step {
						return full
					}
					return nil
				})
				failing, err := studio.Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := failing.Update(t.Context(), studio.UpdateOptions{}); !errors.Is(err, full) {
					t.Fatalf("got %v, want the failure", err)
				}
				if c := wantCurrent(t, s, studioSite("old")); !strings.HasSuffix(c.Dir, "1.0.0") {
					t.Errorf("the old copy is in %s, want it where it was", c.Dir)
				}
				wantNoLeftovers(t, cfg.CacheDir)
				update(t, s)
				wantCurrent(t, s, studioSite("new"))
			})
		}
	}
}

// companion.md, "What the original gets wrong": kill -9 while re-extracting leaves mixed files under a valid marker.
// security.md 17: "A kill at any step leaves the old version or the new one, whole. Leftover temp folders go at the next
// start."
func TestWrongInTheOriginal_KillWhileReExtractingLeavesMixedFiles(t *testing.T) {
	for name, version := range upgrades {
		for _, step := range steps {
			t.Run(name+", "+step, func(t *testing.T) {
				t.Parallel() // an install waits for the disk
				r := newRelease(t)
				r.publish(t, "1.0.0", studioSite("old"))
				s, cfg := open(t, r.URL, nil)
				update(t, s)
				r.publish(t, version, studioSite("new"))
				killAt(t, cfg, step)

				// What is served is whole even before anything was cleaned up.
				c, ok := s.Current()
				if !ok {
					t.Fatal("no copy survived")
				}
				if got := readSite(t, c.Dir); !maps.Equal(got, studioSite("old")) && !maps.Equal(got, studioSite("new")) {
					t.Errorf("neither the old nor the new copy: %v", got)
				}
				restarted, err := studio.Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				wantNoLeftovers(t, cfg.CacheDir)
				if _, ok := restarted.Current(); !ok {
					t.Error("no copy survived the restart")
				}
				update(t, restarted)
				wantCurrent(t, restarted, studioSite("new"))
			})
		}
	}
}

// A process that updates keeps others out for as long as it lives, and no longer; what it is writing is not swept away.
func TestAnUpdateInAnotherProcess(t *testing.T) {
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("one"))
	_, cfg := open(t, r.URL, nil)
	other := startChild(t, cfg, "unpacking")

	s, err := studio.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if work, _ := filepath.Glob(filepath.Join(cfg.CacheDir, ".tmp-*")); len(work) != 1 {
		t.Errorf("got %q, want the other's work left alone", work)
	}
	if c, ok := s.Current(); ok {
		t.Errorf("offered %s, which is not finished", c.Dir)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = s.Update(ctx, studio.UpdateOptions{Progress: func(p studio.Progress) {
		if p.Stage == studio.Waiting {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want to have waited until cancelled", err)
	}
	other.kill(t)
	update(t, s)
	wantCurrent(t, s, studioSite("one"))
}

// studio.md: "Two processes that update at once do not harm each other." These are processes.
func TestProcessesThatUpdateAtOnce(t *testing.T) {
	r := newRelease(t)
	s, cfg := open(t, r.URL, nil)
	for _, version := range []string{"1.0.0", "1.1.0"} {
		before := r.downloads.Load()
		r.publish(t, version, studioSite(version))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{cfg.CacheDir, cfg.BaseURL, "none"}, "\n"))
				if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ended: <nil>\n" {
					t.Errorf("got %q, %v", out, err)
				}
			})
		}
		wg.Wait()
		wantCurrent(t, s, studioSite(version))
		if got := r.downloads.Load() - before; got != 1 {
			t.Errorf("%s: got %d downloads, want 1", version, got)
		}
	}
	wantNothingBut(t, cfg.CacheDir, "1.0.0", "1.1.0")
}

const childEnv = "CHATWRIGHT_TEST_STUDIO_CHILD"

// child updates the cache that the environment names, says when it reached the step, and stays there to be killed.
func child() {
	fields := strings.Split(os.Getenv(childEnv), "\n") // cache, base URL, step; "rollback " or "prune " in front of it
	cfg := studio.Config{CacheDir: fields[0], BaseURL: fields[1]}
	step, isRollback := strings.CutPrefix(fields[2], "rollback ")
	step, isPrune := strings.CutPrefix(step, "prune ")
	stay := func() {
		fmt.Println("reached")
		_, _ = io.Copy(io.Discard, os.Stdin) // which ends with the test, should that die before it kills us
	}
	cfg.OnStep(func(name string) error {
		if name == step {
			stay()
		}
		return nil
	})
	s, err := studio.Open(cfg)
	switch {
	case err != nil:
	case step == "serve":
		k := studio.NewKeeper(s, nil)
		k.Refresh()
		stay()
	case isRollback:
		_, err = s.Rollback(context.Background())
	case isPrune:
		_, err = s.Prune(context.Background())
	default:
		_, err = s.Update(context.Background(), studio.UpdateOptions{})
	}
	fmt.Println("ended:", err)
}

type childProcess struct{ cmd *exec.Cmd }

// startChild returns once a process that updates the cache is at step.
func startChild(t *testing.T, cfg studio.Config, step string) childProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{cfg.CacheDir, cfg.BaseURL, step}, "\n"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // never written to
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := childProcess{cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "reached\n" {
		c.kill(t)
		t.Fatalf("the child said %q (%v), want it at step %q", line, err, step)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test failed before it killed it
	return c
}

// kill is kill -9.
func (c childProcess) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.cmd.Wait() // killed, as its status will say
}

func killAt(t *testing.T, cfg studio.Config, step string) {
	t.Helper()
	startChild(t, cfg, step).kill(t)
}
