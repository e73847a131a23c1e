package protocol

import "time"

// Totals are sums over the calls of some time.
type Totals struct {
	Calls            int64         `json:"calls"`
	Errors           int64         `json:"errors"`
	PromptTokens     int64         `json:"promptTokens"`
	CompletionTokens int64         `json:"completionTokens"`
	Models           []ModelTotals `json:"models,omitempty"` // the busiest first, at most 64; the sums count all
}

// ModelTotals are the sums of one model.
type ModelTotals struct {
	Model            string `json:"model,omitempty"` // absent: calls that named none
	Calls            int64  `json:"calls"`
	Errors           int64  `json:"errors"`
	PromptTokens     int64  `json:"promptTokens"`
	CompletionTokens int64  `json:"completionTokens"`
}

// History is what the history file says of late. It outlives the daemon, unlike Metrics.
type History struct {
	Today   Totals `json:"today"`             // since the last midnight, local time
	Week    Totals `json:"week"`              // today and the six days before
	Dropped int64  `json:"dropped,omitempty"` // calls that could not be written, since the daemon started
}

// HistoryQuery is what GET /v1/history asks for; the members are the names of the parameters, in all of which absent
// means no bound.
type HistoryQuery struct {
	Since time.Time `json:"since,omitzero"` // RFC 3339, when a call arrived
	Until time.Time `json:"until,omitzero"` // exclusive
	Model string    `json:"model,omitempty"`
	Limit int       `json:"limit,omitempty"` // 1 to 1000; absent: 200
	After string    `json:"after,omitempty"` // HistoryPage.Next of the page before
}

// HistoryPage is the answer of GET /v1/history: calls in the order they arrived.
type HistoryPage struct {
	Calls []Call `json:"calls"`
	Next  string `json:"next,omitempty"` // absent: this page is the last
}
