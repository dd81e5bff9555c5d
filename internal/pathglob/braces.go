package pathglob

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Compile compiles a glob as the tools of JavaScript know them (picomatch): "*" and "?" match
// within a folder, "**" between slashes matches any number of folders, "[a-z]" one character,
// "{a,b}", "@(a|b)", "?(a)", "*(a)" and "+(a)" alternatives. Folders before the path are ignored in
// "./a". It returns nil for a glob with another syntax, such as "!(a)" or "{1..3}". Files that begin
// with a dot are matched by "*", too.
func Compile(glob string) *regexp.Regexp {
	glob = strings.TrimPrefix(glob, "./")
	if glob == "" || len(glob) > maxGlob || strings.HasPrefix(glob, "!") || strings.HasPrefix(glob, "/") {
		return nil
	}
	var b strings.Builder
	var open []string // what ends each group
	b.WriteString(`^(?s:`)
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		if strings.IndexByte("!@?*+", c) >= 0 && i+1 < len(glob) && glob[i+1] == '(' {
			if c == '!' {
				return nil
			}
			b.WriteString("(?:")
			open = append(open, ")"+strings.Trim(string(c), "@"))
			i++
			continue
		}
		inGroup := len(open) > 0
		switch {
		case c == '*':
			n := len(glob[i:]) - len(strings.TrimLeft(glob[i:], "*"))
			begins := i == 0 || strings.IndexByte("/{,(|", glob[i-1]) >= 0
			i += n - 1
			switch rest := glob[i+1:]; {
			case n > 1 && begins && strings.HasPrefix(rest, "/"):
				b.WriteString(`(?:.*/)?`)
				i++
			case n > 1 && begins && (rest == "" || strings.IndexByte("},)|", rest[0]) >= 0):
				b.WriteString(`.*`)
			default:
				b.WriteString(`[^/]*`)
			}
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			class, rest, ok := bracket(glob[i+1:])
			if !ok {
				return nil
			}
			b.WriteString(class)
			i = len(glob) - len(rest) - 1
		case c == '{':
			if end := strings.IndexByte(glob[i:], '}'); end < 0 || strings.Contains(glob[i:i+end], "..") {
				return nil
			}
			b.WriteString("(?:")
			open = append(open, ")")
		case c == '}' && inGroup, c == ')' && inGroup:
			b.WriteString(open[len(open)-1])
			open = open[:len(open)-1]
		case c == ',' && inGroup, c == '|' && inGroup:
			b.WriteByte('|')
		case c == '\\':
			if i++; i == len(glob) {
				return nil
			}
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		default:
			_, n := utf8.DecodeRuneInString(glob[i:])
			b.WriteString(regexp.QuoteMeta(glob[i : i+n]))
			i += n - 1
		}
	}
	if len(open) > 0 {
		return nil
	}
	b.WriteString(`)$`)
	pattern, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return pattern
}
