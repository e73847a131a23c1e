package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
)

func week(n int64) func(protocol.Status) bool {
	return func(s protocol.Status) bool { return s.History != nil && s.History.Week.Calls == n }
}

// gateway.md 20: totals survive a restart, and a kill.
func TestTotalsSurviveRestartAndKill(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	first := u.launch("--headless")
	first.chat(aCall)
	first.chat(aCall)
	first.signal(syscall.SIGTERM) // at once: what waits is written at the end
	if code := first.exitCode(); code != exitOK {
		t.Fatalf("exit code: got %d", code)
	}
	second := u.launch("--headless")
	second.awaitStatus("two calls", week(2))
	second.chat(aCall)
	second.awaitStatus("a third", week(3)) // it is in the file now
	second.signal(syscall.SIGKILL)
	second.exitCode()

	if got := u.run("calls", "--since", "24h", "--json"); got.code != exitOK || len(decodeCalls(t, got.stdout)) != 3 {
		t.Errorf("calls while nothing runs: got exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	third := u.launch("--headless")
	s := third.awaitStatus("three calls", week(3))
	if today := s.History.Today; today.Calls != 3 && today.Calls != 0 || s.Metrics.Calls != 0 { // 0: midnight passed
		t.Errorf("got %+v and %d calls of this run, want 3 and none", today, s.Metrics.Calls)
	}
	table := u.run("status").stdout
	for _, want := range []string{"Today     3 calls · 0 errors · ", "7 days    3 calls · 0 errors · "} {
		if !strings.Contains(table, want) {
			t.Errorf("status: got\n%s\nwant a row %q", table, want)
		}
	}
}

func decodeCalls(t *testing.T, text string) (calls []protocol.Call) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &calls); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return calls
}

func TestCallsOfTheHistory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	if got := u.run("calls", "--since", "24h"); got.code != exitNotRunning || !strings.Contains(got.stderr, "start it") {
		t.Errorf("with no companion and no file: got exit %d, %q", got.code, got.stderr)
	}
	c := u.launch("--headless")
	c.chat(aCall)
	c.chat(strings.Replace(aCall, "chatwright-demo", "=cmd|'/C calc'!A0", 1))

	got := u.run("calls", "--since", "1h") // what was just made is found at once
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "TIME                 STATUS") || !strings.HasSuffix(lines[1], "chatwright-demo") {
		t.Errorf("table: got\n%s%s", got.stdout, got.stderr)
	}
	if _, err := time.Parse(timeAndDay, lines[1][:len(timeAndDay)]); err != nil {
		t.Errorf("a call of the history has its day: %v", err)
	}
	if calls := decodeCalls(t, u.run("calls", "--model", "chatwright-demo", "--json").stdout); len(calls) != 1 || calls[0].Model != "chatwright-demo" {
		t.Errorf("--model: got %+v", calls)
	}
	if got := u.run("calls", "--until", "2001-01-01"); got.stdout != "" || got.code != exitOK || !strings.Contains(got.stderr, "No calls until 2001-01-01 00:00:00 in the history.") {
		t.Errorf("none: got %+v", got)
	}
	if got := u.run("calls", "--until", "2001-01-01", "--json"); got.stdout != "[]\n" {
		t.Errorf("none, as JSON: got %q", got.stdout)
	}
	checkExport(t, u)
	c.signal(syscall.SIGTERM)
	c.exitCode()
	checkExport(t, u) // and while nothing runs
}

func checkExport(t *testing.T, u *user) {
	t.Helper()
	file := filepath.Join(u.home, "calls.csv")
	if got := u.run("calls", "export", "--csv", "--since", "1h", "-o", file); got.code != exitOK || got.stdout != "" || !strings.Contains(got.stderr, "Wrote 2 calls to "+file) {
		t.Fatalf("export: got %+v", got)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Count(text, "\r\n") != 3 || strings.Count(text, "\n") != 3 {
		t.Errorf("lines do not end in CRLF: %q", text)
	}
	records, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil || len(records) != 3 {
		t.Fatalf("got %d records, %v", len(records), err)
	}
	if records[1][1] != "chatwright-demo" || records[2][1] != "'=cmd|'/C calc'!A0" {
		t.Errorf("models: got %q and %q, want the second without power over a spreadsheet", records[1][1], records[2][1])
	}
	if at, err := time.Parse(time.RFC3339, records[1][0]); err != nil || at.Location() != time.UTC {
		t.Errorf("time: got %q, want RFC 3339 in UTC", records[1][0])
	}
	if got := u.run("calls", "export", "--since", "1h"); got.stdout != string(data) {
		t.Errorf("on standard output: got %q, want the same", got.stdout)
	}
	if left, _ := filepath.Glob(filepath.Join(u.home, "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestUsageOfTheHistory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, args := range [][]string{
		{"calls", "--since", "yesterday"}, {"calls", "--since", "-5m"}, {"calls", "--until", "-1d"}, {"calls", "--since", "2026-13-01"},
		{"calls", "--follow", "--model", "m"}, {"calls", "export", "--since", "x"}, {"calls", "exprt"},
	} {
		if got := u.run(args...); got.code != exitUsage || !strings.Contains(got.stderr, "hint: ") || got.stdout != "" {
			t.Errorf("%q: got %+v, want exit %d with a hint", args, got, exitUsage)
		}
	}
}

func TestMomentsAsPeopleWriteThem(t *testing.T) {
	zone := time.FixedZone("UTC+2", 2*3600)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"24h":                  now.Add(-24 * time.Hour),
		"90m":                  now.Add(-90 * time.Minute),
		"0s":                   now,
		"7d":                   time.Date(2026, 11, 23, 12, 0, 0, 0, zone),
		"2026-11-01":           time.Date(2026, 11, 1, 0, 0, 0, 0, zone),
		"2026-11-01T10:00:00Z": time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC),
	} {
		if got, ok := parseMoment(text, now); !ok || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "d", "-1h", "-1d", "1.5d", "999999999d", "11/30/2026", "2026-11-01 10:00"} {
		if got, ok := parseMoment(text, now); ok {
			t.Errorf("%q: got %v, want that it is none", text, got)
		}
	}
}

func TestForeignTextIsNoFormula(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "llama3.2": "llama3.2", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)",
		" =1": "' =1", "\t=1": "·=1", "\n@x": "·@x", "\u00a0=1": "' =1", "a\x1b[2J": "a·[2J", "a=b": "a=b", "'=1": "'=1", "é": "é",
	} {
		if got := foreign(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	zero := int64(0)
	record := strings.Join(csvRecord(protocol.Call{LatencyMs: -3, FirstTokenMs: &zero, ID: "i"}), "|")
	if want := "0001-01-01T00:00:00Z||0||-3|0||||false||||0|0|0||i|"; record != want {
		t.Errorf("numbers stay as they are, and what is unknown is empty: got %q, want %q", record, want)
	}
	if len(csvRecord(protocol.Call{})) != len(csvHeader()) {
		t.Error("there is not one column for each name")
	}
}

// An export that breaks off leaves what was there.
func TestExportThatFailsChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calls.csv")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(context.Context, protocol.HistoryQuery) (protocol.HistoryPage, error) {
		return protocol.HistoryPage{}, os.ErrDeadlineExceeded
	}
	err := writeWhole(file, func(w io.Writer) error {
		_, err := writeCSV(t.Context(), w, ask, protocol.HistoryQuery{})
		return err
	})
	if err == nil {
		t.Error("got no error")
	}
	if got, _ := os.ReadFile(file); string(got) != "mine" {
		t.Errorf("the file: got %q, want it as it was", got)
	}
	if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
