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
	direct, bare, twin, ours path
	processes                []*exec.Cmd
	folder                   string
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

func (s *stage) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := filepath.Join(s.folder, "chatwright-tray")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/chatwright-tray")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program (run this from the root of the checkout): %w\n%s", err, out)
	}
	up, err := freeAddr()
	if err != nil {
		return err
	}
	if s.direct, err = s.launch(ctx, "direct", up, self, roleUpstream, up); err != nil {
		return err
	}
	s.direct.pid = 0
	for _, p := range []*path{&s.bare, &s.twin} {
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		if *p, err = s.launch(ctx, roleBare, addr, self, roleBare, addr, "http://"+up); err != nil {
			return err
		}
	}
	s.twin.name = "bare again"
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	s.ours, err = s.launch(ctx, "ours", addr, program, "--headless", "--addr", addr, "--upstream", "http://"+up+"/v1")
	return err
}

// launch starts a process and waits until something listens on addr.
func (s *stage) launch(ctx context.Context, name, addr string, argv ...string) (path, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Environ(), "CHATWRIGHT_HOME="+filepath.Join(s.folder, "home"))
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

// processor is the time that a process has used, in user and system mode, by Linux's own account: in steps of 10 ms.
func processor(pid int) time.Duration {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name in front may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
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
