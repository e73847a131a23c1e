package meter_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server/proxy/internal/meter"
)

const benchEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"bench",` +
	`"choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

// BenchmarkMeterEvent is what reading one event of a stream costs.
func BenchmarkMeterEvent(b *testing.B) {
	m := meter.NewReader().Answer(meter.EventStream, "")
	event := []byte(benchEvent)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		m.Write(event)
	}
	m.Close()
}

// BenchmarkMeterJSON is what reading a long answer costs.
func BenchmarkMeterJSON(b *testing.B) {
	answer := []byte(`{"choices":[{"message":{"content":"` + strings.Repeat("word ", 20_000) + `"}}],"usage":{"prompt_tokens":1}}`)
	reader := meter.NewReader()
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		m := reader.Answer(meter.JSON, "")
		m.Write(answer)
		m.Close()
	}
}
