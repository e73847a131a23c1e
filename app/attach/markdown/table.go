package markdown

import (
	"slices"
	"strings"
)

type alignment int

const (
	left alignment = iota
	centre
	right
)

// parseTable reads a table: a line with bars, a line that says how the columns stand, and rows. It returns 0 where
// lines begin with none.
func parseTable(lines []string) (block, int) {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") {
		return block{}, 0
	}
	header, align := cellsOf(lines[0]), alignments(lines[1])
	if len(align) != len(header) {
		return block{}, 0
	}
	b := block{kind: table, align: align, rows: [][]string{header}}
	n := 2
	for ; n < len(lines) && strings.Contains(lines[n], "|"); n++ {
		row := cellsOf(lines[n])
		for len(row) < len(header) {
			row = append(row, "")
		}
		b.rows = append(b.rows, row[:len(header)])
	}
	return b, n
}

// alignments reads the second line of a table; nil where it is another line.
func alignments(line string) (all []alignment) {
	if !strings.Contains(line, "-") {
		return nil
	}
	for _, cell := range cellsOf(line) {
		dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil
		}
		switch {
		case strings.HasPrefix(cell, ":") && strings.HasSuffix(cell, ":"):
			all = append(all, centre)
		case strings.HasSuffix(cell, ":"):
			all = append(all, right)
		default:
			all = append(all, left)
		}
	}
	return all
}

// cellsOf splits a row at its bars, but for those that are escaped or in code.
func cellsOf(line string) (cells []string) {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	var cell strings.Builder
	inCode := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case c == '|' && !inCode:
			cells = append(cells, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			inCode = inCode != (c == '`')
			cell.WriteByte(c)
		}
	}
	if rest := strings.TrimSpace(cell.String()); rest != "" {
		cells = append(cells, rest)
	}
	return cells
}

const (
	columnGap  = 2
	leastWidth = 6 // of a column that has to be narrower than its text
)

// layoutTable sets columns side by side where there is room for them, and else one row below the other as "name: value".
func layoutTable(b block, page Page) []Line {
	cells := make([][][]Span, len(b.rows))
	widths := make([]int, len(b.align))
	for i, row := range b.rows {
		style := Style(0)
		if i == 0 {
			style = Strong
		}
		for j, text := range row {
			spans := parseInline(text, style)
			cells[i] = append(cells[i], spans)
			widths[j] = max(widths[j], spansWidth(spans, page.Method))
		}
	}
	if !fit(widths, page.Columns-columnGap*(len(widths)-1)) {
		return layoutRecords(cells, page)
	}
	var lines []Line
	for i, row := range cells {
		lines = append(lines, layoutRow(row, widths, b.align, page)...)
		if i == 0 {
			var bar Line
			for j, width := range widths {
				if j > 0 {
					bar = append(bar, Span{strings.Repeat(" ", columnGap), 0})
				}
				bar = append(bar, Span{strings.Repeat("─", width), Faint})
			}
			lines = append(lines, bar)
		}
	}
	return lines
}

// fit makes the widest columns narrower until all have room, or reports that they would be too narrow to read.
func fit(widths []int, room int) bool {
	for total := sum(widths); total > room; total-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= leastWidth {
			return false
		}
		widths[widest]--
	}
	return true
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func layoutRow(row [][]Span, widths []int, align []alignment, page Page) []Line {
	columns := make([][]Line, len(row))
	height := 1
	for j, spans := range row {
		columns[j] = wrap(spans, Page{max(widths[j], 1), page.Method})
		height = max(height, len(columns[j]))
	}
	lines := make([]Line, height)
	for i := range lines {
		at, used := 0, 0 // where the column begins, and where the text so far ends
		for j, width := range widths {
			if i < len(columns[j]) && len(columns[j][i]) > 0 {
				cell := columns[j][i]
				free := width - spansWidth(cell, page.Method)
				begin := at + map[alignment]int{centre: free / 2, right: free}[align[j]]
				if begin > used {
					lines[i] = append(lines[i], Span{strings.Repeat(" ", begin-used), 0})
				}
				lines[i] = append(lines[i], cell...)
				used = begin + width - free
			}
			at += width + columnGap
		}
	}
	return lines
}

func layoutRecords(cells [][][]Span, page Page) (lines []Line) {
	for i, row := range cells[1:] {
		if i > 0 {
			lines = append(lines, nil)
		}
		for j, spans := range row {
			named := append(append([]Span{}, cells[0][j]...), Span{": ", Strong})
			lines = append(lines, wrap(append(named, spans...), page)...)
		}
	}
	return lines
}
