package dbustest

import (
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"chatwright.dev/tray/server/servertest/timetest"
)

// Signal is one signal that crossed the bus.
type Signal struct {
	At     time.Time
	Sender string
	Name   string // interface and member
	Body   []any
}

// LayoutUpdated is the Name of the signal that makes a panel read the menu again.
const LayoutUpdated = menuInterface + ".LayoutUpdated"

// Monitor sees every signal that programs send about icons and menus.
type Monitor struct {
	mu      sync.Mutex
	signals []Signal
	begun   time.Time
}

// Monitor begins to watch the bus, from the moment it returns on.
func (b *Bus) Monitor(t testing.TB) *Monitor {
	t.Helper()
	conn := b.connect(t)
	// All signals of the object: the item's own, those of its menu and of its properties.
	rules := []string{"type='signal',path_namespace='/StatusNotifierItem'"}
	if err := conn.BusObject().Call("org.freedesktop.DBus.Monitoring.BecomeMonitor", 0, rules, uint32(0)).Err; err != nil {
		t.Fatalf("becoming a monitor: %v", err)
	}
	messages := make(chan *dbus.Message, 4096)
	conn.Eavesdrop(messages)
	m := &Monitor{begun: time.Now()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for message := range messages {
			m.add(message)
		}
	}()
	t.Cleanup(func() {
		conn.Eavesdrop(nil) // Close would race with it
		conn.Close()
		close(messages)
		<-done
	})
	return m
}

func (m *Monitor) add(message *dbus.Message) {
	text := func(field dbus.HeaderField) string {
		s, _ := message.Headers[field].Value().(string)
		return s
	}
	if text(dbus.FieldSender) == "org.freedesktop.DBus" {
		return // the bus itself, which takes the monitor's name away
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signals = append(m.signals, Signal{
		At: time.Now(), Sender: text(dbus.FieldSender),
		Name: text(dbus.FieldInterface) + "." + text(dbus.FieldMember), Body: message.Body,
	})
}

// Signals returns what was seen so far, oldest first.
func (m *Monitor) Signals() []Signal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Signal(nil), m.signals...)
}

// First waits for the first signal since the monitor began or was reset. What a program has changed can be read from it
// before the signal has reached the monitor.
func (m *Monitor) First(t testing.TB, timeout time.Duration) Signal {
	t.Helper()
	signals, came := timetest.Within(timeout, func() ([]Signal, bool) { seen := m.Signals(); return seen, len(seen) > 0 })
	if !came {
		t.Fatalf("no signal came within %v", timeout)
	}
	return signals[0]
}

// Quiet waits until no signal has come for a while.
func (m *Monitor) Quiet(t testing.TB, while, timeout time.Duration) {
	t.Helper()
	began := time.Now()
	if _, quiet := timetest.Within(timeout, func() (time.Time, bool) {
		last := began
		if signals := m.Signals(); len(signals) > 0 && signals[len(signals)-1].At.After(began) {
			last = signals[len(signals)-1].At
		}
		return last, time.Since(last) >= while
	}); !quiet {
		t.Fatalf("signals did not pause for %v within %v", while, timeout)
	}
}

// Reset forgets what was seen.
func (m *Monitor) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signals, m.begun = nil, time.Now()
}

// Excess returns by how many signals of that name the program went over a rate: at each moment, those that came since
// the monitor began (or was reset) are held against what the rate allows for that time and one second more. It is 0 or
// less for a program that keeps to the rate in every second, however late a busy machine delivers; what falls into one
// second at the receiver's end would count that delay against the program.
func (m *Monitor) Excess(name string, perSecond float64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	excess, n := 0, 0
	for _, s := range m.signals {
		if s.Name != name {
			continue
		}
		n++
		allowed := int(perSecond * (s.At.Sub(m.begun).Seconds() + 1))
		excess = max(excess, n-allowed)
	}
	return excess
}
