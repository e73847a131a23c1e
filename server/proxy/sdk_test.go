package proxy_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// The official OpenAI SDK talks to the demo model through the proxy as it would to its own servers.
func TestOfficialSDK(t *testing.T) {
	f := startFront(t, upstream.NewDemo(upstream.DemoConfig{Delay: -1}))
	client := openai.NewClient(option.WithBaseURL(f.url), option.WithAPIKey("sk-callers-own"), option.WithHTTPClient(f.client),
		option.WithMaxRetries(0))
	ask := func() openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{
			Model:    upstream.DemoModel,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is two and two?")},
		}
	}

	t.Run("models", func(t *testing.T) {
		page, err := client.Models.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Data) != 1 || page.Data[0].ID != upstream.DemoModel {
			t.Errorf("got %v, want the demo model alone", page.Data)
		}
	})
	t.Run("plain", func(t *testing.T) {
		answer, err := client.Chat.Completions.New(t.Context(), ask())
		if err != nil {
			t.Fatal(err)
		}
		text := answer.Choices[0].Message.Content
		if !strings.Contains(text, "demo model") || !strings.Contains(text, "two and two") {
			t.Errorf("got %q, want a text that says what it is and what was asked", text)
		}
		c := f.wantVerdict(200, protocol.VerdictComplete)
		if c.PromptTokens != answer.Usage.PromptTokens || c.CompletionTokens != answer.Usage.CompletionTokens || c.CompletionTokens == 0 {
			t.Errorf("record: got %d and %d tokens, want the %d and %d of the answer",
				c.PromptTokens, c.CompletionTokens, answer.Usage.PromptTokens, answer.Usage.CompletionTokens)
		}
		if c.Upstream != "Demo model" || c.Model != upstream.DemoModel || c.Streamed {
			t.Errorf("record: got %+v", c)
		}
	})
	t.Run("streamed", func(t *testing.T) {
		params := ask()
		params.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		defer stream.Close()
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			if !all.AddChunk(stream.Current()) {
				t.Error("a chunk does not fit the ones before it")
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if text := all.Choices[0].Message.Content; !strings.Contains(text, "two and two") || all.Choices[0].FinishReason != "stop" {
			t.Errorf("got %q, finished by %q", text, all.Choices[0].FinishReason)
		}
		c := f.wantVerdict(200, protocol.VerdictComplete)
		if c.CompletionTokens != all.Usage.CompletionTokens || c.CompletionTokens == 0 || !c.Streamed || c.FirstTokenMs == nil {
			t.Errorf("record: got %+v, want the usage of the stream", c)
		}
	})
	t.Run("streamed without asking for usage", func(t *testing.T) {
		stream := client.Chat.Completions.NewStreaming(t.Context(), ask())
		defer stream.Close()
		for stream.Next() {
		}
		if c := f.wantVerdict(200, protocol.VerdictComplete); c.CompletionTokens == 0 { // the demo says it all the same
			t.Errorf("record: got %+v, want the usage of the stream", c)
		}
	})
	t.Run("with a JSON schema", func(t *testing.T) {
		params := ask()
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "step", Strict: openai.Bool(true),
				Schema: map[string]any{
					"type": "object", "additionalProperties": false, "required": []string{"action", "done"},
					"properties": map[string]any{
						"action": map[string]any{"type": "string", "enum": []string{"click", "type"}},
						"done":   map[string]any{"type": "boolean"},
					},
				},
			},
		}
		answer, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Action string
			Done   *bool
		}
		if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &got); err != nil || got.Action != "click" || got.Done == nil {
			t.Errorf("got %s, %v; want an object of the schema", answer.Choices[0].Message.Content, err)
		}
		if c := f.record(); c.ResponseFormat != "json_schema" {
			t.Errorf("responseFormat: got %q", c.ResponseFormat)
		}
	})
	t.Run("with a tool it must call", func(t *testing.T) {
		params := ask()
		params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "look", Parameters: shared.FunctionParameters{
				"type": "object", "required": []string{"city"}, "properties": map[string]any{"city": map[string]any{"type": "string"}},
			},
		})}
		params.ToolChoice.OfAuto = openai.String("required")
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		defer stream.Close()
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			all.AddChunk(stream.Current())
		}
		calls := all.Choices[0].Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Name != "look" || calls[0].Function.Arguments != `{"city":"demo"}` {
			t.Errorf("got %+v, want one call with valid arguments", calls)
		}
		if c := f.record(); c.FinishReason != "tool_calls" || c.FirstTokenMs == nil {
			t.Errorf("record: got %+v", c)
		}
	})
	t.Run("a model that does not exist", func(t *testing.T) {
		params := ask()
		params.Model = "gpt-none"
		_, err := client.Chat.Completions.New(t.Context(), params)
		var answer *openai.Error
		if !errors.As(err, &answer) || answer.StatusCode != http.StatusNotFound || answer.Code != "model_not_found" {
			t.Errorf("got %v, want a 404 with the code model_not_found", err)
		}
		f.wantVerdict(404, protocol.VerdictUpstreamError)
	})
}
