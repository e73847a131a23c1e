package studio

import (
	"cmp"
	"strings"
)

// A semver is a parsed semantic version (semver.org 2.0). Build metadata is left out: it orders nothing.
type semver struct {
	core       [3]string // numbers as text, without leading zeros
	prerelease []string
}

// OlderVersion reports whether a precedes b. A version that is not semantic is never older than another.
func OlderVersion(a, b string) bool {
	left, ok := parseSemver(a)
	if !ok {
		return false
	}
	right, ok := parseSemver(b)
	return ok && left.compare(right) < 0
}

// parseSemver takes a leading "v" as well, as release tags have it.
func parseSemver(text string) (v semver, ok bool) {
	text = strings.TrimPrefix(text, "v")
	text, build, hasBuild := strings.Cut(text, "+")
	if hasBuild && !identifiers(strings.Split(build, "."), false) {
		return v, false
	}
	text, pre, hasPre := strings.Cut(text, "-")
	if hasPre {
		v.prerelease = strings.Split(pre, ".")
		if !identifiers(v.prerelease, true) {
			return v, false
		}
	}
	core := strings.Split(text, ".")
	if len(core) != 3 {
		return v, false
	}
	for i, number := range core {
		if !numeric(number) || (len(number) > 1 && number[0] == '0') {
			return v, false
		}
		v.core[i] = number
	}
	return v, true
}

func identifiers(parts []string, strictNumbers bool) bool {
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return !isAlnum(r) && r != '-' }) {
			return false
		}
		if strictNumbers && numeric(part) && len(part) > 1 && part[0] == '0' {
			return false
		}
	}
	return true
}

func numeric(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func (v semver) compare(other semver) int {
	for i := range v.core {
		if order := compareNumbers(v.core[i], other.core[i]); order != 0 {
			return order
		}
	}
	if len(v.prerelease) == 0 || len(other.prerelease) == 0 { // a release comes after its prereleases
		return cmp.Compare(len(other.prerelease), len(v.prerelease))
	}
	for i := range min(len(v.prerelease), len(other.prerelease)) {
		if order := compareIdentifiers(v.prerelease[i], other.prerelease[i]); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(v.prerelease), len(other.prerelease))
}

// compareIdentifiers puts numbers before words, numbers by value, words by their bytes.
func compareIdentifiers(a, b string) int {
	switch {
	case numeric(a) && numeric(b):
		return compareNumbers(a, b)
	case numeric(a):
		return -1
	case numeric(b):
		return 1
	}
	return strings.Compare(a, b)
}

// compareNumbers needs no parsing, so no number is too long: of two without leading zeros the longer is greater.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
