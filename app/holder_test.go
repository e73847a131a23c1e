package app

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

// A program that only pretends to be a companion holds the address: what it says must cost no more than what one of
// ours says.
func TestCallsOfAnotherCompanionAreBounded(t *testing.T) {
	t.Run("a million empty ones", func(t *testing.T) {
		text := "[" + strings.Repeat("{},", 1_300_000) + "{}]"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := decodeCalls(strings.NewReader(text)); err == nil {
			t.Error("got no error")
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 64 {
			t.Errorf("it cost %d MiB", got)
		}
	})
	t.Run("the newest are kept", func(t *testing.T) {
		var many []protocol.Call
		for i := range 5 * maxForeign / 2 {
			many = append(many, protocol.Call{LatencyMs: int64(i)})
		}
		text, err := json.Marshal(many)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := decodeCalls(strings.NewReader(string(text)))
		if err != nil || len(calls) != maxForeign || calls[maxForeign-1].LatencyMs != int64(len(many)-1) {
			t.Errorf("got %d calls (%v), want the newest %d", len(calls), err, maxForeign)
		}
	})
	t.Run("texts are clipped", func(t *testing.T) {
		long := strings.Repeat("é", 1<<20)
		text, err := json.Marshal([]protocol.Call{{Model: long, Error: long, ResponseFormat: long, FinishReason: long, Upstream: long, ID: long,
			Verdict: protocol.Verdict(long[:40])}})
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > maxAnswer {
			text = []byte(`[{"model":"` + long + `","verdict":"` + long[:40] + `"}]`)
		}
		calls, err := decodeCalls(strings.NewReader(string(text)))
		if err != nil || len(calls) != 1 {
			t.Fatalf("got %d calls (%v), want 1", len(calls), err)
		}
		if got, err := json.Marshal(calls[0]); err != nil || len(got) > 2000 {
			t.Errorf("got a record of %d bytes (%v)", len(got), err)
		}
	})
	for name, text := range map[string]string{"no list": `{"calls":[]}`, "half a list": `[{"status":200},`, "nothing": "", "a number": `[1]`} {
		t.Run(name+" is an error", func(t *testing.T) {
			if calls, err := decodeCalls(strings.NewReader(text)); err == nil {
				t.Errorf("got %d calls, want an error", len(calls))
			}
		})
	}
}
