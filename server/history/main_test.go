package history_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// now is a Monday, at noon, in a zone that is not that of the machine.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("UTC+5", 5*3600))

// A keeper is a store that runs, on the clock of the test.
type keeper struct {
	*history.Store
	t    testing.TB
	path string
	end  context.CancelFunc
	done chan struct{}
}

// keep runs a history of the file at path until the test ends.
func keep(t testing.TB, path string, change ...func(*history.Config)) *keeper {
	t.Helper()
	cfg := history.Config{
		Path:   path,
		Failed: func(v protocol.Verdict) bool { return v == protocol.VerdictUpstreamError },
		Now:    func() time.Time { return now },
	}
	for _, c := range change {
		c(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{Store: history.New(cfg), t: t, path: path, end: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		if err := k.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(k.stop)
	return k
}

// stop ends Run and waits for it.
func (k *keeper) stop() {
	k.end()
	<-k.done
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "chatwright", "history.db") }

// await waits for a state that is as it should be.
func (k *keeper) await(what string, ok func(history.State) bool) history.State {
	k.t.Helper()
	deadline := time.After(patience)
	for {
		state, changed := k.State().Watch()
		if ok(state) {
			return state
		}
		select {
		case <-changed:
		case <-deadline:
			k.t.Fatalf("the state does not show %s: %+v", what, state)
		}
	}
}

func (k *keeper) awaitProblem(words string) history.State {
	k.t.Helper()
	return k.await("a problem with "+words, func(s history.State) bool {
		return s.Problem != nil && strings.Contains(s.Problem.Error(), words)
	})
}

func (k *keeper) awaitCalls(n int64) history.State {
	k.t.Helper()
	return k.await(fmt.Sprint(n, " calls this week"), func(s history.State) bool {
		return s.Problem == nil && s.Week != nil && s.Week.Calls == n
	})
}

// list returns all calls, page by page.
func (k *keeper) list(q protocol.HistoryQuery) []protocol.Call {
	k.t.Helper()
	return list(k.t, k.Calls, q)
}

func list(t testing.TB, calls func(context.Context, protocol.HistoryQuery) (protocol.HistoryPage, error), q protocol.HistoryQuery) []protocol.Call {
	t.Helper()
	var all []protocol.Call
	for {
		page, err := calls(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Calls...)
		if q.After = page.Next; q.After == "" {
			return all
		}
	}
}

// call is a call of that model that arrived that long before now.
func call(model string, ago time.Duration) protocol.Call {
	return protocol.Call{
		Timestamp: now.Add(-ago).UTC(), Model: model, LatencyMs: 120, PromptTokens: 10, CompletionTokens: 20, UsageKnown: true,
		Status: 200, Verdict: protocol.VerdictComplete, ID: model + ago.String(), Upstream: "localhost:11434",
	}
}

func ids(calls []protocol.Call) []string {
	var all []string
	for _, c := range calls {
		all = append(all, c.ID)
	}
	return all
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
