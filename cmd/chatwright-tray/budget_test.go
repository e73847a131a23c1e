package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/servertest/timetest"
)

// These benchmarks measure the budgets that the README lists, each on the program as it is shipped:
//
//	go test ./cmd/chatwright-tray -run '^$' -bench . -benchtime 10x

// idleTime is how long an idle companion is watched.
const idleTime = 10 * time.Second

// BenchmarkHealth measures from exec to the first answer of /health.
func BenchmarkHealth(b *testing.B) {
	var times []time.Duration
	for b.Loop() {
		addr := freeAddr(b)
		u := newUser(b, "CHATWRIGHT_SERVER_ADDR="+addr)
		cmd := u.command("--headless")
		begun := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		for again := time.Tick(time.Millisecond); health(addr) != nil; <-again { // closer than Until looks: it is measured
			if time.Since(begun) > patience {
				b.Fatal("it does not answer")
			}
		}
		times = append(times, time.Since(begun))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	report(b, times, "ms-to-health")
}

// BenchmarkIcon measures from exec to the registration of the icon.
func BenchmarkIcon(b *testing.B) {
	var times []time.Duration
	for b.Loop() {
		d := newDesk(b)
		cmd := newUser(b, busEnv(d.bus.Address)).command()
		begun := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		d.watcher.Registered(b, patience)
		times = append(times, time.Since(begun))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	report(b, times, "ms-to-icon")
}

// BenchmarkIdle measures memory, processor time and D-Bus signals of a tray that does nothing, after it has relayed
// some calls.
func BenchmarkIdle(b *testing.B) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		b.Skip("this system does not tell of processes under /proc")
	}
	d := newDesk(b)
	c, item := d.launchOn(b)
	timetest.Pause(5*time.Second, "the start has let go of what only it needs; what the calls need is counted")
	for range 20 {
		c.chat(aCall)
	}
	item.AwaitLabel(b, patience, "20 calls*")
	awaitRecent(b, item)
	timetest.Pause(3*time.Second, "the last rows follow at leisure")
	pid := c.status.PID
	for b.Loop() {
		monitor := d.bus.Monitor(b)
		before := processorTime(b, pid)
		timetest.Pause(idleTime, "what an idle stretch costs is the subject")
		used := processorTime(b, pid) - before
		b.ReportMetric(100*used.Seconds()/idleTime.Seconds(), "%cpu-idle")
		b.ReportMetric(float64(len(monitor.Signals())), "signals")
		b.ReportMetric(residentMiB(b, pid), "MiB-RSS")
	}
}

// BenchmarkSize reports how big the program is.
func BenchmarkSize(b *testing.B) {
	for b.Loop() {
		path, err := builtProgram()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(fileSize(path))/(1<<20), "MiB")
	}
}

func report(b *testing.B, times []time.Duration, unit string) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, unit+"-p50")
	b.ReportMetric(float64(times[len(times)-1].Microseconds())/1000, unit+"-max")
}

// processorTime is what the process has used so far, in user and system mode.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name in front may hold anything
	fields := strings.Fields(rest)
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	if err := errorsOf(userErr, systemErr); err != nil {
		b.Fatal(err)
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	return time.Duration(user+system) * tick
}

// residentMiB is the process's resident memory.
func residentMiB(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
