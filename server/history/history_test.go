package history_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/timetest"
)

// gateway.md 20: totals survive a restart, today, 7 days, per model.
func TestTotalsSurviveARestart(t *testing.T) {
	path := newPath(t)
	first := keep(t, path)
	first.Add(call("llama", time.Minute))
	failed := call("llama", time.Hour)
	failed.Status, failed.Verdict = 502, protocol.VerdictUpstreamError
	first.Add(failed)
	first.Add(call("qwen", 13*time.Hour)) // yesterday, in the zone of the clock
	first.Add(call("", 6*24*time.Hour))
	first.Add(call("old", 7*24*time.Hour))
	before := first.awaitCalls(4)
	first.stop()

	today := protocol.Totals{Calls: 2, Errors: 1, PromptTokens: 20, CompletionTokens: 40, Models: []protocol.ModelTotals{
		{Model: "llama", Calls: 2, Errors: 1, PromptTokens: 20, CompletionTokens: 40},
	}}
	week := protocol.Totals{Calls: 4, Errors: 1, PromptTokens: 40, CompletionTokens: 80, Models: []protocol.ModelTotals{
		{Model: "llama", Calls: 2, Errors: 1, PromptTokens: 20, CompletionTokens: 40},
		{Model: "", Calls: 1, PromptTokens: 10, CompletionTokens: 20},
		{Model: "qwen", Calls: 1, PromptTokens: 10, CompletionTokens: 20},
	}}
	after := keep(t, path).awaitCalls(4)
	for name, state := range map[string]history.State{"before": before, "after": after} {
		if !reflect.DeepEqual(*state.Today, today) {
			t.Errorf("today, %s: got %+v, want %+v", name, *state.Today, today)
		}
		if !reflect.DeepEqual(*state.Week, week) {
			t.Errorf("the week, %s: got %+v, want %+v", name, *state.Week, week)
		}
	}
}

// A new field of protocol.Call wants a column: a migration, and its places in insert and scan.
func TestACallComesBackWithEveryField(t *testing.T) {
	var full protocol.Call
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprintf("text %d 'ü\n\x00", i))
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(1000 + i))
		case reflect.Float64:
			f.SetFloat(38.25)
		case reflect.Bool:
			f.SetBool(true)
		}
	}
	zero := int64(0)
	full.FirstTokenMs = &zero // known, and not to be taken for unknown
	full.Timestamp = now.Add(-time.Nanosecond).UTC()
	least := protocol.Call{Timestamp: now.UTC()}
	k := keep(t, newPath(t))
	k.Add(full)
	k.Add(least)
	if got, want := k.list(protocol.HistoryQuery{}), []protocol.Call{full, least}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test does not set %s", v.Type().Field(i).Name)
		}
	}
}

func TestCallsAreFoundByTimeAndModelInPages(t *testing.T) {
	k := keep(t, newPath(t))
	for hour := range 48 {
		model := "even"
		if hour%2 == 1 {
			model = "odd"
		}
		k.Add(call(model, time.Duration(hour)*time.Hour))
	}
	same := call("even", 3*time.Hour) // two of one moment
	same.ID = "twin"
	k.Add(same)

	for _, c := range []struct {
		name  string
		query protocol.HistoryQuery
		want  []string
	}{
		{"since a time, inclusive", protocol.HistoryQuery{Since: now.Add(-2 * time.Hour)}, []string{"even2h0m0s", "odd1h0m0s", "even0s"}},
		{"until a time, exclusive", protocol.HistoryQuery{Until: now.Add(-46 * time.Hour)}, []string{"odd47h0m0s"}},
		{"of a model", protocol.HistoryQuery{Model: "even", Since: now.Add(-4 * time.Hour)}, []string{"even4h0m0s", "twin", "even2h0m0s", "even0s"}},
		{"of a model that there is not", protocol.HistoryQuery{Model: "' OR 1=1 --"}, nil},
		{"of one moment, in the order they ended", protocol.HistoryQuery{Since: now.Add(-3 * time.Hour), Until: now.Add(-2 * time.Hour)}, []string{"odd3h0m0s", "twin"}},
		{"of a time before all times", protocol.HistoryQuery{Since: time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
		{"of a time after all times", protocol.HistoryQuery{Since: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
	} {
		for _, limit := range []int{0, 1, 2, 1000} {
			c.query.Limit = limit
			if got := ids(k.list(c.query)); !slices.Equal(got, c.want) {
				t.Errorf("%s, %d a page: got %q, want %q", c.name, limit, got, c.want)
			}
		}
	}
	page, err := k.Calls(t.Context(), protocol.HistoryQuery{Limit: 48})
	if err != nil || len(page.Calls) != 48 || page.Next == "" {
		t.Errorf("all but one: got %d calls, next %q, %v", len(page.Calls), page.Next, err)
	}
	page, err = k.Calls(t.Context(), protocol.HistoryQuery{Limit: 49})
	if err != nil || len(page.Calls) != 49 || page.Next != "" {
		t.Errorf("exactly all: got %d calls, next %q, %v; want no next", len(page.Calls), page.Next, err)
	}
	for _, cursor := range []string{"x", "1", "1.x", "-1.2", "1.-2", ".", strings.Repeat("9", 40) + ".1"} {
		if _, err := k.Calls(t.Context(), protocol.HistoryQuery{After: cursor}); !errors.Is(err, history.ErrCursor) {
			t.Errorf("cursor %q: got %v, want %v", cursor, err, history.ErrCursor)
		}
	}
}

func TestTotalsSinceAnyTime(t *testing.T) {
	k := keep(t, newPath(t))
	for hour := range 10 {
		k.Add(call("m", time.Duration(hour)*time.Hour))
	}
	for hours, want := range map[int]int64{0: 1, 3: 4, 100: 10} {
		got, err := k.Totals(t.Context(), now.Add(-time.Duration(hours)*time.Hour))
		if err != nil || got.Calls != want || got.PromptTokens != 10*want {
			t.Errorf("the last %d hours: got %+v, %v, want %d calls", hours, got, err, want)
		}
	}
}

// Model names come from callers: they may not fill the memory, nor the status that every surface reads.
func TestManyModelsAreCountedAndTheBusiestListed(t *testing.T) {
	path := newPath(t)
	k := keep(t, path)
	for i := range 200 {
		k.Add(call(fmt.Sprintf("model-%03d", i), time.Minute))
	}
	for range 3 {
		k.Add(call("model-150", time.Minute))
	}
	k.awaitCalls(203)
	k.stop()
	state := keep(t, path).awaitCalls(203)
	if got := len(state.Week.Models); got != 64 {
		t.Errorf("models listed: got %d, want 64", got)
	}
	if got := state.Week.Models[0]; got.Model != "model-150" || got.Calls != 4 {
		t.Errorf("the busiest: got %+v, want model-150 with 4 calls", got)
	}
}

// Opening must not slow the start; a call is written within about a second, many as one transaction.
func TestFlushTakesASecondAndAFullBufferNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := newPath(t)
		store := history.New(history.Config{Path: path, Buffer: 100})
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("before Run: got %v, want that there is no file", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- store.Run(ctx) }()
		synctest.Wait()
		written := func() int64 { return store.State().Get().Today.Calls }

		one := protocol.Call{Timestamp: time.Now()}
		store.Add(one)
		timetest.Pass(999 * time.Millisecond)
		store.Add(one)
		synctest.Wait()
		if got := written(); got != 0 {
			t.Errorf("before the second is over: got %d calls written, want none", got)
		}
		timetest.Pass(time.Millisecond)
		if got := written(); got != 2 {
			t.Errorf("after a second: got %d calls written, want 2", got)
		}

		begun := time.Now()
		for range 50 {
			store.Add(one)
		}
		synctest.Wait()
		if got := written(); got != 52 || time.Since(begun) != 0 {
			t.Errorf("with the buffer half full: got %d calls written after %v, want 52 at once", got, time.Since(begun))
		}

		store.Add(one) // what waits at the end is written then
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := store.State().Get().Today.Calls; got != 53 {
			t.Errorf("at the end: got %d calls written, want 53", got)
		}
		if store.Dropped() != 0 {
			t.Errorf("dropped: got %d, want none", store.Dropped())
		}
	})
}

func TestTodayEndsAtMidnightAndOldCallsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := newPath(t)
		begin := time.Now() // midnight of the bubble's clock, in UTC
		clock := func() time.Time { return time.Now().In(time.UTC) }
		store := history.New(history.Config{Path: path, Retention: 3 * 24 * time.Hour, Now: clock})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- store.Run(ctx) }()
		for day := range 5 {
			store.Add(protocol.Call{Timestamp: clock(), ID: fmt.Sprint(day)})
			timetest.Pass(time.Hour)
			state := store.State().Get()
			// Those of three days are kept, and whoever is on the edge until that day's midnight has passed.
			if want := int64(min(day+1, 4)); state.Today.Calls != 1 || state.Week.Calls != want {
				t.Errorf("day %d: got %d calls today and %d in the week, want 1 and %d", day, state.Today.Calls, state.Week.Calls, want)
			}
			timetest.Pass(time.Until(begin.AddDate(0, 0, day+1)))
			if got := store.State().Get().Today.Calls; got != 0 {
				t.Errorf("midnight after day %d: got %d calls today, want none", day, got)
			}
		}
		cancel()
		<-ended
	})
}

func TestTooOldCallsAreGoneWhenTheFileIsOpened(t *testing.T) {
	path := newPath(t)
	first := keep(t, path, func(c *history.Config) { c.Retention = 365 * 24 * time.Hour; c.Buffer = 20_000 })
	for i := range 5_500 { // more than one step deletes
		first.Add(call("old", 91*24*time.Hour+time.Duration(i)))
	}
	first.Add(call("young", 89*24*time.Hour))
	first.stop()
	k := keep(t, path) // 90 days
	k.await("the figures", func(s history.State) bool { return s.Week != nil })
	if got := k.list(protocol.HistoryQuery{}); len(got) != 1 || got[0].Model != "young" {
		t.Errorf("got %d calls, want the young one", len(got))
	}
}

// Where the clocks are changed a day has 25 hours, and is one day all the same.
func TestWeekIsSevenDaysOfTheCalendar(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		servertest.Missing(t, "no time zones: apt-get install -y --no-install-recommends tzdata")
	}
	noon := time.Date(2026, 10, 28, 12, 0, 0, 0, zone) // three days after the hour was repeated
	k := keep(t, newPath(t), func(c *history.Config) { c.Now = func() time.Time { return noon } })
	first := time.Date(2026, 10, 22, 0, 0, 0, 0, zone)
	k.Add(protocol.Call{Timestamp: first.Add(-time.Nanosecond).UTC()})
	k.Add(protocol.Call{Timestamp: first.UTC()})
	k.awaitCalls(1)
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	path := newPath(t)
	k := keep(t, path)
	k.Add(call("m", 0))
	k.awaitCalls(1)
	for file, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %04o, want %04o", filepath.Base(file), got, want)
		}
	}
	k.stop()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	keep(t, path).awaitCalls(1)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others can read: got %v, %v, want it closed to them", info.Mode(), err)
	}
}

// Names that a URI could take apart, or that the file system has from elsewhere.
func TestAnyNameOfAFolderWill(t *testing.T) {
	for _, folder := range []string{"with space", "per%20cent", "question?mark", "hash#mark", "ünï", "plus+and&", "a'quote"} {
		t.Run(folder, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), folder, "history.db")
			k := keep(t, path)
			k.Add(call("m", 0))
			k.awaitCalls(1)
			k.stop()
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			r := open(t, path)
			if got := list(t, r.Calls, protocol.HistoryQuery{}); len(got) != 1 {
				t.Errorf("got %d calls, want 1", len(got))
			}
		})
	}
}

func TestAskingWhenNobodyRuns(t *testing.T) {
	store := history.New(history.Config{Path: newPath(t)})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := store.Calls(ctx, protocol.HistoryQuery{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before Run: got %v, want the caller's own deadline", err)
	}
	k := keep(t, newPath(t))
	k.stop()
	if _, err := k.Calls(t.Context(), protocol.HistoryQuery{}); err == nil {
		t.Error("after Run: got no error")
	}
	if _, err := k.Totals(t.Context(), now); err == nil {
		t.Error("after Run: got no error")
	}
}

// A command that runs while no daemon does.
func open(t *testing.T, path string) *history.Reader {
	t.Helper()
	r, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestReaderReadsWhatADaemonLeft(t *testing.T) {
	path := newPath(t)
	if _, err := history.Open(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want %v", err, fs.ErrNotExist)
	}
	k := keep(t, path)
	k.Add(call("a", time.Hour))
	k.Add(call("b", time.Minute))
	k.awaitCalls(2)
	if _, err := history.Open(t.Context(), path); err == nil {
		t.Error("a file that a daemon has open: got no error, want one that says so")
	}
	k.stop()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if got, want := ids(list(t, r.Calls, protocol.HistoryQuery{Model: "b"})), []string{"b1m0s"}; !slices.Equal(got, want) {
		t.Errorf("calls: got %q, want %q", got, want)
	}
	if got, err := r.Totals(t.Context(), now.Add(-24*time.Hour)); err != nil || got.Calls != 2 {
		t.Errorf("totals: got %+v, %v, want 2 calls", got, err)
	}
	if _, err := r.Calls(t.Context(), protocol.HistoryQuery{After: "x"}); !errors.Is(err, history.ErrCursor) {
		t.Errorf("a bad cursor: got %v, want %v", err, history.ErrCursor)
	}
	_ = r.Close()
	if after, err := os.ReadFile(path); err != nil || !slices.Equal(before, after) {
		t.Errorf("reading changed the file (%v)", err)
	}
}
