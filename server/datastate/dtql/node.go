package dtql

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// The bounds of a document. What is past them is no query that a person wrote.
const (
	MaxBytes = 64 << 10
	MaxDepth = 32 // of mappings and lists in one another
)

type kind uint8

const (
	scalar kind = iota
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"a scalar", "a list", "a mapping"}[k]
}

// A node is what is left of YAML when all is gone that DTQL has no use for: no tag, no anchor, no comment.
type node struct {
	kind         kind
	quoted       bool // a scalar in quotes, or a block scalar: text whatever it looks like
	value        string
	line, column int32
	items        []node // the elements of a list; key, value, key, value… of a mapping
}

// child is what a document has at one key of a mapping, or nil.
func (n *node) child(key string) *node {
	if n.kind == mapping {
		for i := 0; i < len(n.items); i += 2 {
			if n.items[i].value == key {
				return &n.items[i+1]
			}
		}
	}
	return nil
}

// read turns text to nodes. Plain documents, which is nearly all, go the short way; every other goes through the YAML
// library, and so does every one that is wrong, for the sake of its message.
func read(text []byte) (*node, error) {
	if len(text) > MaxBytes {
		return nil, &Error{Line: 1 + bytes.Count(text[:MaxBytes], []byte{'\n'}), Message: "document is over 64 KiB"}
	}
	if !utf8.Valid(text) {
		return nil, &Error{Message: "document is not UTF-8 text"}
	}
	if root, ok := readFast(text); ok {
		return root, nil
	}
	return readYAML(text)
}

func readYAML(text []byte) (*node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &Error{Message: "document is empty"}
	case err != nil:
		return nil, syntaxError(err)
	}
	var root node
	if err := root.from(doc.Content[0], nil, 1); err != nil {
		return nil, err
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
		return &root, nil
	case err != nil:
		return nil, syntaxError(err)
	}
	return nil, &Error{Line: second.Line, Column: second.Column, Message: "a second document follows: one query is one document"}
}

// syntaxError keeps what the library knows of the place and drops the name that it gives itself.
func syntaxError(err error) *Error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return &Error{Message: "reading YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	return &Error{Line: load.Mark.Line, Column: load.Mark.Column, Message: "reading YAML: " + load.Message}
}

// from fills n from the library's node and refuses what could make a document mean more than it shows. It never follows
// an alias, so nothing grows.
func (n *node) from(y *yaml.Node, path *Path, depth int) error {
	*n = node{value: y.Value, line: int32(y.Line), column: int32(y.Column)}
	switch {
	case y.Kind == yaml.AliasNode:
		return n.at(path.err("aliases are not allowed (*%s)", y.Value))
	case y.Anchor != "":
		return n.at(path.err("anchors are not allowed (&%s)", y.Anchor))
	case y.Style&yaml.TaggedStyle != 0:
		return n.at(path.err("tags are not allowed (%s)", y.Tag))
	case y.Kind == yaml.ScalarNode:
		n.quoted = y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		return nil
	case depth > MaxDepth:
		return n.at(path.err("document is nested deeper than %d", MaxDepth))
	case y.Kind == yaml.SequenceNode:
		n.kind = list
	default:
		n.kind = mapping
	}
	n.items = make([]node, len(y.Content))
	for i, inner := range y.Content {
		place := path
		switch {
		case n.kind == list:
			place = path.Index(i)
		case i%2 == 1:
			place = path.Key(y.Content[i-1].Value)
		}
		if err := n.items[i].from(inner, place, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// at adds the position of n to an error.
func (n *node) at(err error) error {
	var invalid *Error
	var unsupported *UnsupportedError
	switch {
	case errors.As(err, &invalid):
		invalid.Line, invalid.Column = int(n.line), int(n.column)
	case errors.As(err, &unsupported):
		unsupported.Line, unsupported.Column = int(n.line), int(n.column)
	}
	return err
}
