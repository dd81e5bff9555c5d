package secrets

import (
	"net/url"
	"slices"
	"strings"
)

// URL returns a URL without its password, query and fragment, for messages.
func URL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the URL"
	}
	if u.User != nil {
		u.User = url.User("redacted")
	}
	if u.RawQuery != "" {
		u.RawQuery = "redacted"
	}
	u.Fragment = ""
	return u.String()
}

// Command returns the words of a command for messages, without the values of options and
// assignments whose name is that of a secret, known credentials, and the secret parts of
// URLs.
func Command(argv []string) []string {
	shown := slices.Clone(argv)
	for i, word := range shown {
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case assigned && value != "" && Name(strings.TrimLeft(name, "-")):
			shown[i] = name + "=" + Redacted
		case i > 0 && strings.HasPrefix(argv[i-1], "-") &&
			!strings.HasPrefix(word, "-") && isSecretOption(argv[i-1]):
			shown[i] = Redacted
		case strings.Contains(word, "://"):
			shown[i] = showURL(word)
		case Known(word) != "":
			shown[i] = Redacted
		}
	}
	return shown
}

// isSecretOption reports whether the next word is the secret value of an option.
func isSecretOption(option string) bool {
	return !strings.Contains(option, "=") && Name(strings.TrimLeft(option, "-"))
}

// showURL is [URL] for a word that may have a name or a prefix before the URL.
func showURL(word string) string {
	scheme := strings.LastIndexAny(word[:strings.Index(word, "://")], "=:,") + 1
	shown := word[:scheme] + URL(word[scheme:])
	if Known(strings.Replace(shown, "redacted@", "", 1)) != "" {
		return Redacted // in its path
	}
	return shown
}
