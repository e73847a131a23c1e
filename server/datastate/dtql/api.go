package dtql

import "errors"

// Unmarshal reads one document and validates it. What is wrong comes as an *Error, what is understood but not executed
// as an *UnsupportedError.
func Unmarshal(text []byte) (*Document, error) { return nil, errors.New("dtql: not yet") }

// Marshal writes the canonical form of a valid document.
func Marshal(doc *Document) ([]byte, error) { return nil, errors.New("dtql: not yet") }

// Validate checks a tree as Unmarshal does, for trees that were never text.
func Validate(doc *Document) error { return errors.New("dtql: not yet") }

// Bind returns a copy of a valid document in which every Param is a Value, or Values where it is the right of In.
// Every param needs a value and every value a param. The document stays as it is.
func Bind(doc *Document, params map[string]any) (*Document, error) {
	return nil, errors.New("dtql: not yet")
}
