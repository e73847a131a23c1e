//go:build linux

package desktop_test

import (
	"fmt"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray/desktop/dbustest"
	"chatwright.dev/tray/server/servertest/timetest"
)

// BenchmarkExecToIcon is the time from exec until the icon is in the panel and its menu was read.
// "ms/start" counts to the registration alone; it must stay at or below 500.
func BenchmarkExecToIcon(b *testing.B) {
	bus := dbustest.StartBus(b)
	watcher := bus.StartWatcher(b)
	var registered time.Duration
	for b.Loop() {
		start := time.Now()
		c := startChild(b, bus.Env())
		c.show(running())
		registered += watcher.ItemAt(b, soon).Sub(start)
		c.ends(soon)
	}
	b.ReportMetric(float64(registered.Microseconds())/1000/float64(b.N), "ms/start")
}

// BenchmarkIdle leaves the tray alone for 10 s a round and reports what it did meanwhile: at most 0.1 % of a
// processor, and no signal. Run it with -benchtime 1x.
func BenchmarkIdle(b *testing.B) {
	const idle = 10 * time.Second
	bus := dbustest.StartBus(b)
	watcher := bus.StartWatcher(b)
	c := startChild(b, bus.Env())
	c.show(running())
	watcher.Item(b, soon)
	monitor := bus.Monitor(b)
	var used time.Duration
	for b.Loop() {
		before := askCPU(b, c)
		timetest.Pause(idle, "what an idle stretch costs is the subject")
		used += askCPU(b, c) - before
	}
	b.ReportMetric(100*used.Seconds()/(idle.Seconds()*float64(b.N)), "%cpu")
	b.ReportMetric(float64(len(monitor.Signals())), "signals")
	c.ends(soon)
}

func askCPU(b *testing.B, c *child) time.Duration {
	b.Helper()
	c.send(order{CPU: true})
	var ns int64
	if _, err := fmt.Sscanf(c.says("cpu", soon), "cpu %d", &ns); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ns)
}
