package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/spell"
	"chatwright.dev/tray/server/wholefile"
)

// maxFile bounds tray.toml, which a person writes.
const maxFile = 1 << 20

// readFile returns what the file says, by key; nothing when there is no file.
func readFile(path string) (map[string]value, error) {
	if path == "" {
		return nil, nil
	}
	data, err := wholefile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, hint.With(fmt.Errorf("reading settings: %w", err), "mend the file, or move it away")
	}
	values, err := parseFile(data, filepath.Base(path), filepath.Dir(path))
	if err != nil && hint.Of(err) == "" {
		err = hint.With(err, "mend that line of "+path+"; texts stand in quotes: upstream = \"demo\"")
	}
	return values, err
}

// parseFile is strict: a key that means nothing is an error, since a misspelt setting that is ignored costs an evening.
func parseFile(data []byte, name, folder string) (map[string]value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // from an editor that marks UTF-8
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		return nil, syntaxError(err, name)
	}
	lines := linesOf(data)
	known := make(map[string]entry)
	for _, e := range entries() {
		if e.Key != "" && e.kind != kindHolder {
			known[e.Key] = e
		}
	}
	values := make(map[string]value)
	flat := flatten("", tree)
	for _, key := range sortedByLine(flat, lines) {
		source := Source{Kind: FromFile, Name: name, Line: lines[key]}
		if isHolderKey(key) {
			text, ok := flat[key].(string)
			if !ok {
				return nil, blame(source, hint.With(fmt.Errorf("%s has a value of the wrong type", clip(key)), holderWay))
			}
			values[key] = value{[]string{text}, source, folder}
			continue
		}
		if key == "datastate" || strings.HasPrefix(key, "datastate.") {
			return nil, blame(source, hint.With(fmt.Errorf("unknown setting %q", clip(key)), holderWay))
		}
		e, ok := known[key]
		if !ok {
			return nil, blame(source, unknownKey(key, known))
		}
		texts, err := e.fromTOML(flat[key])
		if err != nil {
			return nil, blame(source, err)
		}
		values[key] = value{texts, source, folder}
	}
	return values, nil
}

func syntaxError(err error, name string) error {
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := at.Position()
		return fmt.Errorf("%s line %d: %s", name, line, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// unknownKey quotes the key, clipped, and offers the one that was probably meant.
func unknownKey(key string, known map[string]entry) error {
	keys := slices.Sorted(maps.Keys(known))
	way := "the settings are: " + strings.Join(keys, ", ")
	nearest := max(1, len(key)/2) + 1 // further than half the word is another word
	for _, k := range keys {
		if d := spell.Distance(key, k); d < nearest {
			nearest, way = d, "did you mean "+k+"?"
		}
	}
	return hint.With(fmt.Errorf("unknown setting %q", clip(key)), way)
}

// fromTOML turns a TOML value of the right type into text, so that all sources are judged by the same rules.
func (e entry) fromTOML(v any) ([]string, error) {
	if list, ok := v.([]any); ok && e.Repeatable {
		texts := make([]string, 0, len(list))
		for _, item := range list {
			text, ok := item.(string)
			if !ok {
				return nil, e.wrongType()
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
	switch v := v.(type) {
	case string:
		if e.kind != kindSwitch && e.kind != kindNumber {
			return []string{v}, nil
		}
	case bool:
		if e.kind == kindSwitch {
			return []string{strconv.FormatBool(v)}, nil
		}
	case int64:
		if e.kind == kindNumber || e.kind == kindSize {
			return []string{strconv.FormatInt(v, 10)}, nil
		}
	}
	return nil, e.wrongType()
}

func (e entry) wrongType() error {
	example := `"` + e.Default + `"`
	switch {
	case e.Repeatable:
		example = `["…", "…"]`
	case e.kind == kindSwitch || e.kind == kindNumber:
		example = e.Default
	case e.Default == "":
		example = `"…"`
	}
	return hint.With(fmt.Errorf("%s has a value of the wrong type", e.Key), "write "+e.Key[strings.LastIndex(e.Key, ".")+1:]+" = "+example)
}

// flatten names each value by its dotted key. An empty table is a value too, so that it is not overlooked.
func flatten(prefix string, tree map[string]any) map[string]any {
	flat := make(map[string]any)
	for name, v := range tree {
		key := join(prefix, name)
		sub, ok := v.(map[string]any)
		if !ok || len(sub) == 0 {
			flat[key] = v
			continue
		}
		for k, v := range flatten(key, sub) {
			flat[k] = v
		}
	}
	return flat
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// linesOf says on which line each key stands. The document is known to be well-formed.
func linesOf(data []byte) map[string]int {
	lines := make(map[string]int)
	parser := unstable.Parser{}
	parser.Reset(data)
	table := ""
	for parser.NextExpression() {
		node := parser.Expression()
		switch node.Kind {
		case unstable.KeyValue:
			noteLines(&parser, lines, table, node)
		case unstable.Table, unstable.ArrayTable:
			table = noteKey(&parser, lines, "", node)
		}
	}
	return lines
}

func noteLines(parser *unstable.Parser, lines map[string]int, prefix string, node *unstable.Node) {
	key := noteKey(parser, lines, prefix, node)
	if node.Value().Kind != unstable.InlineTable {
		return
	}
	for children := node.Value().Children(); children.Next(); {
		noteLines(parser, lines, key, children.Node())
	}
}

// noteKey notes the line of a key and of the tables that a dotted one implies, and returns it.
func noteKey(parser *unstable.Parser, lines map[string]int, prefix string, node *unstable.Node) string {
	key := prefix
	for parts := node.Key(); parts.Next(); {
		key = join(key, string(parts.Node().Data))
		if _, noted := lines[key]; !noted {
			lines[key] = parser.Shape(parts.Node().Raw).Start.Line
		}
	}
	return key
}

// sortedByLine puts the first mistake first.
func sortedByLine(flat map[string]any, lines map[string]int) []string {
	return slices.SortedFunc(maps.Keys(flat), func(a, b string) int {
		return cmp.Or(lines[a]-lines[b], strings.Compare(a, b))
	})
}
