package protocol_test

import "chatwright.dev/tray/server/protocol"

// consoleSamples are the types that the console is answered with, beside those that it shares with others.
func consoleSamples(call protocol.Call, upstream protocol.Upstream) map[string]any {
	model := protocol.Model{ID: "llama3.2:latest", State: protocol.ModelLoaded, SizeBytes: 3500, GPUBytes: ptr(int64(3500))}
	found := protocol.FoundServer{Kind: "ollama", Name: "Ollama", BaseURL: "http://localhost:11434/v1", Version: "0.12.3", Reach: protocol.ReachOK}
	named := protocol.NamedUpstream{Name: "work", BaseURL: "https://llm.example/v1", HasKey: true, Model: "big", Active: true}
	check := protocol.Check{ID: "port", Name: "Address", State: protocol.CheckFailed, Detail: "it is held", Fix: "end that program"}
	value := protocol.SettingValue{Key: "addr", Flag: "--addr", Env: "CHATWRIGHT_SERVER_ADDR", Value: "127.0.0.1:4319", Source: "default",
		Help: "where the daemon listens"}
	return map[string]any{
		"CallsQuery": protocol.CallsQuery{Before: "1796053433764717246.42", Limit: 100, Model: "llama3.2", Status: protocol.CallsError,
			Verdict: protocol.VerdictTruncated, Text: "refused"},
		"CallsQuery.least":           protocol.CallsQuery{},
		"RecordedCalls":              protocol.RecordedCalls{Calls: []protocol.Call{call}, Next: "1796053433764717246.42"},
		"RecordedCalls.least":        protocol.RecordedCalls{Calls: []protocol.Call{}},
		"OfferedModels":              protocol.OfferedModels{Upstream: upstream, Models: []protocol.Model{model}},
		"OfferedModels.least":        protocol.OfferedModels{Models: []protocol.Model{}},
		"NamedUpstream":              named,
		"Upstreams":                  protocol.Upstreams{Found: []protocol.FoundServer{found}, Named: []protocol.NamedUpstream{named}, Active: "work", Why: "chosen"},
		"Upstreams.least":            protocol.Upstreams{Found: []protocol.FoundServer{}, Named: []protocol.NamedUpstream{}},
		"Checks":                     protocol.Checks{Checks: []protocol.Check{check}},
		"SettingValue":               value,
		"SettingValues":              protocol.SettingValues{Settings: []protocol.SettingValue{value}},
		"ConsoleActionRequest":       protocol.ConsoleActionRequest{Upstream: "demo", Mode: protocol.CaptureMemory, Forget: true},
		"ConsoleActionRequest.least": protocol.ConsoleActionRequest{},
		"Refusal":                    protocol.Refusal{Error: "there is no such upstream", Hint: "look again"},
		"Refusal.least":              protocol.Refusal{Error: "it broke"},
		"CaptureState":               protocol.CaptureState{Mode: protocol.CaptureDisk, Kept: 42, Bytes: 1 << 20, LimitBytes: 512 << 20},
		"CapturedCall":               protocol.CapturedCall{Request: "{}", Answer: "data: 1", RequestTruncated: true, AnswerTruncated: true},
		"CapturedCall.least":         protocol.CapturedCall{},
		"CaptureState.least":         protocol.CaptureState{Mode: protocol.CaptureOff},
	}
}
