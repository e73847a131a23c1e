package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
)

// maxQueryBody bounds the body of a data-state query.
const maxQueryBody = 1 << 20

// QueryRequest is the body of POST /datastate/query. Members that are not here are ignored.
type QueryRequest struct {
	Holder       string            `json:"holder,omitempty"`
	Query        string            `json:"query"`
	Params       map[string]any    `json:"params,omitempty"`
	Expectations []datastate.Claim `json:"expectations,omitempty"`
	// Evidence asks for the whole account of the run beside its verdict.
	Evidence bool `json:"evidence,omitempty"`
	// SortKeys and ExcludedFields prepare the rows for comparison, see datastate.Normalization.
	SortKeys       []string `json:"sortKeys,omitempty"`
	ExcludedFields []string `json:"excludedFields,omitempty"`
	// KeepOrder leaves rows as the query orders them; without it they come in canonical order.
	KeepOrder bool `json:"keepOrder,omitempty"`
	// Redact names fields and params whose values are not to leave: rows, evidence and texts show that they are there.
	Redact []string `json:"redact,omitempty"`
}

// QueryAnswer is the answer to it.
type QueryAnswer struct {
	Verdict string          `json:"verdict"`
	Rows    []datastate.Row `json:"rows"` // null: the query did not run
	Detail  string          `json:"detail"`
	// Hint is what to do about Detail, where that is known. It is there only when evidence was asked for.
	Hint string `json:"hint,omitempty"`
	// Evidence is there when it was asked for and there is a store to tell of.
	Evidence *datastate.Evidence `json:"evidence,omitempty"`
}

// The verdicts of a query. Only a query that ran on a real store, and met what was expected, passes.
const (
	VerdictPass        = "pass"
	VerdictFail        = "fail"
	VerdictUnsupported = "unsupported"
)

const noStore = "no data-state store is configured on this server: start it with --datastate NAME=DSN or --datastate-fixtures FILE"

// serveQuery judges what a store holds. Everything about the request is checked before it is asked whether there is a
// store, so that a mistake shows on every machine.
func (s *Server) serveQuery(w http.ResponseWriter, r *http.Request) {
	body, err := httpx.ReadBody(w, r, maxQueryBody)
	if tooLarge, ok := errors.AsType[*httpx.TooLargeError](err); ok {
		writeError(w, r.URL.Path, http.StatusRequestEntityTooLarge, "request_too_large", tooLarge.Error())
		return
	}
	if err != nil {
		writeError(w, r.URL.Path, http.StatusBadRequest, "invalid_request", "decoding request body: "+err.Error())
		return
	}
	var request QueryRequest
	if err := httpx.DecodeJSON(body, &request, httpx.IgnoreUnknown); err != nil {
		writeError(w, r.URL.Path, http.StatusBadRequest, "invalid_request", "decoding request body: "+err.Error())
		return
	}
	answer, err := s.Query(r.Context(), request)
	if err != nil {
		writeError(w, r.URL.Path, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	httpx.WriteJSON(w, http.StatusOK, answer)
}

// Query answers a request as POST /datastate/query does. The error is what is wrong with the request itself; what is
// wrong with its query, or with the data, is in the answer.
func (s *Server) Query(ctx context.Context, request QueryRequest) (QueryAnswer, error) {
	if strings.TrimSpace(request.Query) == "" {
		return QueryAnswer{}, errors.New("query is required")
	}
	if err := datastate.CheckClaims(request.Expectations); err != nil {
		return QueryAnswer{}, err
	}
	if s.data == nil {
		return QueryAnswer{Verdict: VerdictUnsupported, Detail: noStore}, nil
	}
	evidence, err := s.data.Run(ctx, datastate.Checkpoint, datastate.Assertion{
		Name:          "datastate-query",
		Holder:        request.Holder,
		Query:         datastate.Query{DTQL: request.Query, Params: request.Params},
		Normalization: datastate.Normalization{SortKeys: request.SortKeys, ExcludedFields: request.ExcludedFields, KeepOrder: request.KeepOrder},
		Redact:        request.Redact,
		Claims:        request.Expectations,
	})
	answer := QueryAnswer{Verdict: verdictOf(err), Rows: evidence.Preview, Detail: evidence.FailureMessage}
	if request.Evidence {
		answer.Evidence, answer.Hint = &evidence, hint.Of(err)
	}
	return answer, nil
}

// verdictOf tells a query that this server understands and does not execute from one that failed.
func verdictOf(err error) string {
	if err == nil {
		return VerdictPass
	}
	if _, ok := errors.AsType[*dtql.UnsupportedError](err); ok {
		return VerdictUnsupported
	}
	return VerdictFail
}
