package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A path is one way to the upstream.
type path struct {
	name string
	url  string // of chat completions
	pid  int    // of the process on the way; 0: none
}

// A stage is all processes of a run.
type stage struct {
	paths         [pathCount]path
	self, program string // what plays the roles, and the companion
	upstream      string // its address
	processes     []*exec.Cmd
	folder        string
}

// newStage builds the program, starts everything and waits until it answers.
func newStage(ctx context.Context) (*stage, error) {
	folder, err := os.MkdirTemp("", "cwb")
	if err != nil {
		return nil, err
	}
	s := &stage{folder: folder}
	if err := s.start(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *stage) start(ctx context.Context) (err error) {
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	s.program = filepath.Join(s.folder, "chatwright-tray")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", s.program, "./cmd/chatwright-tray")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program (run this from the root of the checkout): %w\n%s", err, out)
	}
	if s.upstream, err = freeAddr(); err != nil {
		return err
	}
	if s.paths[direct], err = s.launch(ctx, "direct", s.upstream, s.self, roleUpstream, s.upstream); err != nil {
		return err
	}
	s.paths[direct].pid = 0
	for _, i := range []int{bare, twin, ours} {
		if s.paths[i], err = s.fresh(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// fresh starts a new process of the kind that is on path i.
func (s *stage) fresh(ctx context.Context, i int) (path, error) {
	addr, err := freeAddr()
	if err != nil {
		return path{}, err
	}
	if i == ours {
		return s.launch(ctx, "ours", addr, s.program, "--headless", "--addr", addr, "--upstream", "http://"+s.upstream+"/v1")
	}
	return s.launch(ctx, "bare", addr, s.self, roleBare, addr, "http://"+s.upstream)
}

// launch starts a process and waits until something listens on addr.
func (s *stage) launch(ctx context.Context, name, addr string, argv ...string) (path, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Environ(), "CHATWRIGHT_HOME="+filepath.Join(s.folder, "home"+strconv.Itoa(len(s.processes))))
	if err := cmd.Start(); err != nil {
		return path{}, err
	}
	s.processes = append(s.processes, cmd)
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return path{name: name, url: "http://" + addr + "/v1/chat/completions", pid: cmd.Process.Pid}, nil
		}
		if time.Now().After(deadline) {
			return path{}, fmt.Errorf("%s does not listen: %w", name, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (s *stage) end() {
	for _, p := range s.processes {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
	_ = os.RemoveAll(s.folder)
}

func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String(), nil
}

// newClient keeps enough idle connections that none is opened while something is measured.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
}

// processor is the time that a process has used, in user and system mode, by Linux's own account of its threads; 0 for
// no process and on other systems. Threads that have ended are not in it, but Go keeps its own.
func processor(pid int) time.Duration {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	var sum int64
	for _, thread := range threads {
		text, _ := os.ReadFile(thread)
		ran, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(ran, 10, 64)
		sum += ns
	}
	return time.Duration(sum)
}

// resident is the resident memory of a process in MiB, or its peak.
func resident(pid int, field string) float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib / 1024
		}
	}
	return 0
}
