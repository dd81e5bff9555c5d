package identity

import (
	"net/http"
	"strings"
)

// Limits of the WWW-Authenticate headers that are read.
const (
	maxChallengeBytes = 16 << 10
	maxChallenges     = 16
	maxParameters     = 32
)

// challenge is one challenge of a WWW-Authenticate header (RFC 9110, section 11.6.1).
type challenge struct {
	scheme string            // in lower case
	params map[string]string // by name in lower case; the first of each name
}

// demand is what a refusal of a server asks for.
type demand struct {
	// metadata is the address of the protected resource metadata, or empty.
	metadata string
	// scopes are the scopes that the request needs, if the server names any.
	scopes []string
	// code is the OAuth error, such as insufficient_scope, or empty.
	code string
	// dpop reports whether the server accepts only tokens that are bound to a key.
	dpop bool
}

// known reports whether the server said what it demands.
func (d *demand) known() bool { return d.metadata != "" || d.code != "" || len(d.scopes) > 0 || d.dpop }

// demandOf returns the demand of a response. Without a usable challenge it is empty.
func demandOf(h http.Header) demand {
	var d demand
	bearer := false
	for _, c := range parseChallenges(h.Values("WWW-Authenticate")) {
		switch c.scheme {
		case "bearer":
			bearer = true
		case "dpop":
			d.dpop = true
		default:
			continue
		}
		if d.metadata == "" {
			d.metadata = c.params["resource_metadata"]
		}
		if d.scopes == nil {
			d.scopes = splitScopes(c.params["scope"])
		}
		if d.code == "" {
			d.code = c.params["error"]
		}
	}
	d.dpop = d.dpop && !bearer
	return d
}

// parseChallenges reads all challenges of all headers. Malformed parts are skipped.
func parseChallenges(values []string) (all []challenge) {
	p := challengeParser{text: strings.Join(values, ", ")}
	if len(p.text) > maxChallengeBytes {
		p.text = p.text[:maxChallengeBytes]
	}
	for len(all) < maxChallenges {
		p.skip(" \t,")
		word := p.token()
		if word == "" {
			if p.at >= len(p.text) {
				break
			}
			p.at++ // nothing that begins a challenge or a parameter
			continue
		}
		value, isParam := p.value()
		switch {
		case !isParam:
			all = append(all, challenge{
				scheme: strings.ToLower(word),
				params: map[string]string{},
			})
			p.skipToken68()
		case len(all) > 0:
			addParameter(all[len(all)-1].params, word, value)
		}
	}
	return all
}

// addParameter adds a parameter of a challenge under its name in lower case. The first of several
// with the same name counts, and those beyond maxParameters are ignored.
func addParameter(params map[string]string, name, value string) {
	name = strings.ToLower(name)
	if _, known := params[name]; !known && len(params) < maxParameters {
		params[name] = value
	}
}

// challengeParser is a position in a header.
type challengeParser struct {
	text string
	at   int
}

// skip advances over any of these characters.
func (p *challengeParser) skip(chars string) {
	for p.at < len(p.text) && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
	}
}

// token reads a token of RFC 9110, which may be empty.
func (p *challengeParser) token() string {
	began := p.at
	for p.at < len(p.text) && isTokenChar(p.text[p.at]) {
		p.at++
	}
	return p.text[began:p.at]
}

// isTokenChar reports whether c may be in a token of RFC 9110, section 5.6.2.
func isTokenChar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// value reads "=" and the value of a parameter. ok is false, and nothing is read, if there
// is no "=".
func (p *challengeParser) value() (value string, ok bool) {
	began := p.at
	p.skip(" \t")
	if p.at >= len(p.text) || p.text[p.at] != '=' {
		p.at = began
		return "", false
	}
	p.at++
	p.skip(" \t")
	if p.at < len(p.text) && p.text[p.at] == '"' {
		return p.quoted(), true
	}
	return p.token(), true
}

// quoted reads a quoted string. One without an end has no value.
func (p *challengeParser) quoted() string {
	var value []byte
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return string(value)
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			value = append(value, p.text[p.at])
		default:
			value = append(value, c)
		}
	}
	return ""
}

// skipToken68 skips credentials in the form of a token68 that follow a scheme, as those of
// Negotiate. They end at a comma, unlike the name of a parameter.
func (p *challengeParser) skipToken68() {
	began := p.at
	p.skip(" \t")
	for p.at < len(p.text) && (isTokenChar(p.text[p.at]) || p.text[p.at] == '/') {
		p.at++
	}
	p.skip("=")
	p.skip(" \t")
	if p.at < len(p.text) && p.text[p.at] != ',' {
		p.at = began // a parameter
	}
}

// splitScopes returns the scopes of a space-separated list without duplicates.
func splitScopes(text string) []string { return mergeScopes(strings.Fields(text)) }

// mergeScopes returns the union of lists of scopes, in order.
func mergeScopes(lists ...[]string) (all []string) {
	known := map[string]bool{}
	for _, list := range lists {
		for _, scope := range list {
			if !known[scope] && isScope(scope) {
				known[scope] = true
				all = append(all, scope)
			}
		}
	}
	return all
}

// isScope reports whether a word is a scope of RFC 6749, section 3.3.
func isScope(word string) bool {
	for i := range len(word) {
		c := word[i]
		if c < '!' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return word != "" && len(word) <= 256
}
