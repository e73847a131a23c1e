package upstream

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPatternText bounds what one pattern makes: repeats multiply.
const maxPatternText = 4 * maxSchemaItems

// patternsExample returns a text that fits and that all of the expressions match. More than one come from schemas that
// were merged.
func (m *schemaMaker) patternsExample(patterns []any, fits func(string) bool, variant, most int) (string, error) {
	err, length := errNothing, patternsLength(patterns)
	for _, pattern := range patterns {
		pattern, ok := pattern.(string)
		if !ok {
			continue
		}
		var text string
		all := func(text string) bool {
			return m.spend((1+len(text))*(1+length)) && fits(text) && matchesAll(patterns, text)
		}
		if text, err = m.patternExample(pattern, all, variant, most); err == nil {
			return text, nil
		}
	}
	return "", err
}

// patternsLength tells how much work it is to match one character.
func patternsLength(patterns []any) int {
	n := 0
	for _, pattern := range patterns {
		if pattern, ok := pattern.(string); ok {
			n += len(pattern)
		}
	}
	return n
}

func matchesAll(patterns []any, text string) bool {
	for _, pattern := range patterns {
		if pattern, ok := pattern.(string); ok {
			if re, err := regexp.Compile(pattern); err != nil || !re.MatchString(text) {
				return false
			}
		}
	}
	return true
}

// patternExample returns a text that the regular expression matches and that fits. It takes the first way through the
// expression with the fewest repeats, then with more of them, up to most. Each variant starts with one repeat more.
func (m *schemaMaker) patternExample(pattern string, fits func(string) bool, variant, most int) (string, error) {
	unsupported := fmt.Errorf("pattern %q is beyond the demo", shorten(pattern, 80))
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", unsupported
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", unsupported
	}
	for extra := variant; extra < variant+most+2; extra++ {
		var b strings.Builder
		m.writeMatch(&b, tree, extra)
		if text := b.String(); fits(text) && re.MatchString(text) {
			return text, nil
		}
	}
	return "", unsupported
}

// writeMatch writes a text that re matches; what may repeat is repeated extra times beyond what it must. What matches
// nothing can be repeated for ever, so that not only the text is bounded.
func (m *schemaMaker) writeMatch(b *strings.Builder, re *syntax.Regexp, extra int) {
	if b.Len() > maxPatternText || !m.spend(1) {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(readable(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			m.writeMatch(b, sub, extra)
		}
	case syntax.OpAlternate:
		m.writeMatch(b, re.Sub[0], extra)
	case syntax.OpStar:
		m.repeat(b, re.Sub[0], extra, extra)
	case syntax.OpPlus:
		m.repeat(b, re.Sub[0], 1+extra, extra)
	case syntax.OpRepeat:
		n := re.Min + extra
		if re.Max >= 0 {
			n = min(n, re.Max)
		}
		m.repeat(b, re.Sub[0], n, extra)
	}
}

func (m *schemaMaker) repeat(b *strings.Builder, re *syntax.Regexp, n, extra int) {
	for range n {
		if m.work > maxSchemaWork {
			return
		}
		m.writeMatch(b, re, extra)
	}
}

// readable picks a rune of a character class, given as pairs of first and last: a letter or digit if there is one.
func readable(class []rune) rune {
	for _, want := range []rune{'a', 'A', '0'} {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= want && want <= class[i+1] {
				return want
			}
		}
	}
	return class[0]
}
