package mcpb

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dialect is a syntax for version ranges.
type dialect uint8

const (
	dialectSemver dialect = iota // ">=1.0.0 <2.0.0", "^1.2.3", "1.x || 2.x", "1.0.0 - 2.0.0"
	dialectPython                // ">=3.8,<4.0", "~=3.10", "==3.12.*", "!=3.9.1"
)

// example returns a valid range for hints.
func (d dialect) example() string {
	if d == dialectPython {
		return `">=3.8,<4.0"`
	}
	return `">=1.0.0 <2.0.0"`
}

// InRange reports whether a runtime version is in a range of a manifest's compatibility,
// such as ">=18.0.0" or, for Python, ">=3.8,<4.0". Both syntaxes are accepted for both
// runtimes. A version may have the prefix "v" and fewer than three numbers.
func InRange(version, ranges string) (bool, error) {
	v, err := parseVersion(strings.TrimPrefix(strings.TrimSpace(version), "v"))
	if err != nil {
		return false, err
	}
	r, err := parseRange(ranges, dialectSemver)
	if err != nil {
		r, err = parseRange(ranges, dialectPython)
	}
	if err != nil {
		return false, fmt.Errorf("%q is not a range of versions: %w", ranges, err)
	}
	return r.contains(v), nil
}

// version is a version in a range: up to three numbers, and an optional preview suffix.
type version struct {
	// numbers are major, minor and patch, and preview what follows a "-".
	numbers [3]uint64
	given   int // how many numbers are given, without wildcards
	preview string
}

// semver is the pattern that semver.org suggests.
const semver = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
	`(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`

// isSemver reports whether s is a semantic version: three numbers without leading zeros,
// then an optional preview and build.
func isSemver(s string) bool {
	return regexp.MustCompile(semver).MatchString(s)
}

// parseVersion parses up to three numbers, which a wildcard may end, and a preview.
func parseVersion(s string) (version, error) {
	var v version
	s, _, _ = strings.Cut(s, "+")
	s, v.preview, _ = strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	for i, p := range parts {
		if p == "*" || p == "x" || p == "X" {
			break
		}
		if i == 2 { // a preview in Python syntax: 3.13.0rc1
			if end := strings.IndexFunc(p, func(r rune) bool {
				return r < '0' || r > '9'
			}); end > 0 {
				p, v.preview = p[:end], p[end:]
			}
		}
		n, err := strconv.ParseUint(p, 10, 64)
		if err != nil || i >= len(v.numbers) {
			return v, fmt.Errorf("%q is not a version", s)
		}
		v.numbers[i], v.given = n, i+1
	}
	return v, nil
}

// compare orders versions. A preview precedes its version; previews are compared as text.
func (v version) compare(w version) int {
	if c := slices.Compare(v.numbers[:], w.numbers[:]); c != 0 {
		return c
	}
	switch {
	case v.preview == w.preview:
		return 0
	case v.preview == "":
		return 1
	case w.preview == "":
		return -1
	}
	return strings.Compare(v.preview, w.preview)
}

// up returns the first version after all versions that share the first n numbers.
func (v version) up(n int) version {
	if n == 0 {
		return version{
			numbers: [3]uint64{1 << 63},
			given:   3,
		}
	}
	var next version
	copy(next.numbers[:n], v.numbers[:n])
	next.numbers[n-1]++
	return next
}

// between is the versions from low up to, but excluding, high.
type between struct {
	// low is inclusive, high exclusive; not inverts the range.
	low, high version
	not       bool
}

// versionRange is a list of alternatives, each a list of conditions that must all be met.
type versionRange [][]between

// contains reports whether a version is in one of the alternatives.
func (r versionRange) contains(v version) bool {
	return slices.ContainsFunc(r, func(all []between) bool {
		return !slices.ContainsFunc(all, func(b between) bool {
			in := v.compare(b.low) >= 0 && v.compare(b.high) < 0
			return in == b.not
		})
	})
}

// parseRange parses a range in the syntax of npm or of Python.
func parseRange(s string, d dialect) (r versionRange, err error) {
	alternatives := []string{s}
	if d == dialectSemver {
		alternatives = strings.Split(s, "||")
	}
	for _, alternative := range alternatives {
		var all []between
		for _, word := range conditions(strings.TrimSpace(alternative), d) {
			b, err := parseComparator(strings.TrimSpace(word), d)
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
		r = append(r, all)
	}
	return r, nil
}

// conditions splits an alternative into an operator and a version each.
func conditions(s string, d dialect) []string {
	if d == dialectPython {
		return strings.Split(s, ",")
	}
	if low, high, ok := strings.Cut(s, " - "); ok {
		return []string{">=" + strings.TrimSpace(low), "<=" + strings.TrimSpace(high)}
	}
	spaced := regexp.MustCompile(`([<>=~^])\s+`)
	return strings.Fields(spaced.ReplaceAllString(cmp.Or(s, "*"), "$1"))
}

// parseComparator parses one condition. Operators are tried longest first.
func parseComparator(s string, d dialect) (between, error) {
	operators := []string{">=", "<=", "~>", ">", "<", "=", "~", "^"}
	if d == dialectPython {
		operators = []string{"===", "==", "~=", "!=", ">=", "<=", ">", "<"}
	}
	operator := ""
	for _, o := range operators {
		if rest, ok := strings.CutPrefix(s, o); ok {
			operator, s = o, strings.TrimSpace(rest)
			break
		}
	}
	if operator == "" && d == dialectPython && !strings.HasPrefix(s, "*") {
		return between{}, fmt.Errorf("%q has no operator", s)
	}
	v, err := parseVersion(strings.TrimPrefix(s, "v"))
	if err != nil {
		return between{}, err
	}
	return bounds(operator, v, d), nil
}

// bounds returns the versions that an operator and a version mean.
func bounds(operator string, v version, d dialect) between {
	var lowest version
	infinite := lowest.up(0)
	whole := v.up(v.given) // after everything that begins with the given numbers
	if v.given == 3 ||
		d == dialectPython && v.given > 0 && operator != "==" && operator != "!=" {
		whole = v
		whole.numbers[2]++
		whole.preview = ""
		if v.preview != "" {
			whole = v
			whole.preview += "\x00"
		}
	}
	switch operator {
	case ">=":
		return between{
			low:  v,
			high: infinite,
		}
	case ">":
		return between{
			low:  whole,
			high: infinite,
		}
	case "<":
		return between{
			low:  lowest,
			high: v,
		}
	case "<=":
		return between{
			low:  lowest,
			high: whole,
		}
	case "~=":
		return between{
			low:  v,
			high: v.up(max(1, v.given-1)),
		}
	case "~", "~>":
		return between{
			low:  v,
			high: v.up(min(v.given, 2)),
		}
	case "^":
		n := 1
		for n < v.given && v.numbers[n-1] == 0 {
			n++
		}
		return between{
			low:  v,
			high: v.up(min(n, v.given)),
		}
	case "!=":
		return between{
			low:  v,
			high: whole,
			not:  true,
		}
	}
	return between{
		low:  v,
		high: whole,
	}
}
