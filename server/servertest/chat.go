package servertest

import "encoding/json"

// The pieces of a streamed chat completion, for Scenario.Pieces.

// Said is a piece of an answer.
func Said(text string) string { return delta(map[string]any{"content": text}) }

// Thought is a piece of what a model says to itself before it answers.
func Thought(text string) string { return delta(map[string]any{"reasoning_content": text}) }

// Called asks for a tool.
func Called(name, arguments string) string {
	return delta(map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": "call-1", "type": "function", "function": map[string]any{"name": name, "arguments": arguments},
	}}})
}

// Finished says why the answer ends: stop, length, tool_calls.
func Finished(reason string) string {
	return chunk(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}}})
}

// Used says how many tokens it took.
func Used(in, out int) string {
	return chunk(map[string]any{"choices": []any{}, "usage": map[string]any{
		"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out,
	}})
}

// Broken is an error in the middle of a stream.
func Broken(message string) string {
	return "data: " + mustJSON(map[string]any{"error": map[string]any{"message": message, "type": "server_error"}}) + "\n\n"
}

// Done ends a stream.
const Done = "data: [DONE]\n\n"

// Answer is a whole stream that says text in pieces of so many characters.
func Answer(text string, size int) (pieces []string) {
	for runes := []rune(text); len(runes) > 0; {
		n := min(size, len(runes))
		pieces = append(pieces, Said(string(runes[:n])))
		runes = runes[n:]
	}
	return append(pieces, Finished("stop"), Used(12, len(pieces)), Done)
}

func delta(d map[string]any) string {
	return chunk(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d}}})
}

func chunk(members map[string]any) string {
	members["id"], members["object"], members["model"] = "chatcmpl-1", "chat.completion.chunk", "scripted-1"
	return "data: " + mustJSON(members) + "\n\n"
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps, lists and texts are passed
	}
	return string(data)
}
