package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
)

const (
	// DemoModel is the model that the demo lists and answers as.
	DemoModel = "chatwright-demo"
	// demoFilePrefix starts the model ids that play a recorded stream.
	demoFilePrefix = DemoModel + "/file:"
	// demoDelay is the pause between chunks when DemoConfig.Delay is 0: long enough to see "in flight", short enough
	// that nobody waits.
	demoDelay = 12 * time.Millisecond
	// maxDemoBody bounds what the demo reads of a request.
	maxDemoBody = 64 << 20
	// demoCreated stands in every answer in place of the time, so that the same request gets the same bytes.
	demoCreated = 1767225600
)

// DemoConfig says how the demo model behaves.
type DemoConfig struct {
	// StreamFolder holds the .sse files that the model id "chatwright-demo/file:NAME" plays; "" plays none. It is for
	// tests.
	StreamFolder string
	// Delay is the pause before each chunk of a stream and before a whole answer; 0 means 12 ms, negative none.
	Delay time.Duration
}

// NewDemo returns the built-in demo model as a Target.
func NewDemo(cfg DemoConfig) *Target {
	return &Target{
		Name:      "Demo model",
		BaseURL:   &url.URL{Scheme: "http", Host: DemoModel, Path: "/v1"},
		Demo:      true,
		Transport: httpx.InProcess(Demo(cfg)),
	}
}

// Demo returns the demo model: an OpenAI-compatible handler below /v1 that needs no model, says in each answer what it
// is, and answers the same request with the same bytes.
func Demo(cfg DemoConfig) http.Handler {
	d := demo{cfg}
	if d.cfg.Delay == 0 {
		d.cfg.Delay = demoDelay
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", d.models)
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if err := d.chat(w, r); err != nil {
			writeDemoError(w, err)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeDemoError(w, &demoError{http.StatusNotFound, "the demo model has no " + r.Method + " " + r.URL.Path, "not_found"})
	})
	return mux
}

type demo struct{ cfg DemoConfig }

// demoError is an answer other than 200.
type demoError struct {
	status  int
	message string
	code    string
}

func (e *demoError) Error() string { return e.message }

func badRequest(format string, args ...any) error {
	return &demoError{http.StatusBadRequest, fmt.Sprintf(format, args...), "invalid_request"}
}

func writeDemoError(w http.ResponseWriter, err error) {
	var answer *demoError
	if !errors.As(err, &answer) {
		// What is left are streams that nobody reads any more: break them off, never end them cleanly.
		panic(http.ErrAbortHandler)
	}
	httpx.WriteOpenAIError(w, answer.status, answer.message, httpx.TypeInvalidRequest, answer.code)
}

func (d demo) models(w http.ResponseWriter, _ *http.Request) {
	httpx.WriteJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data": []any{map[string]any{
			"id": DemoModel, "object": "model", "created": demoCreated, "owned_by": "chatwright",
		}},
	})
}

// demoRequest is what the demo understands of a chat completion request; the rest has no effect on it.
type demoRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	ResponseFormat      struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Tools []struct {
		Function demoFunction `json:"function"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
}

type demoFunction struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

func (d demo) chat(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDemoBody))
	if err != nil {
		return err
	}
	var req demoRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return badRequest("the body is not a chat completion request: %v", err)
	}
	if name, ok := strings.CutPrefix(req.Model, demoFilePrefix); ok {
		return d.play(w, r, name)
	}
	if req.Model != DemoModel {
		return &demoError{http.StatusNotFound, fmt.Sprintf("the model %q does not exist; the demo has only %q",
			shorten(req.Model, 80), DemoModel), "model_not_found"}
	}
	if len(req.Messages) == 0 {
		return badRequest("messages: at least one is needed")
	}
	answer, err := compose(&req)
	if err != nil {
		return err
	}
	answer.id = completionID(body)
	if req.Stream {
		return d.stream(w, r, answer, req.StreamOptions.IncludeUsage)
	}
	if err := d.pause(r); err != nil {
		return err
	}
	httpx.WriteJSON(w, http.StatusOK, answer.whole())
	return nil
}

// pause waits for the delay, or until the caller is gone.
func (d demo) pause(r *http.Request) error {
	if d.cfg.Delay <= 0 {
		return r.Context().Err()
	}
	timer := time.NewTimer(d.cfg.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// play answers with the bytes of a recorded stream, event by event. The name comes from the request, so the folder is
// opened as a root that it cannot leave.
func (d demo) play(w http.ResponseWriter, r *http.Request, name string) error {
	missing := &demoError{http.StatusNotFound,
		fmt.Sprintf("the demo has no stream %q", shorten(name, 80)), "model_not_found"}
	if d.cfg.StreamFolder == "" {
		return missing
	}
	root, err := os.OpenRoot(d.cfg.StreamFolder)
	if err != nil {
		return missing
	}
	defer root.Close()
	stream, err := root.ReadFile(name + ".sse")
	if err != nil {
		return missing
	}
	startStream(w)
	for event := range strings.SplitAfterSeq(string(stream), "\n\n") {
		if event == "" {
			continue
		}
		if err := d.sendChunk(w, r, event); err != nil {
			return err
		}
	}
	return nil
}

// shorten cuts text that is repeated in an answer.
func shorten(text string, most int) string {
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}
