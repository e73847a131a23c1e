package protocol

import "time"

// Verdict says how one call to an upstream ended, as far as the proxy saw it.
type Verdict string

// The verdicts. A call that did not end in Complete or NoDone did not deliver a whole answer.
const (
	// VerdictComplete is a whole answer, with its end marker where the format has one.
	VerdictComplete Verdict = "complete"
	// VerdictNoDone is an event stream that closed without "[DONE]": probably whole, but the server did not say so.
	VerdictNoDone Verdict = "no-done"
	// VerdictTruncated is an answer whose framing broke.
	VerdictTruncated Verdict = "truncated"
	// VerdictCancelled is a call whose caller left first; Status is 499.
	VerdictCancelled Verdict = "cancelled"
	// VerdictStreamError is a stream in which the upstream reported an error after its 200, or that carried no event.
	VerdictStreamError Verdict = "stream-error"
	// VerdictUpstreamError is an answer with a status of 400 or more.
	VerdictUpstreamError Verdict = "upstream-error"
	// VerdictLoading is a 503 of a server that is still loading the model.
	VerdictLoading Verdict = "loading"
	// VerdictUnreachable is a call for which no connection, or no answer, was had; Status is 0.
	VerdictUnreachable Verdict = "unreachable"
)

// StatusClientClosed is the status recorded for a call whose caller left before the answer was whole.
const StatusClientClosed = 499

// Call is the record of one chat completion that passed through the proxy. The fields up to Error, their names and
// their order are the companion's contract for GET /metrics; those after it are ours. Strings that come from foreign
// bytes are valid UTF-8 and bounded (200 bytes).
type Call struct {
	Timestamp        time.Time `json:"timestamp"` // when the request arrived, UTC
	Model            string    `json:"model,omitempty"`
	LatencyMs        int64     `json:"latencyMs"`
	PromptTokens     int64     `json:"promptTokens,omitempty"`
	CompletionTokens int64     `json:"completionTokens,omitempty"`
	ResponseFormat   string    `json:"responseFormat,omitempty"`
	Streamed         bool      `json:"streamed"`
	Status           int       `json:"status"` // HTTP status; 0: the upstream was never reached
	Error            string    `json:"error,omitempty"`

	FirstTokenMs    *int64  `json:"firstTokenMs,omitempty"`
	TokensPerSecond float64 `json:"tokensPerSecond,omitempty"`
	Verdict         Verdict `json:"verdict,omitempty"`
	BytesIn         int64   `json:"bytesIn"`  // body bytes from the caller
	BytesOut        int64   `json:"bytesOut"` // body bytes to the caller
	OverheadUs      int64   `json:"overheadUs"`
	FinishReason    string  `json:"finishReason,omitempty"`
	Upstream        string  `json:"upstream,omitempty"`
	ID              string  `json:"id"`
	UsageKnown      bool    `json:"usageKnown"`
	RequestModel    string  `json:"requestModel,omitempty"` // the model asked for, where the answer names another
}

// CallsPage is the answer of GET /v1/calls: calls in the order they ended, and the cursor to pass as "after" next.
type CallsPage struct {
	Calls []Call `json:"calls"`
	Next  uint64 `json:"next"`
}
