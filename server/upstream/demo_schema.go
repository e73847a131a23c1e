package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
)

// Bounds of the work on one schema, which comes from anybody: references and alternatives can multiply, and merging and
// matching cost more the larger the schema is.
const (
	maxSchemaSteps = 10_000     // values made
	maxSchemaDepth = 200        // values within values, and schemas that stand for others
	maxSchemaWork  = 10_000_000 // members looked at, characters matched: about a second
)

// schemaExample returns a small JSON text that is valid for the JSON schema: required members only, the fewest items,
// the first alternative that can be met. Keywords that it does not know are ignored.
func schemaExample(schema json.RawMessage) (string, error) {
	if len(schema) == 0 {
		return "{}", nil // a function without parameters
	}
	var root any
	if err := httpx.DecodeJSON(schema, &root, httpx.IgnoreUnknown); err != nil {
		return "", err
	}
	m := &schemaMaker{root: root, open: map[string]bool{"#": true}}
	value, err := m.make(root, 0)
	if m.work > maxSchemaWork {
		err = errTooMuch // whatever it looked like where the work ended
	}
	if err != nil {
		return "", err
	}
	text, err := httpx.EncodeJSON(value)
	return strings.TrimSuffix(string(text), "\n"), err
}

// schemaMaker makes values for the schemas of one document.
type schemaMaker struct {
	root any
	// open are the references that are being followed. Following one inside itself is never needed: what the inner one
	// makes would have done for the outer. So recursive schemas end without a bound on depth.
	open  map[string]bool
	steps int
	depth int
	work  int
}

// spend reports whether there is still leave for so much more work.
func (m *schemaMaker) spend(work int) bool {
	m.work += work
	return m.work <= maxSchemaWork
}

var (
	errTooMuch   = errors.New("it is too large for the demo")
	errRecursive = errors.New("it requires itself, so no value can meet it")
	errNothing   = errors.New("no value can meet it")
)

// make returns a value for schema. Values for different variants differ where the schema leaves room: that is how a
// list gets unique items.
func (m *schemaMaker) make(schema any, variant int) (any, error) {
	m.steps++
	m.depth++
	defer func() { m.depth-- }()
	if m.steps > maxSchemaSteps || m.depth > maxSchemaDepth || !m.spend(1) {
		return nil, errTooMuch
	}
	s, ok := schema.(object)
	switch {
	case schema == false:
		return nil, errNothing
	case !ok:
		return anyText(variant), nil // true, or something that is no schema
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.follow(s, ref, variant)
	}
	if parts, ok := s["allOf"].([]any); ok {
		merged := without(s, "allOf")
		for _, part := range parts {
			if merged, ok = m.merge(merged, part); !ok {
				return nil, errNothing
			}
		}
		return m.make(merged, variant)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if alternatives, ok := s[keyword].([]any); ok {
			return m.firstOf(without(s, keyword), alternatives, variant)
		}
	}
	return m.plain(s, variant)
}

// follow makes a value for what ref points to, which the members beside it narrow.
func (m *schemaMaker) follow(s object, ref string, variant int) (any, error) {
	if m.open[ref] {
		return nil, errRecursive
	}
	target, err := m.lookup(ref)
	if err != nil {
		return nil, err
	}
	merged, ok := m.merge(without(s, "$ref"), target)
	if !ok {
		return nil, errNothing
	}
	m.open[ref] = true
	defer delete(m.open, ref)
	return m.make(merged, variant)
}

// lookup resolves a reference into the same document: "#/$defs/name".
func (m *schemaMaker) lookup(ref string) (any, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("$ref %q leads out of the schema", shorten(ref, 80))
	}
	at := m.root
	for _, name := range strings.Split(path, "/")[1:] {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch parent := at.(type) {
		case object:
			at, ok = parent[name]
		case []any:
			var i int
			i, ok = index(name, len(parent))
			if ok {
				at = parent[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("$ref %q leads nowhere", shorten(ref, 80))
		}
	}
	return at, nil
}

func index(name string, length int) (int, bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && i >= 0 && i < length
}

// firstOf makes a value for the first alternative that can be met. Null comes last: it says least.
func (m *schemaMaker) firstOf(rest object, alternatives []any, variant int) (any, error) {
	isNull := func(schema any) bool {
		s, _ := schema.(object)
		return s["type"] == "null"
	}
	ordered := slices.Clone(alternatives)
	slices.SortStableFunc(ordered, func(a, b any) int {
		switch {
		case isNull(a) == isNull(b):
			return 0
		case isNull(b):
			return -1
		default:
			return 1
		}
	})
	err := errNothing
	for _, alternative := range ordered {
		merged, ok := m.merge(rest, alternative)
		if !ok {
			continue
		}
		var value any
		if value, err = m.make(merged, variant); err == nil {
			return value, nil
		}
	}
	return nil, err
}

// plain makes a value for a schema without references and alternatives.
func (m *schemaMaker) plain(s object, variant int) (any, error) {
	if value, ok := s["const"]; ok {
		return m.oneOf([]any{value}, s, variant)
	}
	if values, ok := s["enum"].([]any); ok {
		return m.oneOf(values, s, variant)
	}
	err := errNothing
	for _, typ := range types(s) {
		var value any
		if value, err = m.typed(typ, s, variant); err == nil {
			return value, nil
		}
	}
	return nil, err
}

func (m *schemaMaker) typed(typ string, s object, variant int) (any, error) {
	switch typ {
	case "object":
		return m.object(s, variant)
	case "array":
		return m.array(s, variant)
	case "string":
		return m.stringExample(s, variant)
	case "integer", "number":
		return numberExample(s, typ == "integer", variant)
	case "boolean":
		return variant%2 == 0, nil
	case "null":
		return nil, nil
	case "":
		return anyText(variant), nil
	default:
		return nil, fmt.Errorf("type %q is unknown", shorten(typ, 80))
	}
}

// types are the types to try in turn, null last; "" when the schema allows any. Without a type the keywords tell.
func types(s object) []string {
	var out []string
	switch t := s["type"].(type) {
	case string:
		out = []string{t}
	case []any:
		for _, name := range t {
			if name, ok := name.(string); ok && name != "null" {
				out = append(out, name)
			}
		}
		if slices.Contains(t, any("null")) {
			out = append(out, "null")
		}
	default:
		out = []string{impliedType(s)}
	}
	if s["nullable"] == true { // OpenAPI's way
		out = append(out, "null")
	}
	return out
}

func impliedType(s object) string {
	for _, implied := range []struct {
		typ      string
		keywords []string
	}{
		{"object", []string{"properties", "required", "additionalProperties", "minProperties", "patternProperties"}},
		{"array", []string{"items", "prefixItems", "minItems", "uniqueItems", "contains"}},
		{"string", []string{"pattern", "format", "minLength", "maxLength"}},
		{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
	} {
		for _, keyword := range implied.keywords {
			if _, ok := s[keyword]; ok {
				return implied.typ
			}
		}
	}
	return ""
}

func anyText(variant int) string {
	if variant == 0 {
		return "demo"
	}
	return fmt.Sprintf("demo %d", variant+1)
}

func without(s object, keyword string) object {
	s = maps.Clone(s)
	delete(s, keyword)
	return s
}
