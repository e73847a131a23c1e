package meter

// What stands here does in one go what the states do byte by byte, where all of it lies before us: most of an event is
// members that nobody asked for. It must come to the same state, for pieces may be cut anywhere.

// memberRun takes the name of a member with its colon, and its value too if that is short work and nobody asked for it.
// It returns how many bytes it took: 0 leaves them to the states.
func (s *jsonScanner) memberRun(p []byte) int {
	if p[0] != '"' {
		return 0
	}
	end := 1 + special(p[1:])
	if end+1 >= len(p) || p[end] != '"' || p[end+1] != ':' {
		return 0
	}
	s.current, s.state = s.frames[s.depth-1].at.member(p[1:end]), stateValue
	at := end + 2
	if at < len(p) && p[at] == ' ' {
		at++
	}
	if s.current != nil {
		return at
	}
	n := scalarRun(p[at:])
	if n == 0 {
		return at
	}
	at += n
	if s.state = stateAfter; at < len(p) && p[at] == ',' {
		s.state = stateName
		at++
	}
	return at
}

// scalarRun is how long the string or literal is that p begins with; 0 if its end is not in p, if it has a backslash, or
// if it is something else.
func scalarRun(p []byte) int {
	if len(p) == 0 {
		return 0
	}
	switch c := p[0]; {
	case c == '"':
		if end := 1 + special(p[1:]); end < len(p) && p[end] == '"' {
			return end + 1
		}
	case startsLiteral(c):
		for i, c := range p {
			if endsLiteral(c) {
				return i
			}
		}
	}
	return 0
}

func startsLiteral(c byte) bool {
	return c == '-' || '0' <= c && c <= '9' || c == 't' || c == 'f' || c == 'n'
}

func endsLiteral(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}
