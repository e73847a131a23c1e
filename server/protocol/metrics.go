package protocol

import "time"

// Metrics is the one snapshot of what the proxy measured; the tray, the command line and the console render it, and
// the Prometheus text is made of the same sums. Counts are those since the daemon started; what is measured in
// milliseconds or tokens a second is of the calls in Window.
type Metrics struct {
	Calls            int64             `json:"calls"` // ended
	Errors           int64             `json:"errors"`
	InFlight         int64             `json:"inFlight"`
	PromptTokens     int64             `json:"promptTokens"`
	CompletionTokens int64             `json:"completionTokens"`
	LatencyP50Ms     *int64            `json:"latencyP50Ms,omitempty"`
	LatencyP95Ms     *int64            `json:"latencyP95Ms,omitempty"`
	LatencyP99Ms     *int64            `json:"latencyP99Ms,omitempty"`
	FirstTokenP50Ms  *int64            `json:"firstTokenP50Ms,omitempty"`
	TokensPerSecond  float64           `json:"tokensPerSecond,omitempty"` // median
	Verdicts         map[Verdict]int64 `json:"verdicts,omitempty"`
	Window           *Window           `json:"window,omitempty"`
	Models           []ModelMetrics    `json:"models,omitempty"` // most calls first, at most 64 and OtherModels
	Recent           []Call            `json:"recent,omitempty"` // newest first, at most 8
}

// OtherModels is the name under which the models are counted that are one too many.
const OtherModels = "other"

// ModelMetrics is what was measured of the calls that asked for one model. Its fields are those of Metrics.
type ModelMetrics struct {
	Model            string            `json:"model"` // as asked for; "": no call of it said so
	Calls            int64             `json:"calls"`
	Errors           int64             `json:"errors"`
	InFlight         int64             `json:"inFlight"`
	PromptTokens     int64             `json:"promptTokens"`
	CompletionTokens int64             `json:"completionTokens"`
	LatencyP50Ms     *int64            `json:"latencyP50Ms,omitempty"`
	LatencyP95Ms     *int64            `json:"latencyP95Ms,omitempty"`
	LatencyP99Ms     *int64            `json:"latencyP99Ms,omitempty"`
	FirstTokenP50Ms  *int64            `json:"firstTokenP50Ms,omitempty"`
	TokensPerSecond  float64           `json:"tokensPerSecond,omitempty"`
	Verdicts         map[Verdict]int64 `json:"verdicts,omitempty"`
	Window           *Window           `json:"window,omitempty"`
}

// Window is the stretch of time that quantiles and medians are of: the hour up to the last call, or less where more
// calls ended in it than are kept. It ends with a call and not with the clock, so that nothing changes while nothing
// happens.
type Window struct {
	Since  time.Time `json:"since"` // the first call in it ended
	Until  time.Time `json:"until"` // the last one did
	Calls  int64     `json:"calls"`
	Errors int64     `json:"errors"`
}
