package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/internal/httpx"
)

// maxQueryBody bounds the body of a data-state query.
const maxQueryBody = 1 << 20

// queryRequest is the body of POST /datastate/query. Members that are not here are ignored.
type queryRequest struct {
	Holder       string               `json:"holder"`
	Query        string               `json:"query"`
	Params       map[string]any       `json:"params"`
	Expectations []expectationRequest `json:"expectations"`
}

type expectationRequest struct {
	Type  string               `json:"type"`
	Count int                  `json:"count"`
	Row   datastate.Row        `json:"row"`
	Rows  []datastate.Row      `json:"rows"`
	Of    []expectationRequest `json:"of"`
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
	answer := queryAnswer{Verdict: verdictPass, Rows: evidence.Preview}
	if err != nil {
		answer.Verdict, answer.Detail = verdictFail, evidence.FailureMessage
	}
	httpx.WriteJSON(w, http.StatusOK, answer)
}

func parseQuery(body []byte) (datastate.Assertion, error) {
	var request queryRequest
	if err := httpx.DecodeJSON(body, &request, httpx.IgnoreUnknown); err != nil {
		return datastate.Assertion{}, fmt.Errorf("decoding request body: %w", err)
	}
	if strings.TrimSpace(request.Query) == "" {
		return datastate.Assertion{}, errors.New("query is required")
	}
	expect, unknown := expectAll(request.Expectations)
	if unknown != nil {
		return datastate.Assertion{}, unknown
	}
	return datastate.Assertion{
		Name:   "datastate-query",
		Holder: request.Holder,
		Query:  datastate.Query{DTQL: request.Query, Params: request.Params},
		Expect: expect,
	}, nil
}

// unknownTypeError is the error for an expectation that there is none of. Its text names every list that leads to it and is
// made once, at the end: lists nest as deep as a body has room, and a text for each level would be gigabytes.
type unknownTypeError struct {
	name   string
	places []int // in the lists, the innermost first
}

func (e *unknownTypeError) Error() string {
	var b strings.Builder
	for _, place := range slices.Backward(e.places) {
		fmt.Fprintf(&b, "expectations[%d]: ", place)
	}
	fmt.Fprintf(&b, "unknown expectation type %q (want one of: nonEmpty, empty, exactRowCount, minRowCount, "+
		"maxRowCount, rowContains, exactRows, all)", e.name)
	return b.String()
}

// expectAll joins a list of expectations.
func expectAll(requests []expectationRequest) (datastate.Expectation, *unknownTypeError) {
	all := make([]datastate.Expectation, len(requests))
	for i, request := range requests {
		expect, err := request.expectation()
		if err != nil {
			err.places = append(err.places, i)
			return nil, err
		}
		all[i] = expect
	}
	return datastate.All(all...), nil
}

func (e expectationRequest) expectation() (datastate.Expectation, *unknownTypeError) {
	switch e.Type {
	case "nonEmpty":
		return datastate.NonEmpty(), nil
	case "empty":
		return datastate.Empty(), nil
	case "exactRowCount":
		return datastate.ExactRowCount(e.Count), nil
	case "minRowCount":
		return datastate.MinRowCount(e.Count), nil
	case "maxRowCount":
		return datastate.MaxRowCount(e.Count), nil
	case "rowContains":
		return datastate.RowContains(e.Row), nil
	case "exactRows":
		return datastate.ExactRows(e.Rows...), nil
	case "all":
		return expectAll(e.Of)
	}
	return nil, &unknownTypeError{name: e.Type}
}
