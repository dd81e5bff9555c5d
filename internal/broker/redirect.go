package broker

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// maxRedirect bounds the address of a redirect.
const maxRedirect = 512

// parseRedirect parses the redirect of a client. Only printable ASCII is accepted, so that
// browsers and the broker read it alike.
func parseRedirect(text string) (*url.URL, error) {
	if text == "" || len(text) > maxRedirect {
		return nil, fmt.Errorf("a redirect has 1 to %d bytes", maxRedirect)
	}
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c > '~' || strings.IndexByte("\\\"<>^`{|}", c) >= 0 {
			return nil, fmt.Errorf("a redirect consists of the characters of RFC 3986")
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("a redirect is a URL")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, fmt.Errorf("%s: a redirect has no fragment", secrets.URL(text))
	case u.User != nil:
		return nil, fmt.Errorf("a redirect has no user")
	case u.Scheme == "":
		return nil, fmt.Errorf("%s: a redirect is absolute", secrets.URL(text))
	}
	return u, nil
}

// isLoopback reports whether a redirect leads to a program on the machine of the user (RFC 8252,
// section 7.3). The name localhost is common among clients, though addresses are better.
func isLoopback(u *url.URL) bool {
	return u.Scheme == "http" && netguard.IsLoopbackHost(u.Hostname())
}

// reservedSchemes are those that browsers interpret themselves. None can be allowed.
func reservedSchemes() []string {
	return []string{
		"about", "blob", "chrome", "data", "file", "filesystem", "ftp", "http", "intent", "javascript", "mailto",
		"resource", "sms", "tel", "vbscript", "view-source", "ws", "wss",
	}
}

// checkAllowed checks an entry of Options.Redirects.
func checkAllowed(text string) error {
	u, err := parseRedirect(text)
	switch {
	case err != nil:
		return fmt.Errorf("redirect %q: %w", text, err)
	case u.Scheme == "https" && u.Host != "":
		return nil
	case slices.Contains(reservedSchemes(), u.Scheme) || u.Scheme == "https":
		return fmt.Errorf("redirect %q: want an https address, or a private-use scheme such as cursor: alone", text)
	case text != u.Scheme+":":
		return fmt.Errorf("redirect %q: want %s: alone", text, u.Scheme)
	}
	return nil
}

// allowed returns an error unless clients may be redirected to an address at all: to this
// machine of the user, or as the operator allows.
func (b *Broker) allowed(text string) error {
	u, err := parseRedirect(text)
	if err != nil {
		return err
	}
	if isLoopback(u) {
		return nil
	}
	for _, allowed := range b.opts.Redirects {
		a, err := url.Parse(allowed)
		switch {
		case err != nil:
		case allowed == text:
			return nil
		case a.Scheme != u.Scheme:
		case allowed == a.Scheme+":" && !slices.Contains(reservedSchemes(), u.Scheme):
			return nil
		case a.Scheme == "https" && a.Path == "" && a.RawQuery == "" && a.Host == u.Host && a.Host != "":
			return nil
		}
	}
	return fmt.Errorf("%s: redirects there are not allowed: --sign-in-redirect on the gateway allows them", shownHost(u))
}

// shownHost returns where a redirect leads, for people.
func shownHost(u *url.URL) string {
	if u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return u.Scheme + ":"
	}
	return u.Host
}

// matches reports whether a redirect is one of the registered ones: they are equal, or differ in
// the port of the machine of the user, which programs choose when they start.
func matches(registered []string, text string) bool {
	if slices.Contains(registered, text) {
		return true
	}
	given, err := parseRedirect(text)
	if err != nil || !isLoopback(given) {
		return false
	}
	return slices.ContainsFunc(registered, func(one string) bool {
		r, err := parseRedirect(one)
		return err == nil && isLoopback(r) && withoutPort(r) == withoutPort(given)
	})
}

// withoutPort returns a redirect without the port.
func withoutPort(u *url.URL) string {
	return u.Scheme + "://" + u.Hostname() + "/" + u.EscapedPath() + "?" + u.RawQuery
}

// withQuery returns a redirect with the parameters of an answer.
func withQuery(redirect string, answer url.Values) string {
	before, query, has := strings.Cut(redirect, "?")
	switch {
	case has && query != "":
		return before + "?" + query + "&" + answer.Encode()
	default:
		return before + "?" + answer.Encode()
	}
}
