package mcpb

import (
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxName    = 1024 // of a path, in bytes
	maxSegment = 255  // of one path segment, in bytes, as in most file systems
)

// checkName checks the path of an entry: it must mean the same place on every system, and
// that place must be in the bundle.
func checkName(name string) error {
	refuse := func(format string, args ...any) error { return unsafef(ruleName, name, format, args...) }
	switch {
	case name == "":
		return refuse("it has no name")
	case !utf8.ValidString(name):
		return refuse("its name is not UTF-8")
	case len(name) > maxName:
		return refuse("its name has %d bytes, more than %d", len(name), maxName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return refuse("its name has a control character")
	case strings.HasPrefix(name, "/"):
		return refuse("its name is absolute")
	case strings.Contains(name, ":"):
		return refuse("its name has a colon, which begins a drive or a stream on Windows")
	case strings.Contains(name, `\`):
		return refuse("its name has a backslash, which is a separator on Windows")
	}
	for segment := range strings.SplitSeq(name, "/") {
		switch {
		case segment == "..":
			return refuse("its name leads out of the archive")
		case segment == "" || segment == ".":
			return refuse("its name has an empty part")
		case strings.Trim(segment, ". ") == "":
			return refuse("a part of its name is only dots and blanks, which Windows drops")
		case len(segment) > maxSegment:
			return refuse("a part of its name has %d bytes, more than %d", len(segment), maxSegment)
		}
	}
	if !fs.ValidPath(name) {
		return refuse("its name is not a path")
	}
	return nil
}

// checkNameOn is [checkName] with the additional rules of the system goos: Windows would
// open a device, or another file than the checked one.
func checkNameOn(goos, name string) error {
	if err := checkName(name); err != nil || goos != "windows" {
		return err
	}
	if why := oddName(name); why != "" {
		return unsafef(ruleName, name, "%s", why)
	}
	return nil
}

// oddName returns why a name is invalid on Windows, or an empty string.
func oddName(name string) string {
	for segment := range strings.SplitSeq(name, "/") {
		base, _, _ := strings.Cut(strings.ToUpper(segment), ".")
		base = strings.TrimRight(base, " ")
		switch {
		case trimmedOnWindows(segment) != segment:
			return "Windows drops the dot or the blank at the end of a part of its name"
		case strings.ContainsAny(segment, `<>"|?*`):
			return `Windows does not allow < > " | ? * in names`
		case slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}, base), isPort(base):
			return "Windows reserves the name " + base
		}
	}
	return ""
}

// trimmedOnWindows returns the name that Windows uses for a path segment.
func trimmedOnWindows(segment string) string { return strings.TrimRight(segment, ". ") }

// isPort reports whether base is COM1 to COM9 or LPT1 to LPT9, including superscript
// digits.
func isPort(base string) bool {
	digit, ok := strings.CutPrefix(base, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && utf8.RuneCountInString(digit) == 1 && strings.Contains("123456789¹²³", digit)
}

// foldName returns the same string for names that a file system may treat as equal: it
// ignores case, Unicode normalization, and trailing dots and spaces.
func foldName(name string) string {
	if strings.Contains(name, " ") || strings.Contains(name, "./") || strings.HasSuffix(name, ".") {
		segments := strings.Split(name, "/")
		for i, segment := range segments {
			segments[i] = trimmedOnWindows(segment)
		}
		name = strings.Join(segments, "/")
	}
	if isASCII(name) {
		return strings.ToLower(name)
	}
	folded := strings.Map(foldRune, norm.NFD.String(name))
	return norm.NFC.String(strings.ReplaceAll(folded, "ß", "ss"))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldRune returns the same rune for all runes that differ only in case.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
