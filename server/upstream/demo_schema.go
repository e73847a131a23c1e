package upstream

import (
	"encoding/json"
	"errors"
)

func schemaExample(schema json.RawMessage) (string, error) {
	if len(schema) == 0 {
		return "{}", nil
	}
	return "", errors.New("not yet")
}
