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
func patternsExample(patterns []any, fits func(string) bool, variant, most int) (string, error) {
	err := errNothing
	for _, pattern := range patterns {
		pattern, ok := pattern.(string)
		if !ok {
			continue
		}
		var text string
		all := func(text string) bool { return fits(text) && matchesAll(patterns, text) }
		if text, err = patternExample(pattern, all, variant, most); err == nil {
			return text, nil
		}
	}
	return "", err
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
func patternExample(pattern string, fits func(string) bool, variant, most int) (string, error) {
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
		writeMatch(&b, tree, extra)
		if text := b.String(); fits(text) && re.MatchString(text) {
			return text, nil
		}
	}
	return "", unsupported
}

// writeMatch writes a text that re matches; what may repeat is repeated extra times beyond what it must.
func writeMatch(b *strings.Builder, re *syntax.Regexp, extra int) {
	if b.Len() > maxPatternText {
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
			writeMatch(b, sub, extra)
		}
	case syntax.OpAlternate:
		writeMatch(b, re.Sub[0], extra)
	case syntax.OpStar:
		repeat(b, re.Sub[0], extra, extra)
	case syntax.OpPlus:
		repeat(b, re.Sub[0], 1+extra, extra)
	case syntax.OpRepeat:
		n := re.Min + extra
		if re.Max >= 0 {
			n = min(n, re.Max)
		}
		repeat(b, re.Sub[0], n, extra)
	}
}

func repeat(b *strings.Builder, re *syntax.Regexp, n, extra int) {
	for range n {
		writeMatch(b, re, extra)
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
