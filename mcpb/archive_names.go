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
	maxName    = 1024 // bytes of a path
	maxSegment = 255  // bytes of one part of it, as most file systems have it
)

// checkName holds the path of an entry against the rules: it must mean the same
// place on every system, and that place must be inside.
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

// checkNameOn is [checkName] with the rules of the system goos: Windows would open a
// device, or another file than was checked.
func checkNameOn(goos, name string) error {
	if err := checkName(name); err != nil || goos != "windows" {
		return err
	}
	if why := oddName(name); why != "" {
		return unsafef(ruleName, name, "%s", why)
	}
	return nil
}

// oddName says why a name cannot be made on Windows, or returns an empty string.
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

// trimmedOnWindows returns what Windows makes of a part of a path.
func trimmedOnWindows(segment string) string { return strings.TrimRight(segment, ". ") }

// isPort reports whether base is COM1 to COM9 or LPT1 to LPT9, also with a superscript.
func isPort(base string) bool {
	digit, ok := strings.CutPrefix(base, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && utf8.RuneCountInString(digit) == 1 && strings.Contains("123456789¹²³", digit)
}

// foldName returns what two names have in common that a file system may take for
// one: case, Unicode normalization, and dots and blanks at the end do not count.
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

// foldRune returns one and the same rune for all that differ in case alone.
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
