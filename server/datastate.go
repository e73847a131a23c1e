package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/internal/httpx"
)

// maxQueryBody bounds the body of a data-state query.
const maxQueryBody = 1 << 20

// queryRequest is the body of POST /datastate/query. Members that are not here are ignored.
type queryRequest struct {
	Holder       string            `json:"holder"`
	Query        string            `json:"query"`
	Params       map[string]any    `json:"params"`
	Expectations []datastate.Claim `json:"expectations"`
}

// The verdicts of a query. Only a query that ran on a real store, and met what was expected, passes.
const (
	verdictPass        = "pass"
	verdictFail        = "fail"
	verdictUnsupported = "unsupported"
)

type queryAnswer struct {
	Verdict string          `json:"verdict"`
	Rows    []datastate.Row `json:"rows"` // null: the query did not run
	Detail  string          `json:"detail"`
}

const noStore = "no data-state store is configured on this server: start it with --datastate-fixtures FILE"

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
	assertion, err := parseQuery(body)
	if err != nil {
		writeError(w, r.URL.Path, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	if s.data == nil {
		httpx.WriteJSON(w, http.StatusOK, queryAnswer{Verdict: verdictUnsupported, Detail: noStore})
		return
	}
	evidence, err := s.data.Run(r.Context(), datastate.Checkpoint, assertion)
	httpx.WriteJSON(w, http.StatusOK, queryAnswer{verdictOf(err), evidence.Preview, evidence.FailureMessage})
}

// verdictOf tells a query that this server understands and does not execute from one that failed.
func verdictOf(err error) string {
	if err == nil {
		return verdictPass
	}
	if _, ok := errors.AsType[*dtql.UnsupportedError](err); ok {
		return verdictUnsupported
	}
	return verdictFail
}

func parseQuery(body []byte) (datastate.Assertion, error) {
	var request queryRequest
	if err := httpx.DecodeJSON(body, &request, httpx.IgnoreUnknown); err != nil {
		return datastate.Assertion{}, fmt.Errorf("decoding request body: %w", err)
	}
	if strings.TrimSpace(request.Query) == "" {
		return datastate.Assertion{}, errors.New("query is required")
	}
	if err := datastate.CheckClaims(request.Expectations); err != nil {
		return datastate.Assertion{}, err
	}
	return datastate.Assertion{
		Name:   "datastate-query",
		Holder: request.Holder,
		Query:  datastate.Query{DTQL: request.Query, Params: request.Params},
		Claims: request.Expectations,
	}, nil
}
