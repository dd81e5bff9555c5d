package open

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// Name returns a short name for arg, consisting of lower-case letters, digits, "-" and
// "_": for a path the last element without .zip or .md, for a URL the last element of its
// path or its host, and for a command the program it runs.
func Name(arg string) string {
	arg = normalize(arg)
	arg = strings.TrimPrefix(strings.TrimPrefix(arg, "site:"), "live:")
	base := ""
	if argv, err := commandOf(arg); err == nil && strings.HasPrefix(arg, commandPrefix) {
		base = commandName(argv)
	} else if u, err := url.Parse(arg); err == nil && u.Host != "" {
		path := strings.Trim(strings.TrimSuffix(u.Path, "mcp.json"), "/")
		if base = path[strings.LastIndexByte(path, '/')+1:]; base == "" || base == "mcp" || base == "sse" {
			base = u.Hostname()
		}
	} else {
		if abs, err := filepath.Abs(arg); err == nil {
			arg = abs
		}
		base = filepath.Base(arg)
		if ext := filepath.Ext(base); strings.EqualFold(ext, ".zip") || sitebuild.IsDocument(base) {
			base = base[:len(base)-len(ext)]
		}
	}
	name := strings.Trim(strings.Map(nameRune, base), "-_")
	if name == "" {
		return "source"
	}
	return name
}

// Title returns a name for arg that clients may see, without potential secrets: for a URL
// only the host, and for a command that contains a script or an assignment such as
// KEY=VALUE only the program. Otherwise it is the same as [Name].
func Title(arg string) string {
	arg = strings.TrimPrefix(strings.TrimPrefix(normalize(arg), "site:"), "live:")
	if argv, err := commandOf(arg); err == nil && strings.HasPrefix(arg, commandPrefix) {
		if strings.ContainsAny(commandWord(argv), " \t\n;=") {
			return Name(Command(argv[:1]))
		}
	} else if u, err := url.Parse(arg); err == nil && u.Host != "" {
		return Name(u.Scheme + "://" + u.Host)
	}
	return Name(arg)
}

func nameRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_':
		return r
	case 'A' <= r && r <= 'Z':
		return r - 'A' + 'a'
	}
	return '-'
}
