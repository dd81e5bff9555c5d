package mcpb

import (
	"strings"
)

// wildmatch reports whether a gitignore pattern matches a path: * and ? do not match a
// slash, ** between slashes matches any number of folders, brackets match one byte of a
// class, and a backslash escapes the next byte. Like git, it works on bytes.
func wildmatch(pattern, name string, anyCase bool) bool {
	if anyCase {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	m := matcher{steps: maxMatchSteps}
	return m.match(pattern, name, true)
}

// maxMatchSteps limits the cost of a pattern with many stars on one path.
const maxMatchSteps = 1 << 20

type matcher struct{ steps int }

// match matches the whole of name. begins means that the pattern is at its start or after
// a slash, where ** is special.
func (m *matcher) match(pattern, name string, begins bool) bool {
	for pattern != "" {
		if m.steps--; m.steps < 0 {
			return false
		}
		switch c := pattern[0]; c {
		case '*':
			return m.star(pattern, name, begins)
		case '?':
			if name == "" || name[0] == '/' {
				return false
			}
			pattern, name = pattern[1:], name[1:]
		case '[':
			if name == "" || name[0] == '/' {
				return false
			}
			fits, rest, ok := class(pattern[1:], name[0])
			if !ok || !fits {
				return false
			}
			pattern, name = rest, name[1:]
		default:
			if c == '\\' {
				if pattern = pattern[1:]; pattern == "" {
					return false
				}
				c = pattern[0]
			}
			if name == "" || name[0] != c {
				return false
			}
			pattern, name = pattern[1:], name[1:]
			begins = c == '/'
			continue
		}
		begins = false
	}
	return name == ""
}

// star matches a pattern that begins with one or more stars.
func (m *matcher) star(pattern, name string, begins bool) bool {
	rest := strings.TrimLeft(pattern, "*")
	// More than two stars equal two; git accepts an escaped slash after them, too.
	double := len(pattern)-len(rest) > 1 && begins && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if double && (rest == "" || (rest[0] == '/' && m.match(rest[1:], name, true))) {
		return true
	}
	for i := 0; ; i++ {
		if m.match(rest, name[i:], false) {
			return true
		}
		if i == len(name) || (name[i] == '/' && !double) {
			return false
		}
	}
}

// class reads the bracket expression at pattern, after its "[", and reports whether it
// matches c. ok is false if it is not closed.
func class(pattern string, c byte) (fits bool, rest string, ok bool) {
	negated := pattern != "" && (pattern[0] == '!' || pattern[0] == '^')
	if negated {
		pattern = pattern[1:]
	}
	for first := true; ; first = false {
		if pattern == "" {
			return false, "", false
		}
		if pattern[0] == ']' && !first {
			return fits != negated, pattern[1:], true
		}
		if name, behind, found := strings.Cut(strings.TrimPrefix(pattern, "[:"),
			":]"); found && strings.HasPrefix(pattern, "[:") {
			in, known := namedClass(name, c)
			if !known {
				return false, "", false
			}
			fits, pattern = fits || in, behind
			continue
		}
		low, behind, whole := classByte(pattern)
		high := low
		if whole && len(behind) >= 2 && behind[0] == '-' && behind[1] != ']' {
			high, behind, whole = classByte(behind[1:])
		}
		if !whole {
			return false, "", false
		}
		fits, pattern = fits || c == low || (low <= c && c <= high), behind
	}
}

// classByte reads one byte of a bracket expression.
func classByte(pattern string) (c byte, rest string, ok bool) {
	if pattern[0] == '\\' {
		if pattern = pattern[1:]; pattern == "" {
			return 0, "", false
		}
	}
	return pattern[0], pattern[1:], true
}

// namedClass reports whether c is in a POSIX class, as in [[:digit:]].
func namedClass(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := 0x21 <= c && c <= 0x7e
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || ('\t' <= c && c <= '\r'), true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F'), true
	}
	return false, false
}
