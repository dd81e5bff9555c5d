package pathglob

import (
	"fmt"
	"regexp"
	"strings"
)

// maxGlob limits a pattern, in bytes. A path in a bundle is not longer.
const maxGlob = 4 << 10

// latin1 returns a string with one character for each byte, because git matches bytes.
func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// compileGlob compiles a gitignore pattern for paths in [latin1]: * and ? do not match a
// slash, ** between slashes matches any number of folders, brackets match one byte of a
// class, and a backslash escapes the next byte. It returns nil for a pattern that matches
// nothing.
func compileGlob(glob string, anyCase bool) *regexp.Regexp {
	if len(glob) > maxGlob {
		return nil
	}
	var b strings.Builder
	b.WriteString(`^(?s`)
	if anyCase {
		b.WriteByte('i')
	}
	b.WriteByte(':')
	begins := true // at the start or after a slash, where ** is special
	for glob != "" {
		c := glob[0]
		glob = glob[1:]
		switch c {
		case '*':
			rest := strings.TrimLeft(glob, "*")
			// More than two stars equal two; git accepts an escaped slash after them, too.
			double := len(rest) < len(glob) && begins
			glob = rest
			switch {
			case double && strings.HasPrefix(rest, "/"):
				b.WriteString(`(?:.*/)?`)
				glob = rest[1:]
				continue
			case double && (rest == "" || strings.HasPrefix(rest, `\/`)):
				b.WriteString(`.*`)
			default:
				b.WriteString(`[^/]*`)
			}
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			class, rest, ok := bracket(glob)
			if !ok {
				return nil
			}
			b.WriteString(class)
			glob = rest
		default:
			if c == '\\' {
				if glob == "" {
					return nil
				}
				c = glob[0]
				glob = glob[1:]
			}
			b.WriteString(regexp.QuoteMeta(string(rune(c))))
			begins = c == '/'
			continue
		}
		begins = false
	}
	b.WriteString(`)$`)
	pattern, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return pattern
}

// bracket converts the bracket expression that begins after "[" to a class of a regular
// expression, which never matches a slash. ok is false if the expression is not closed.
func bracket(glob string) (class, rest string, ok bool) {
	class = "["
	if strings.HasPrefix(glob, "!") || strings.HasPrefix(glob, "^") {
		class = "[^/"
		glob = glob[1:]
	}
	for first := true; glob != ""; first = false {
		if glob[0] == ']' && !first {
			return class + "]", glob[1:], true
		}
		if name, after, found := strings.Cut(strings.TrimPrefix(glob, "[:"), ":]"); found && strings.HasPrefix(glob, "[:") {
			class += namedClass(name)
			glob = after
			continue
		}
		low, after, whole := classByte(glob)
		high := low
		if whole && len(after) >= 2 && after[0] == '-' && after[1] != ']' {
			high, after, whole = classByte(after[1:])
		}
		if !whole {
			break
		}
		class += byteRange(low, low) + byteRange(low, high)
		glob = after
	}
	return "", "", false
}

// classByte reads one byte of a bracket expression.
func classByte(glob string) (c byte, rest string, ok bool) {
	glob = strings.TrimPrefix(glob, `\`)
	if glob == "" {
		return 0, "", false
	}
	return glob[0], glob[1:], true
}

// byteRange returns the bytes from low to high without the slash, for a class.
func byteRange(low, high byte) string {
	switch {
	case low > high, low == '/' && high == '/':
		return ""
	case low <= '/' && '/' <= high:
		return byteRange(low, '/'-1) + byteRange('/'+1, high)
	}
	return fmt.Sprintf(`\x%02x-\x%02x`, low, high)
}

// namedClass returns a POSIX class such as digit without the slash, for a class. The
// compiler of regular expressions refuses an unknown one.
func namedClass(name string) string {
	switch name {
	case "graph":
		return `!-.0-~`
	case "print":
		return ` -.0-~`
	case "punct":
		return "!-.:-@\\[-`{-~"
	}
	return "[:" + name + ":]"
}
