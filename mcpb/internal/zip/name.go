package zip

import (
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

const (
	maxName    = 1024 // of a path, in bytes
	maxSegment = 255  // of one path segment, in bytes, as in most file systems
)

// CheckName checks the path of an entry: it must mean the same place on every system, and
// that place must be in the bundle. The error is an [*Error].
func CheckName(name string) error {
	refuse := func(format string, args ...any) error {
		return unsafef(RuleName, name, format, args...)
	}
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
			return refuse("its name points outside the archive")
		case segment == "" || segment == ".":
			return refuse("its name has an empty part")
		case trimOnWindows(segment) == "":
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

// CheckNames ensures that files with these names, and the folders that they are in, can be in one
// archive. If limits is nil, the defaults apply. The error is an [*Error].
func CheckNames(names []string, limits *Limits) error {
	entries := make([]Entry, len(names))
	for i, name := range names {
		if err := CheckName(name); err != nil {
			return err
		}
		entries[i] = Entry{
			Name: name,
			Mode: 0o644,
		}
	}
	_, err := newTree(entries, NewBudget(limits), nil)
	return err
}

// checkNameOn is [CheckName] with the additional rules of the system goos: Windows would
// open a device, or another file than the checked one.
func checkNameOn(goos, name string) error {
	if err := CheckName(name); err != nil || goos != "windows" {
		return err
	}
	if why := WindowsFault(name); why != "" {
		return unsafef(RuleName, name, "%s", why)
	}
	return nil
}

// devices matches the names that Windows reserves, also if an extension follows.
var devices = lazyregexp.New(`^(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[1-9¹²³])$`)

// WindowsFault returns why a name is invalid on Windows, or an empty string.
func WindowsFault(name string) string {
	for segment := range strings.SplitSeq(name, "/") {
		base, _, _ := strings.Cut(strings.ToUpper(segment), ".")
		base = strings.TrimRight(base, " ")
		switch {
		case trimOnWindows(segment) != segment:
			return "Windows drops the dot or the blank at the end of a part of its name"
		case strings.ContainsAny(segment, `<>"|?*`):
			return `Windows does not allow < > " | ? * in names`
		case devices().MatchString(base):
			return "Windows reserves the name " + base
		}
	}
	return ""
}

// trimOnWindows returns the name that Windows uses for a path segment.
func trimOnWindows(segment string) string {
	return strings.TrimRight(segment, ". ")
}

// cutSlash returns a name of the archive without the slash at its end, which marks a folder.
func cutSlash(name string) (path string, isFolder bool) {
	return strings.CutSuffix(name, "/")
}

// foldName returns the same string for names that a file system may treat as equal: it
// ignores case, Unicode normalization, and trailing dots and spaces.
func foldName(name string) string {
	if strings.ContainsAny(name, ". ") {
		segments := strings.Split(name, "/")
		for i, segment := range segments {
			segments[i] = trimOnWindows(segment)
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
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf
	})
}

// foldRune returns the same rune for all runes that differ only in case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
