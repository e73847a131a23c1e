package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/hint"
)

// parseParams reads name=value, each name once.
func parseParams(given []string) (map[string]any, error) {
	params := make(map[string]any, len(given))
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, hint.With(fmt.Errorf("flag --param: %q is not name=value", text), "write --param space=family")
		}
		if _, twice := params[name]; twice {
			return nil, hint.With(fmt.Errorf("flag --param: %q is there twice", name), "a list is one value: --param "+name+"='[a, b]'")
		}
		parsed, err := dtql.ParseValue(value)
		if err != nil {
			return nil, hint.With(fmt.Errorf("flag --param: %s: %w", name, err), `put text in quotes: --param `+name+`='"…"'`)
		}
		params[name] = parsed
	}
	return params, nil
}

// parseClaims reads the values of --expect.
func parseClaims(given []string) ([]datastate.Claim, error) {
	claims := make([]datastate.Claim, len(given))
	for i, text := range given {
		claim, err := parseClaim(text)
		if err != nil {
			return nil, hint.With(fmt.Errorf("flag --expect: %s: %w", text, err), "see chatwright-tray query --help")
		}
		claims[i] = claim
	}
	return claims, nil
}

func parseClaim(text string) (datastate.Claim, error) {
	name, value, has := strings.Cut(text, "=")
	claim := datastate.Claim{Type: datastate.ClaimType(name)}
	switch claim.Type {
	case datastate.NonEmptyClaim, datastate.EmptyClaim:
		if has {
			return claim, errors.New("it takes no value")
		}
		return claim, nil
	case datastate.ExactRowCountClaim, datastate.MinRowCountClaim, datastate.MaxRowCountClaim:
		count, err := strconv.Atoi(value)
		if err != nil || count < 0 {
			return claim, fmt.Errorf("want %s=N with the number of rows", name)
		}
		claim.Count = count
		return claim, nil
	case datastate.RowContainsClaim:
		return claim, decodeValue(value, &claim.Row)
	case datastate.ExactRowsClaim:
		return claim, decodeValue(value, &claim.Rows)
	}
	return claim, errors.New("there is no such expectation")
}

// decodeValue reads JSON and keeps all digits of its numbers.
func decodeValue(text string, v any) error {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("reading its JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after its JSON")
	}
	return nil
}
