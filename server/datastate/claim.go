package datastate

import (
	"fmt"
	"slices"
	"strings"
)

// A Claim is an expectation as a request or a file writes it. Unlike an Expectation, which is code, it says what it has
// to see: where a database counts the rows, a claim about their number holds for all of them and reads none.
type Claim struct {
	Type  ClaimType `json:"type"`
	Count int       `json:"count,omitempty"` // of the three that count
	Row   Row       `json:"row,omitempty"`   // of RowContainsClaim
	Rows  []Row     `json:"rows,omitempty"`  // of ExactRowsClaim
	Of    []Claim   `json:"of,omitempty"`    // of AllClaim
}

// ClaimType names the Expectation that a Claim stands for.
type ClaimType string

// The types of claims.
const (
	NonEmptyClaim      ClaimType = "nonEmpty"
	EmptyClaim         ClaimType = "empty"
	ExactRowCountClaim ClaimType = "exactRowCount"
	MinRowCountClaim   ClaimType = "minRowCount"
	MaxRowCountClaim   ClaimType = "maxRowCount"
	RowContainsClaim   ClaimType = "rowContains"
	ExactRowsClaim     ClaimType = "exactRows"
	AllClaim           ClaimType = "all"
)

// CheckClaims says which of the claims is of a type that there is none of.
func CheckClaims(claims []Claim) error {
	if err := findUnknown(claims); err != nil {
		return err
	}
	return nil
}

// unknownTypeError names every list that leads to the claim and is made once, at the end: lists nest as deep as a
// request has room, and a text for each level would be gigabytes.
type unknownTypeError struct {
	name   ClaimType
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

func findUnknown(claims []Claim) *unknownTypeError {
	for i, claim := range claims {
		var err *unknownTypeError
		switch claim.Type {
		case NonEmptyClaim, EmptyClaim, ExactRowCountClaim, MinRowCountClaim, MaxRowCountClaim, RowContainsClaim, ExactRowsClaim:
		case AllClaim:
			err = findUnknown(claim.Of)
		default:
			err = &unknownTypeError{name: claim.Type}
		}
		if err != nil {
			err.places = append(err.places, i)
			return err
		}
	}
	return nil
}

// sees is how many rows the claims have to look at, 0 where the number of rows is all that counts.
func sees(claims []Claim, limits Limits) int {
	most := 0
	for _, claim := range claims {
		switch claim.Type {
		case RowContainsClaim:
			most = limits.Compared
		case ExactRowsClaim: // of other than as many rows it fails whatever they are
			most = max(most, min(len(claim.Rows), limits.Compared))
		case AllClaim:
			most = max(most, sees(claim.Of, limits))
		}
	}
	return most
}

// judge checks the claims, the first that fails is the answer. rows are what was read of total.
func judge(claims []Claim, rows []Row, total int) error {
	for _, claim := range claims {
		if err := claim.judge(rows, total); err != nil {
			return err
		}
	}
	return nil
}

func (c Claim) judge(rows []Row, total int) error {
	switch c.Type {
	case NonEmptyClaim:
		return atLeast.check(1, total)
	case EmptyClaim:
		return exactly.check(0, total)
	case ExactRowCountClaim:
		return exactly.check(c.Count, total)
	case MinRowCountClaim:
		return atLeast.check(c.Count, total)
	case MaxRowCountClaim:
		return atMost.check(c.Count, total)
	case RowContainsClaim:
		return rowContains(c.Row, plain(c.Row), rows, total)
	case ExactRowsClaim:
		return exactRows(c.Rows, rows, total)
	case AllClaim:
		return judge(c.Of, rows, total)
	}
	return &unknownTypeError{name: c.Type}
}

// errUnread is for whoever wants to see rows that were counted and not read: a claim about them would be a guess.
func errUnread(read, total int) error {
	return fmt.Errorf("the query gives %d row(s), of which an expectation sees %d at most: "+
		"narrow it with where, or expect a count", total, read)
}
