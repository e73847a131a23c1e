package markdown

import (
	"strconv"
	"strings"
)

type blockKind int

const (
	paragraph blockKind = iota
	heading
	code
	quote
	list
	table
	rule
)

// A block is one block of Markdown.
type block struct {
	kind  blockKind
	text  string   // of a paragraph, with its line breaks, and of a heading
	level int      // of a heading, from 1
	lang  string   // of code
	lines []string // of code
	inner []block  // of a quote
	items []item   // of a list
	rows  [][]string
	align []alignment // of a table; rows[0] is its header
	loose bool        // a list with empty lines between its items
}

// An item is one of a list; mark is what stands before it.
type item struct {
	mark  string
	inner []block
}

// maxDepth bounds how deep blocks are nested: what is deeper is text.
const maxDepth = 8

// parseBlocks reads the blocks that stand in lines.
func parseBlocks(lines []string, depth int) (blocks []block) {
	for len(lines) > 0 {
		if strings.TrimSpace(lines[0]) == "" {
			lines = lines[1:]
			continue
		}
		b, n := parseBlock(lines, depth)
		blocks = append(blocks, b)
		lines = lines[n:]
	}
	return blocks
}

// parseBlock reads the block that lines begin with, and says how many of them it takes: at least one.
func parseBlock(lines []string, depth int) (block, int) {
	line := lines[0]
	indent := indentOf(line)
	if indent >= 4 {
		return parseIndentedCode(lines)
	}
	line = strings.TrimLeft(line, " ")
	if level, text := headingOf(line); level > 0 {
		return block{kind: heading, level: level, text: text}, 1
	}
	if marker, lang, ok := opensFence(line); ok {
		return parseFence(lines, indent, marker, lang)
	}
	if isRule(line) {
		return block{kind: rule}, 1
	}
	if depth < maxDepth {
		if line[0] == '>' {
			return parseQuote(lines, depth)
		}
		if _, _, ok := bulletOf(lines[0]); ok {
			return parseList(lines, depth)
		}
	}
	if b, n := parseTable(lines); n > 0 {
		return b, n
	}
	return parseParagraph(lines, depth)
}

// begins reports whether a line begins a block that needs no empty line before it.
func begins(line string, depth int) bool {
	if indentOf(line) >= 4 {
		return false
	}
	text := strings.TrimLeft(line, " ")
	if _, _, ok := opensFence(text); ok || isHeading(text) || isRule(text) {
		return true
	}
	if depth >= maxDepth {
		return false
	}
	_, _, bullet := bulletOf(line)
	return bullet || text[0] == '>'
}

func parseParagraph(lines []string, depth int) (block, int) {
	n := 1
	for n < len(lines) && strings.TrimSpace(lines[n]) != "" {
		if level := underline(lines[n]); level > 0 {
			return block{kind: heading, level: level, text: joinTrimmed(lines[:n])}, n + 1
		}
		if begins(lines[n], depth) {
			break
		}
		n++
	}
	return block{kind: paragraph, text: joinTrimmed(lines[:n])}, n
}

// joinTrimmed keeps the line breaks: models write them to be seen.
func joinTrimmed(lines []string) string {
	trimmed := make([]string, len(lines))
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if i < len(lines)-1 {
			line = strings.TrimSuffix(line, `\`) // a hard break, which each one is
		}
		trimmed[i] = line
	}
	return strings.Join(trimmed, "\n")
}

// underline is the level of the heading that a line makes of the paragraph above it.
func underline(line string) int {
	text := strings.TrimSpace(line)
	switch {
	case len(text) > 0 && strings.Trim(text, "=") == "":
		return 1
	case len(text) > 1 && strings.Trim(text, "-") == "":
		return 2
	}
	return 0
}

func isRule(line string) bool {
	marks := 0
	var mark byte
	for i := range len(line) {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
		case (c == '-' || c == '*' || c == '_') && (mark == 0 || mark == c):
			mark = c
			marks++
		default:
			return false
		}
	}
	return marks >= 3
}

func parseIndentedCode(lines []string) (block, int) {
	b := block{kind: code}
	n, last := 0, 0
	for ; n < len(lines); n++ {
		blank := strings.TrimSpace(lines[n]) == ""
		if !blank && indentOf(lines[n]) < 4 {
			break
		}
		b.lines = append(b.lines, outdent(lines[n], 4))
		if !blank {
			last = n + 1
		}
	}
	b.lines = b.lines[:last]
	return b, n
}

func parseFence(lines []string, indent int, marker, lang string) (block, int) {
	b := block{kind: code, lang: lang}
	for n := 1; n < len(lines); n++ {
		if closesFence(lines[n], marker) {
			return b, n + 1
		}
		b.lines = append(b.lines, outdent(lines[n], indent))
	}
	return b, len(lines) // it may be closed yet
}

func parseQuote(lines []string, depth int) (block, int) {
	var inner []string
	n := 0
	for ; n < len(lines); n++ {
		text := strings.TrimLeft(lines[n], " \t")
		quoted, ok := strings.CutPrefix(text, ">")
		if !ok && (text == "" || begins(lines[n], depth)) {
			break
		}
		if !ok { // a paragraph that goes on
			quoted = text
		}
		inner = append(inner, strings.TrimPrefix(quoted, " "))
	}
	return block{kind: quote, inner: parseBlocks(inner, depth+1)}, n
}

// bulletOf reads the begin of a list item: its mark, and the column at which its text begins.
func bulletOf(line string) (mark string, column int, ok bool) {
	indent := indentOf(line)
	text := strings.TrimLeft(line, " ")
	if indent >= 4 || text == "" || isRule(text) {
		return "", 0, false
	}
	digits := 0
	for digits < len(text) && digits < 9 && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	width := digits + 1
	switch {
	case digits > 0 && digits < len(text) && (text[digits] == '.' || text[digits] == ')'):
		mark = text[:width]
	case digits == 0 && strings.ContainsRune("-*+", rune(text[0])):
		mark = "•"
	default:
		return "", 0, false
	}
	rest := text[width:]
	if rest == "" {
		return mark, indent + width + 1, true
	}
	if rest[0] != ' ' && rest[0] != '\t' {
		return "", 0, false
	}
	spaces := indentOf(rest)
	if spaces > 4 || strings.TrimSpace(rest) == "" {
		spaces = 1
	}
	return mark, indent + width + spaces, true
}

// parseList reads items that stand below one another with marks of one kind.
func parseList(lines []string, depth int) (block, int) {
	b := block{kind: list}
	first, _, _ := bulletOf(lines[0])
	number, _ := strconv.Atoi(strings.TrimRight(first, ".)"))
	n := 0
	for n < len(lines) {
		mark, column, ok := bulletOf(lines[n])
		if !ok || mark[len(mark)-1] != first[len(first)-1] {
			break
		}
		body, taken := itemLines(lines[n:], column, depth)
		if mark != "•" {
			mark = strconv.Itoa(number) + mark[len(mark)-1:]
			number++
		}
		b.items = append(b.items, item{mark, parseBlocks(body, depth+1)})
		n += taken
		blanks := blankLines(lines[n:])
		if next := n + blanks; blanks > 0 && next < len(lines) {
			if mark, _, ok := bulletOf(lines[next]); ok && mark[len(mark)-1] == first[len(first)-1] {
				b.loose = true
				n = next
			}
		}
	}
	return b, n
}

// itemLines are the lines of one item without their indent, and how many they are.
func itemLines(lines []string, column, depth int) (body []string, n int) {
	body = append(body, outdent(strings.Repeat(" ", column)+textFrom(lines[0], column), column))
	for n = 1; n < len(lines); n++ {
		line := lines[n]
		if strings.TrimSpace(line) == "" {
			next := n + blankLines(lines[n:])
			if next >= len(lines) || indentOf(lines[next]) < min(column, 2) {
				return body, n
			}
			body = append(body, "")
			continue
		}
		indent := indentOf(line)
		if indent >= column {
			body = append(body, outdent(line, column))
			continue
		}
		// Models indent by two, or three, under a mark that is wider; and a paragraph may go on with no indent at all.
		if indent >= 2 || !begins(line, depth) && strings.TrimSpace(lines[n-1]) != "" {
			body = append(body, strings.TrimLeft(line, " \t"))
			continue
		}
		break
	}
	return body, n
}

// textFrom is what stands at and after a column of a line that begins with a mark.
func textFrom(line string, column int) string {
	if column >= len(line) {
		return ""
	}
	return line[column:]
}

func blankLines(lines []string) (n int) {
	for n < len(lines) && strings.TrimSpace(lines[n]) == "" {
		n++
	}
	return n
}

// indentOf is the indent of a line in columns; a tab goes to the next multiple of four.
func indentOf(line string) (columns int) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns
		}
	}
	return columns
}

// outdent takes up to so many columns of indent away.
func outdent(line string, columns int) string {
	for at := 0; at < columns && line != ""; line = line[1:] {
		switch line[0] {
		case ' ':
			at++
		case '\t':
			at += 4 - at%4
		default:
			return line
		}
	}
	return line
}
