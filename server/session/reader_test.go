package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

const recordID = "20261130-154353764-k7ra"

// line is an event as the record holds it.
func line(seq int, kind protocol.EventType, payload string) string {
	return fmt.Sprintf(`{"seq":%d,"session_id":"%s","type":"%s","at":"2026-11-30T15:43:53Z","payload":%s}`+"\n", seq, recordID, kind, payload)
}

// whole is a record of n events, its turns all ended.
func whole(n int) []string {
	lines := []string{line(1, "session.created", `{"workspace":"/w","sandbox_mode":"read-only"}`)}
	for seq := 2; seq <= n; seq++ {
		lines = append(lines, line(seq, "turn.completed", fmt.Sprintf(`{"turn_id":"t%d","reason":"done"}`, seq)))
	}
	return lines
}

// recordOf is a manager over one record with this content.
func recordOf(t testing.TB, content []byte) sessions {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/"+recordID+".jsonl", content, 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, session.Config{Dir: dir})
}

// A damaged line costs the events in it, which say so under their own numbers; those before and behind stay as they are.
func TestDamageCostsOnlyTheEventsInIt(t *testing.T) {
	join := func(lines ...string) string { return strings.Join(lines, "") }
	l := whole(9)
	for name, c := range map[string]struct {
		content string
		damaged []uint64
	}{
		"a line of nonsense":          {join(l[0], "nonsense\n", l[2], l[3]), []uint64{2}},
		"an empty line in place":      {join(l[0], "\n", l[2]), []uint64{2}},
		"an empty line too many":      {join(l[0], l[1], "\n", l[2]), nil},
		"three in a row":              {join(l[0], "x\n", "y\n", "z\n", l[4]), []uint64{2, 3, 4}},
		"a line cut in two":           {join(l[0], l[1][:30]+"\n"+l[1][30:], l[2]), []uint64{2}},
		"a hole that took newlines":   {join(l[0], strings.Repeat("\x00", len(l[1])+len(l[2])), l[3], l[4]), []uint64{2, 3, 4}},
		"a flipped letter":            {join(l[0], strings.Replace(l[1], `"payload"`, `"payload`, 1), l[2]), []uint64{2}},
		"a number that cannot be":     {join(l[0], strings.Replace(l[1], `"seq":2`, `"seq":9000000000`, 1), l[2]), []uint64{2}},
		"a number that was":           {join(l[0], l[1], l[1], l[2]), nil},
		"an event of another session": {join(l[0], strings.Replace(l[1], "k7ra", "k7rb", 1), l[2]), []uint64{2}},
		"the first line":              {join("x\n", l[1], l[2]), []uint64{1}},
		"a line over the cap":         {join(l[0], strings.Repeat("x", 9<<20)+"\n", l[2]), []uint64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			m := recordOf(t, []byte(c.content))
			events := m.events(t, recordID)
			wantContiguous(t, events, 1)
			var damaged []uint64
			for _, e := range events {
				if e.Type == protocol.EventSessionError && strings.Contains(payload[protocol.SessionError](t, e).Message, "damaged") {
					damaged = append(damaged, e.Seq)
				}
			}
			if fmt.Sprint(damaged) != fmt.Sprint(c.damaged) {
				t.Errorf("damaged: got %v, want %v", damaged, c.damaged)
			}
			if err := m.Rename(recordID, "still usable"); err != nil {
				t.Fatal(err)
			}
			if after := m.events(t, recordID); kinds(after) != kinds(events)+" session.renamed" {
				t.Errorf("after one more: got %s", kinds(after))
			}
		})
	}
}

// Whatever a record holds: events are numbered without a gap, are no more than there is room for, and are the same to
// whom begins to read behind any of them.
func FuzzReader(f *testing.F) {
	l := whole(6)
	f.Add([]byte(strings.Join(l, "")))
	f.Add([]byte(""))
	f.Add([]byte(l[0] + "x\n\n" + l[3] + "torn"))
	f.Add([]byte(l[0] + strings.Repeat("\x00", 300) + l[4]))
	f.Add([]byte(l[0] + l[0] + l[1]))
	f.Add([]byte(line(1, "session.renamed", `{"name":5}`) + line(2, "message.delta", `null`)))
	f.Add([]byte(l[0] + "x\n\n\n" + l[2] + "y\n" + l[5]))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4<<10 {
			return // it is read anew behind each of its events
		}
		entries, err := session.ReadRecord(content, recordID, session.Entry{})
		if !errors.Is(err, io.EOF) {
			t.Fatalf("the end: got %v", err)
		}
		if len(entries) > len(content) {
			t.Fatalf("got %d events out of %d bytes", len(entries), len(content))
		}
		for i, entry := range entries {
			if entry.Seq != uint64(i+1) {
				t.Fatalf("event %d: got %d", i+1, entry.Seq)
			}
			rest, err := session.ReadRecord(content, recordID, entry)
			if !errors.Is(err, io.EOF) || len(rest) != len(entries)-i-1 {
				t.Fatalf("behind event %d: got %d events and %v, want %d", i+1, len(rest), err, len(entries)-i-1)
			}
			for j := range rest {
				if !bytes.Equal(rest[j].JSON, entries[i+1+j].JSON) {
					t.Fatalf("behind event %d: event %d reads %s, want %s", i+1, rest[j].Seq, rest[j].JSON, entries[i+1+j].JSON)
				}
			}
		}
	})
}
