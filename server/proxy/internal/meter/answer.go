package meter

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The values that are read from an answer, or from each event of one.
const (
	answerModel field = iota + 1
	answerChoices
	answerFinish
	answerToken // what a model said: content, reasoning, a tool call
	answerError
	answerErrorText
	answerObject
	answerMessage
	answerPrompt
	answerCompletion
	timingsPrompt
	timingsCached
	timingsAnswer
	timingsRate
	ollamaPrompt
	ollamaAnswer
	ollamaNanoseconds
	ollamaDone
	answerFields // how many there are
)

// answerTree is where they stand: OpenAI's shape, llama.cpp's timings, Ollama's counts, and the ways to say "error".
func answerTree() *node {
	usage := []*node{
		{name: "prompt_tokens", field: answerPrompt},
		{name: "completion_tokens", field: answerCompletion},
	}
	said := []*node{
		{name: "content", field: answerToken},
		{name: "reasoning_content", field: answerToken},
		{name: "reasoning", field: answerToken},
		{name: "thinking", field: answerToken}, // Ollama
		{name: "refusal", field: answerToken},
		{name: "tool_calls", field: answerToken},
		{name: "function_call", field: answerToken},
	}
	return &node{members: []*node{
		{name: "choices", field: answerChoices, element: &node{members: []*node{
			{name: "delta", members: said},
			{name: "finish_reason", field: answerFinish},
		}}},
		{name: "model", field: answerModel},
		{name: "usage", members: usage},
		{name: "x_groq", members: []*node{{name: "usage", members: usage}}},
		{name: "timings", members: []*node{
			{name: "prompt_n", field: timingsPrompt},
			{name: "cache_n", field: timingsCached},
			{name: "predicted_n", field: timingsAnswer},
			{name: "predicted_per_second", field: timingsRate},
		}},
		{name: "error", field: answerError, members: []*node{{name: "message", field: answerErrorText}}},
		{name: "object", field: answerObject},
		{name: "message", field: answerMessage, members: said},
		{name: "detail", field: answerMessage},
		{name: "prompt_eval_count", field: ollamaPrompt},
		{name: "eval_count", field: ollamaAnswer},
		{name: "eval_duration", field: ollamaNanoseconds},
		{name: "done", field: ollamaDone},
		{name: "done_reason", field: answerFinish},
	}}
}

// Reading is what was read from an answer so far. Texts are valid UTF-8 without control characters, and short.
type Reading struct {
	Model        string
	FinishReason string

	Prompt, Completion int64   // tokens; see UsageKnown
	UsageKnown         bool    // at least one of the two was there
	Rate               float64 // tokens per second by the server's own account; 0: it gave none

	FirstToken time.Time // when the first event came that held something a model said; zero: none did
	Events     int       // events with data, the end marker aside
	Done       bool      // the end marker came
	Failed     bool      // the answer says that it is an error, or an event of it does
	Error      string    // in its words, if it has any
	Choices    bool      // there was a choice in it
}

// answer reads one answer: it is what the scanners report to.
type answer struct {
	json    jsonScanner
	reading Reading
	now     func() time.Time

	numbers [answerFields]float64
	known   [answerFields]bool

	marker    [len("[DONE]")]byte // the start of the event's data
	markerLen int
	notMarker bool // and it goes on
	eventName [len("error") + 1]byte
	nameLen   int
	isError   bool // the text at hand is an error by its "object"
	message   string
}

func (a *answer) init(tree *node, now func() time.Time) {
	a.json = newJSONScanner(tree, a)
	a.now = now
}

// value takes a value of the JSON text at hand.
func (a *answer) value(f field, k kind, text []byte) {
	switch f {
	case answerToken:
		if (k == kindString && len(text) > 0 || k == kindObject || k == kindList) && a.reading.FirstToken.IsZero() {
			a.reading.FirstToken = a.now()
		}
	case answerModel, answerFinish, answerObject, answerMessage, answerErrorText, answerError:
		a.text(f, k, text)
	case answerChoices:
		a.reading.Choices = a.reading.Choices || k == kindList
	case ollamaDone:
		a.reading.Done = a.reading.Done || string(text) == "true"
	default:
		if k == kindLiteral {
			a.number(f, text)
		}
	}
}

func (a *answer) text(f field, k kind, text []byte) {
	switch {
	case f == answerError:
		// null, false and "" say that there is no error.
		if k == kindObject || k == kindString && len(text) > 0 {
			a.reading.Failed = true
		}
		if k == kindString && len(text) > 0 {
			a.reading.Error = Clean(text)
		}
	case k != kindString || len(text) == 0:
	case f == answerModel:
		if a.reading.Model != string(text) { // each event repeats it: compare before making a string
			a.reading.Model = Clean(text)
		}
	case f == answerFinish:
		a.reading.FinishReason = Clean(text)
	case f == answerErrorText:
		a.reading.Error = Clean(text)
	case f == answerObject:
		a.isError = string(text) == "error"
	case f == answerMessage:
		a.message = Clean(text)
	}
}

// number keeps a count or rate that makes sense: not negative, and small enough to add up.
func (a *answer) number(f field, text []byte) {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || n < 0 || n > 1<<53 || math.IsNaN(n) {
		return
	}
	a.numbers[f], a.known[f] = n, true
}

// endText ends one JSON text: a whole answer, or the data of an event.
func (a *answer) endText() {
	a.json.finish()
	a.json.reset()
	if a.isError {
		a.reading.Failed = true
	}
	if a.reading.Failed && a.reading.Error == "" {
		a.reading.Error = a.message
	}
	a.isError = false
}

// data, name and endEvent take the events of a stream.
func (a *answer) data(p []byte) {
	a.json.write(p)
	if a.notMarker || a.markerLen == 0 && len(p) > 0 && p[0] == '{' { // as nearly all events begin
		a.notMarker = true
		return
	}
	if a.markerLen == 0 {
		p = bytes.TrimLeft(p, " \t\n")
	}
	n := copy(a.marker[a.markerLen:], p)
	a.markerLen += n
	if n < len(p) && len(bytes.TrimSpace(p[n:])) > 0 {
		a.notMarker = true
	}
}

func (a *answer) name(p []byte) {
	a.nameLen += copy(a.eventName[a.nameLen:], p)
}

func (a *answer) endEvent(seen bool) {
	named := string(a.eventName[:a.nameLen])
	marker := !a.notMarker && string(a.marker[:a.markerLen]) == "[DONE]"
	a.nameLen, a.markerLen, a.notMarker = 0, 0, false
	switch {
	case !seen:
		return
	case marker:
		a.reading.Done = true
	default:
		a.reading.Events++
		a.reading.Failed = a.reading.Failed || named == "error"
	}
	a.endText()
}

// result settles what was said more than once: the usage itself, then llama.cpp's timings, then Ollama's counts.
func (a *answer) result() Reading {
	r := a.reading
	if r.Error == "" && !r.Choices {
		r.Error = a.message // of an answer that is an error by its status
	}
	prompt, okPrompt := a.first(answerPrompt, timingsPrompt, ollamaPrompt)
	if !a.known[answerPrompt] && a.known[timingsPrompt] {
		prompt += a.numbers[timingsCached] // prompt_n counts only what was not in the cache
	}
	completion, okCompletion := a.first(answerCompletion, timingsAnswer, ollamaAnswer)
	r.Prompt, r.Completion, r.UsageKnown = int64(prompt), int64(completion), okPrompt || okCompletion
	r.Rate = a.numbers[timingsRate]
	if seconds := a.numbers[ollamaNanoseconds] / 1e9; r.Rate == 0 && seconds > 0 {
		r.Rate = a.numbers[ollamaAnswer] / seconds
	}
	return r
}

func (a *answer) first(fields ...field) (float64, bool) {
	for _, f := range fields {
		if a.known[f] {
			return a.numbers[f], true
		}
	}
	return 0, false
}

// Clean makes foreign bytes fit to be shown and kept: valid UTF-8, no control characters, at most 200 bytes.
func Clean(text []byte) string {
	s := strings.ToValidUTF8(string(text), "\uFFFD")
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, s)
	}
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
