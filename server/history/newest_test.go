package history_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
)

// newest returns all calls that a query finds, page by page.
func (k *keeper) newest(q protocol.CallsQuery) (all []protocol.Call, pages int) {
	k.t.Helper()
	for {
		page, err := k.Newest(k.t.Context(), q)
		if err != nil {
			k.t.Fatal(err)
		}
		pages++
		all = append(all, page.Calls...)
		if q.Before = page.Next; q.Before == "" {
			return all, pages
		}
	}
}

func TestNewestCallsComeFirstPageByPage(t *testing.T) {
	k := keep(t, newPath(t))
	var want []string
	for i := range 250 { // pairs of calls that arrived in the same moment
		c := call("m", time.Duration(i/2)*time.Second)
		c.ID = fmt.Sprint(i)
		k.Add(c)
	}
	for i := 0; i < 250; i += 2 { // of two in one moment the one that ended later comes first
		want = append(want, fmt.Sprint(i+1), fmt.Sprint(i))
	}
	for limit, pages := range map[int]int{1: 250, 7: 36, 250: 1, 0: 2, 5000: 1} {
		got, n := k.newest(protocol.CallsQuery{Limit: limit})
		if !slices.Equal(ids(got), want) || n != pages {
			t.Errorf("limit %d: got %d calls in %d pages, want 250 in order in %d", limit, len(got), n, pages)
		}
	}
	for _, bad := range []string{"x", "1", "-1.2", "1.x"} {
		if _, err := k.Newest(t.Context(), protocol.CallsQuery{Before: bad}); !errors.Is(err, history.ErrCursor) {
			t.Errorf("cursor %q: got %v", bad, err)
		}
	}
}

// A call that ends while somebody turns pages shifts none of them.
func TestNewestPagesStandStillWhileCallsCome(t *testing.T) {
	k := keep(t, newPath(t))
	for i := range 4 {
		k.Add(call("m", time.Duration(i+1)*time.Minute))
	}
	first, err := k.Newest(t.Context(), protocol.CallsQuery{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	k.Add(call("m", 0))
	second, err := k.Newest(t.Context(), protocol.CallsQuery{Limit: 2, Before: first.Next})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ids(append(first.Calls, second.Calls...)), " "); got != "m1m0s m2m0s m3m0s m4m0s" || second.Next != "" {
		t.Errorf("got %q, next %q", got, second.Next)
	}
}

func TestNewestCallsAreNarrowedDown(t *testing.T) {
	k := keep(t, newPath(t))
	add := func(id string, change func(*protocol.Call)) {
		c := call("llama", time.Duration(len(id))*time.Second)
		c.ID = id
		change(&c)
		k.Add(c)
	}
	add("a", func(*protocol.Call) {})
	add("bb", func(c *protocol.Call) {
		c.Model, c.Verdict, c.Error = "qwen", protocol.VerdictUpstreamError, "100% Full"
	})
	add("ccc", func(c *protocol.Call) { c.Model, c.RequestModel = "qwen-7b", "llama" })
	add("dddd", func(c *protocol.Call) { c.Verdict, c.FinishReason = protocol.VerdictCancelled, "tool_calls" })
	for _, c := range []struct {
		q    protocol.CallsQuery
		want string
	}{
		{protocol.CallsQuery{}, "a bb ccc dddd"},
		{protocol.CallsQuery{Model: "llama"}, "a ccc dddd"},
		{protocol.CallsQuery{Model: "qwen"}, "bb"},
		{protocol.CallsQuery{Status: protocol.CallsError}, "bb"},
		{protocol.CallsQuery{Status: protocol.CallsOK}, "a ccc dddd"},
		{protocol.CallsQuery{Verdict: protocol.VerdictCancelled}, "dddd"},
		{protocol.CallsQuery{Text: "QWEN"}, "bb ccc"},
		{protocol.CallsQuery{Text: "0% f"}, "bb"},
		{protocol.CallsQuery{Text: "l_c"}, "dddd"}, // and not "llama" and such: _ is no joker
		{protocol.CallsQuery{Text: "a%a"}, ""},
		{protocol.CallsQuery{Text: "cc"}, "ccc"},
		{protocol.CallsQuery{Model: "llama", Status: protocol.CallsOK, Text: "qwen"}, "ccc"},
		{protocol.CallsQuery{Model: "' OR 1=1 --"}, ""},
	} {
		if got, _ := k.newest(c.q); strings.Join(ids(got), " ") != c.want {
			t.Errorf("%+v: got %q, want %q", c.q, ids(got), c.want)
		}
	}
}

// However the calls are narrowed down, they come in the order of the index by time: nothing is sorted.
func TestNewestSortsNothing(t *testing.T) {
	k := keep(t, newPath(t))
	k.Add(call("m", 0))
	k.newest(protocol.CallsQuery{})
	for _, q := range []protocol.CallsQuery{
		{}, {Model: "m"}, {Before: "9.9"}, {Model: "m", Before: "9.9", Status: protocol.CallsOK, Verdict: "complete", Text: "x"},
	} {
		plan, err := history.PlanOfNewest(t.Context(), k.Store, q)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, "calls_by_time") || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "MULTI-INDEX") {
			t.Errorf("%+v: %s", q, plan)
		}
	}
}

// BenchmarkNewest100k is what the console pays for a hundred thousand calls in pages of a thousand, and for a text that
// none of them holds.
func BenchmarkNewest100k(b *testing.B) {
	k := hundredThousand(b)
	for name, q := range map[string]protocol.CallsQuery{
		"all": {Limit: 1000}, "model": {Limit: 1000, Model: "model-3"}, "text that is not there": {Limit: 1000, Text: "nowhere"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k.newest(q)
			}
		})
	}
}
