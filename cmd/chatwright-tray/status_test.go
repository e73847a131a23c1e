package main

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

// Upstreams, and programs that hold our port, choose what their names are: none of it may steer a terminal.
func TestStatusObeysNoForeignText(t *testing.T) {
	const evil = "a\x1b[2Jb\nc\u202ed\u009be"
	got := statusTable(protocol.Status{
		Phase: protocol.PhaseBlocked, Detail: evil, Upstream: protocol.Upstream{Name: evil},
		Notices: []protocol.Notice{{Text: evil, Hint: evil}},
	})
	if n := strings.Count(got, "a·[2Jb·c·d·e"); n != 4 {
		t.Errorf("got %q, want each foreign text on its line and harmless", got)
	}
}

// A slow model is not one that writes nothing.
func TestStatusKeepsTheDecimalOfSlowModels(t *testing.T) {
	got := tokensText(protocol.Metrics{PromptTokens: 12, CompletionTokens: 7, TokensPerSecond: 0.4})
	if want := "12 in · 7 out · 0.4 tok/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
