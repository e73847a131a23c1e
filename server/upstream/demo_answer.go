package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
)

const demoText = "This is chatwright-demo, the demo model built into Chatwright Tray: no language model is running. "

// demoAnswer is one answer before it takes a shape. Either text or call is set.
type demoAnswer struct {
	id      string
	pieces  []string  // the text, in the pieces that it is streamed in; one piece is one token
	call    *demoCall // the tool that is called instead
	finish  string
	prompt  int // tokens
	written int // tokens
}

type demoCall struct {
	name      string
	arguments string
}

// compose decides what the demo says. A tool is called only when the request insists on one: a demo that chose by
// itself would surprise.
func compose(req *demoRequest) (*demoAnswer, error) {
	a := &demoAnswer{finish: "stop"}
	for _, m := range req.Messages {
		a.prompt += max(1, len(strings.Fields(messageText(m.Content))))
	}
	function, err := forcedTool(req)
	if err != nil {
		return nil, err
	}
	if function != nil {
		arguments, err := schemaExample(function.Parameters)
		if err != nil {
			return nil, badRequest("tools: parameters of %q: %v", shorten(function.Name, 80), err)
		}
		a.call, a.finish = &demoCall{function.Name, arguments}, "tool_calls"
		a.written = len(pieces(arguments))
		return a, nil
	}
	text, err := demoReply(req)
	if err != nil {
		return nil, err
	}
	a.pieces = pieces(text)
	if most := tokenLimit(req); most >= 0 && len(a.pieces) > most {
		a.pieces, a.finish = a.pieces[:most], "length"
	}
	a.written = len(a.pieces)
	return a, nil
}

// demoReply is the whole text of an answer, in the format that was asked for.
func demoReply(req *demoRequest) (string, error) {
	switch req.ResponseFormat.Type {
	case "json_schema":
		if len(req.ResponseFormat.JSONSchema.Schema) == 0 {
			return "", badRequest("response_format: json_schema.schema is missing")
		}
		text, err := schemaExample(req.ResponseFormat.JSONSchema.Schema)
		if err != nil {
			return "", badRequest("response_format: json_schema.schema: %v", err)
		}
		return text, nil
	case "json_object":
		return `{"answer":"` + strings.TrimSpace(demoText) + `"}`, nil
	case "", "text":
	default:
		return "", badRequest("response_format: type %q is none of text, json_object, json_schema",
			shorten(req.ResponseFormat.Type, 80))
	}
	said := ""
	for _, m := range req.Messages {
		if m.Role == "user" {
			said = strings.Join(strings.Fields(messageText(m.Content)), " ")
		}
	}
	if said == "" {
		return demoText + "Send a user message and it is repeated here.", nil
	}
	return demoText + "You wrote: “" + shorten(said, 200) + "”", nil
}

// messageText is the text of a message: its content is a string, or a list of parts of which some are text.
func messageText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, " ")
}

// forcedTool is the function that tool_choice insists on: "required" means the first one. Nil when the model is free.
func forcedTool(req *demoRequest) (*demoFunction, error) {
	var word string
	if json.Unmarshal(req.ToolChoice, &word) == nil {
		if word != "required" {
			return nil, nil
		}
		if len(req.Tools) == 0 {
			return nil, badRequest("tool_choice: required, but there are no tools")
		}
		return &req.Tools[0].Function, nil
	}
	var choice struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(req.ToolChoice, &choice) != nil || choice.Function.Name == "" {
		return nil, nil
	}
	for i := range req.Tools {
		if req.Tools[i].Function.Name == choice.Function.Name {
			return &req.Tools[i].Function, nil
		}
	}
	return nil, badRequest("tool_choice: there is no tool %q", shorten(choice.Function.Name, 80))
}

func tokenLimit(req *demoRequest) int {
	for _, limit := range []*int{req.MaxCompletionTokens, req.MaxTokens} {
		if limit != nil {
			return max(0, *limit)
		}
	}
	return -1
}

// pieces cuts text behind each space, and a long run without one into short parts as a tokenizer would, so that the
// pieces together are the text.
func pieces(text string) []string {
	var cut []string
	for _, word := range strings.SplitAfter(text, " ") {
		runes := []rune(word)
		for len(runes) > longWord {
			cut = append(cut, string(runes[:wordPart]))
			runes = runes[wordPart:]
		}
		cut = append(cut, string(runes))
	}
	return cut
}

// What counts as one token of the demo: a word, or about four characters of what is no word.
const (
	longWord = 20
	wordPart = 4
)

// completionID is the same for the same request.
func completionID(body []byte) string {
	sum := sha256.Sum256(body)
	return "chatcmpl-demo-" + hex.EncodeToString(sum[:6])
}

type object = map[string]any

func (a *demoAnswer) usage() object {
	return object{"prompt_tokens": a.prompt, "completion_tokens": a.written, "total_tokens": a.prompt + a.written}
}

// whole is the answer to a request that is not streamed.
func (a *demoAnswer) whole() object {
	message := object{"role": "assistant", "content": strings.Join(a.pieces, "")}
	if a.call != nil {
		message["content"] = nil
		message["tool_calls"] = []any{a.call.opening(a.id, a.call.arguments)}
	}
	return object{
		"id": a.id, "object": "chat.completion", "created": demoCreated, "model": DemoModel,
		"choices": []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": a.finish}},
		"usage":   a.usage(),
	}
}

func (c *demoCall) opening(id, arguments string) object {
	return object{
		"id": strings.Replace(id, "chatcmpl", "call", 1), "type": "function",
		"function": object{"name": c.name, "arguments": arguments},
	}
}

// stream sends the answer in chunks. The usage always comes: in a chunk of its own where it was asked for, as OpenAI
// does it (every chunk before that carries "usage": null), else with the finish reason, as other servers do it.
func (d demo) stream(w http.ResponseWriter, r *http.Request, a *demoAnswer, usageAsked bool) error {
	startStream(w)
	choices := a.chunks()
	if usageAsked {
		choices = append(choices, []any{})
	}
	for i, c := range choices {
		chunk := a.chunk(c)
		if usageAsked {
			chunk["usage"] = nil
		}
		if i == len(choices)-1 {
			chunk["usage"] = a.usage()
		}
		if err := d.sendChunk(w, r, event(chunk)); err != nil {
			return err
		}
	}
	return d.sendChunk(w, r, "data: [DONE]\n\n")
}

// chunks are the choices of each chunk but that of the usage: the role, the pieces, and how it finished.
func (a *demoAnswer) chunks() [][]any {
	delta := func(d object, finish any) []any {
		return []any{object{"index": 0, "delta": d, "finish_reason": finish}}
	}
	if a.call != nil {
		opening := a.call.opening(a.id, "")
		opening["index"] = 0
		out := [][]any{delta(object{"role": "assistant", "content": nil, "tool_calls": []any{opening}}, nil)}
		for _, piece := range pieces(a.call.arguments) {
			part := object{"index": 0, "function": object{"arguments": piece}}
			out = append(out, delta(object{"tool_calls": []any{part}}, nil))
		}
		return append(out, delta(object{}, a.finish))
	}
	out := [][]any{delta(object{"role": "assistant", "content": ""}, nil)}
	for _, piece := range a.pieces {
		out = append(out, delta(object{"content": piece}, nil))
	}
	return append(out, delta(object{}, a.finish))
}

func (a *demoAnswer) chunk(choices []any) object {
	return object{
		"id": a.id, "object": "chat.completion.chunk", "created": demoCreated, "model": DemoModel, "choices": choices,
	}
}

// event writes v as one server-sent event.
func event(v any) string {
	data, _ := httpx.EncodeJSON(v) // maps of strings and numbers, which always encode
	return "data: " + string(data) + "\n"
}

func startStream(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // a writer that cannot flush sends with the first chunk
}

// sendChunk waits for the delay and sends one event at once.
func (d demo) sendChunk(w http.ResponseWriter, r *http.Request, event string) error {
	if err := d.pause(r); err != nil {
		return err
	}
	if _, err := w.Write([]byte(event)); err != nil {
		return err
	}
	_ = http.NewResponseController(w).Flush()
	return nil
}
