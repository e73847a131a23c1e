//go:build linux

package desktop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/app/tray/desktop"
)

// childVariable makes the test binary be a program with a tray: the toolkit allows one tray in the life of a process,
// so each test has one of its own.
const childVariable = "CHATWRIGHT_DESKTOP_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		runChild(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

// order is a line on the child's standard input; its end is the end of the program.
type order struct {
	Show  *tray.State
	Flood time.Duration // show states that differ in everything, without pause, for that long
	CPU   bool          // say how much processor time was used so far
}

// runChild is the program. What it hears and says goes to out, a line each.
func runChild(in io.Reader, out io.Writer) {
	var mu sync.Mutex
	say := func(format string, a ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format+"\n", a...)
	}
	ctx, cancel := context.WithCancel(context.Background())
	driver := desktop.New(desktop.Config{Unavailable: func(text, way string) { say("unavailable %s | %s", text, way) }})
	var work sync.WaitGroup
	work.Go(func() {
		defer cancel()
		for decoder := json.NewDecoder(in); ; {
			var o order
			if decoder.Decode(&o) != nil {
				return
			}
			if o.Show != nil {
				driver.Show(tray.Render(*o.Show))
			}
			if o.CPU {
				say("cpu %d", cpuTime())
			}
			if o.Flood > 0 {
				work.Go(func() { flood(ctx, driver, o.Flood); say("flooded") })
			}
		}
	})
	work.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case action := <-driver.Clicks():
				say("click %s", action)
			}
		}
	})
	err := driver.Run(ctx)
	work.Wait()
	say("ended %v", err)
	if err := goleak.Find(); err != nil {
		say("leaked %v", strings.ReplaceAll(err.Error(), "\n", " "))
	}
}

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return -1
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func flood(ctx context.Context, driver *desktop.Driver, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for n := int64(1); ctx.Err() == nil; n++ {
		driver.Show(tray.Render(busyState(n)))
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// busyState differs from the one before it in the icon, the tooltip and every row that can change.
func busyState(n int64) tray.State {
	p50 := 1000 + 100*n
	s := tray.State{
		Phase: tray.Running, Addr: "127.0.0.1:4319", UpstreamName: fmt.Sprintf("upstream %d", n), UpstreamReach: tray.ReachOK,
		Metrics: tray.Metrics{Calls: n, InFlight: n % 2, P50Ms: &p50}, Zone: time.UTC,
	}
	for i := range int64(8) {
		s.Recent = append(s.Recent, tray.Call{Time: time.Unix(n-i, 0), Model: "llama3.2", Status: 200, LatencyMs: n})
	}
	return s
}

// child is a running program with a tray.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	heard []string // lines that nobody has waited for yet
}

// startChild starts the program; the environment decides which bus it finds.
func startChild(t testing.TB, env []string) *child {
	t.Helper()
	if raceDetector {
		t.Skip("the toolkit has a data race of its own: not under the race detector")
	}
	c := &child{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 1024)}
	c.cmd.Env = append(env, childVariable+"=1")
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	c.cmd.Stderr = &stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // most have ended by themselves
		<-read
		_ = c.cmd.Wait()
		if t.Failed() {
			t.Logf("the program's standard error:\n%s", stderr.String())
		}
	})
	return c
}

func (c *child) send(o order) {
	c.t.Helper()
	if err := json.NewEncoder(c.in).Encode(o); err != nil {
		c.t.Fatalf("the program is gone: %v", err)
	}
}

func (c *child) show(s tray.State) {
	c.t.Helper()
	c.send(order{Show: &s})
}

// says waits for a line that begins with prefix and returns it. Other lines that come meanwhile are kept: of two things
// that happen side by side, either may be said first.
func (c *child) says(prefix string, timeout time.Duration) string {
	c.t.Helper()
	for i, line := range c.heard {
		if strings.HasPrefix(line, prefix) {
			c.heard = slices.Delete(c.heard, i, i+1)
			return line
		}
	}
	deadline := time.After(timeout)
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				c.t.Fatalf("the program ended before it said %q", prefix)
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
			c.heard = append(c.heard, line)
		case <-deadline:
			c.t.Fatalf("the program did not say %q within %v", prefix, timeout)
		}
	}
}

// ends closes the program's input, and checks that it then ends by itself, in time, with nothing left running and
// having said nothing else.
func (c *child) ends(within time.Duration) {
	c.t.Helper()
	start := time.Now()
	c.in.Close()
	c.says("ended <nil>", within)
	if took := time.Since(start); took > within {
		c.t.Errorf("ending took %v, want at most %v", took, within)
	}
	for line := range c.lines {
		c.t.Errorf("after its end the program said: %s", line)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the program did not end cleanly: %v", err)
	}
}
