package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
)

// maxFixturesFile bounds what LoadFixturesFile reads: it is kept in memory.
const maxFixturesFile = 64 << 20

const fixturesShape = `write it as {"<holder>": {"<query text>": [{"column": value}]}}`

// LoadFixturesFile reads a fixtures file: {"<holder>": {"<query text>": [{row}…]}}. It is strict, since a fixture that
// is silently dropped turns into a wrong verdict much later. Errors name the file and the line and carry a hint.
func LoadFixturesFile(path string) (*FixtureStore, error) {
	fixtures, err := readFixtures(path)
	if err != nil {
		return nil, fmt.Errorf("reading fixtures file %s: %w", path, err)
	}
	return NewFixtureStore(fixtures), nil
}

func readFixtures(path string) (map[string]map[string][]datastate.Row, error) {
	file, err := os.Open(path)
	if err != nil {
		var named *os.PathError
		if errors.As(err, &named) { // the caller says the path already
			err = named.Err
		}
		return nil, hint.With(err, "check the path given as --datastate-fixtures")
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFixturesFile+1))
	if err != nil {
		return nil, hint.With(err, "check the path given as --datastate-fixtures")
	}
	if len(data) > maxFixturesFile {
		return nil, hint.With(fmt.Errorf("the file is over %s", httpx.FormatSize(maxFixturesFile)), "record fewer rows, or split the fixtures")
	}
	return parseFixtures(data)
}

// parseFixtures decodes a fixtures file by hand, token by token: encoding/json would let the second of two equal
// names win, and cannot say on which line a row is not a row.
func parseFixtures(data []byte) (map[string]map[string][]datastate.Row, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors on Windows write it
	p := fixtureParser{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	fixtures := map[string]map[string][]datastate.Row{}
	err := p.object("the file", func(holder string) error {
		if holder == "" {
			return p.fail("a holder's name is empty", fixturesShape)
		}
		queries, err := p.holder(holder)
		fixtures[holder] = queries
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, p.fail("there is text after the closing brace", "remove it: the file is one JSON object")
	}
	return fixtures, nil
}

type fixtureParser struct {
	data []byte
	dec  *json.Decoder
}

// holder reads {"<query text>": [rows]}.
func (p *fixtureParser) holder(name string) (map[string][]datastate.Row, error) {
	queries := map[string][]datastate.Row{}
	err := p.object(fmt.Sprintf("holder %q", name), func(query string) error {
		query = strings.TrimSpace(query)
		if query == "" {
			return p.fail(fmt.Sprintf("holder %q: a query text is empty", name), fixturesShape)
		}
		if _, twice := queries[query]; twice { // differs from the first in white space only
			return p.fail(fmt.Sprintf("holder %q: query %q is recorded twice", name, query), "keep one of the two")
		}
		rows, err := p.rows(fmt.Sprintf("holder %q: query %q", name, query))
		queries[query] = rows
		return err
	})
	return queries, err
}

// rows reads [{row}…].
func (p *fixtureParser) rows(place string) ([]datastate.Row, error) {
	rows := []datastate.Row{}
	if err := p.open('[', place+" must hold a list of rows"); err != nil {
		return nil, err
	}
	for p.dec.More() {
		row := datastate.Row{}
		err := p.object(fmt.Sprintf("%s: row %d", place, len(rows)+1), func(column string) error {
			value, err := p.value()
			row[column] = value
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, p.close()
}

// object reads an object and calls member for each name, to read its value.
func (p *fixtureParser) object(place string, member func(name string) error) error {
	if err := p.open('{', place+" must be an object"); err != nil {
		return err
	}
	return p.members(place, member)
}

func (p *fixtureParser) members(place string, member func(name string) error) error {
	seen := map[string]bool{}
	for p.dec.More() {
		token, err := p.dec.Token()
		if err != nil {
			return p.syntax(err)
		}
		name := token.(string) // the decoder lets nothing else be a name
		if seen[name] {
			return p.fail(fmt.Sprintf("%s has %q twice", place, name), "keep one of the two")
		}
		seen[name] = true
		if err := member(name); err != nil {
			return err
		}
	}
	return p.close()
}

// value reads any value of a row.
func (p *fixtureParser) value() (any, error) {
	token, err := p.dec.Token()
	if err != nil {
		return nil, p.syntax(err)
	}
	switch token {
	case json.Delim('{'):
		fields := map[string]any{}
		return fields, p.members("a value", func(name string) (err error) {
			fields[name], err = p.value()
			return err
		})
	case json.Delim('['):
		list := []any{}
		for p.dec.More() {
			element, err := p.value()
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return list, p.close()
	}
	return token, nil
}

func (p *fixtureParser) open(delim json.Delim, otherwise string) error {
	token, err := p.dec.Token()
	if err != nil {
		return p.syntax(err)
	}
	if token != delim {
		return p.fail(otherwise, fixturesShape)
	}
	return nil
}

func (p *fixtureParser) close() error {
	if _, err := p.dec.Token(); err != nil {
		return p.syntax(err)
	}
	return nil
}

func (p *fixtureParser) syntax(err error) error {
	offset := p.dec.InputOffset()
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		// Of the decoder's two ways to find an error, one counts the bad byte and one stands before it.
		offset = max(bad.Offset, offset+1)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err, offset = errors.New("the JSON ends too early"), int64(len(p.data))
	}
	return hint.With(fmt.Errorf("%s: %w", p.place(offset), err), fixturesShape)
}

func (p *fixtureParser) fail(what, way string) error {
	return hint.With(fmt.Errorf("%s: %s", p.place(p.dec.InputOffset()), what), way)
}

// place names line and column, both from 1, as editors do.
func (p *fixtureParser) place(offset int64) string {
	before := p.data[:min(int(offset), len(p.data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(bytes.Runes(before[bytes.LastIndexByte(before, '\n')+1:]))
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}
