package apps

import (
	"net/url"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// CSP lists origins, such as https://api.example.com or https://*.example.com. They are
// passed on unchanged.
type CSP struct {
	// ConnectDomains are for fetch, XMLHttpRequest and WebSocket (connect-src).
	ConnectDomains []string `json:"connectDomains,omitempty"`
	// ResourceDomains are for scripts, styles, images, fonts and media.
	ResourceDomains []string `json:"resourceDomains,omitempty"`
	// FrameDomains are for frames inside the document (frame-src).
	FrameDomains []string `json:"frameDomains,omitempty"`
	// BaseURIDomains are for the document's base element (base-uri).
	BaseURIDomains []string `json:"baseUriDomains,omitempty"`
}

func (c *CSP) empty() bool {
	return c == nil || len(c.ConnectDomains)+len(c.ResourceDomains)+len(c.FrameDomains)+len(c.BaseURIDomains) == 0
}

// Check validates the origins in c.
func (c *CSP) Check() []check.Finding { return findings(c.report) }

// report reports invalid origins of all lists.
func (c *CSP) report(r check.Reporter) {
	for _, list := range c.lists() {
		for i, origin := range *list.origins {
			checkOrigin(r.Under(check.Pointer(list.name, i)), origin)
		}
	}
}

// domainList is a list of origins with its name in JSON.
type domainList struct {
	name    string
	origins *[]string
}

// lists returns all lists.
func (c *CSP) lists() []domainList {
	return []domainList{
		{"connectDomains", &c.ConnectDomains},
		{"resourceDomains", &c.ResourceDomains},
		{"frameDomains", &c.FrameDomains},
		{"baseUriDomains", &c.BaseURIDomains},
	}
}

// unsafeInPolicy reports whether a rune would terminate a source in a policy, or the
// whole policy.
func unsafeInPolicy(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`'";,`, r)
}

// checkOrigin reports a source that a browser would ignore, or that allows every host.
func checkOrigin(r check.Reporter, origin string) {
	scheme, rest, isOrigin := strings.Cut(origin, "://")
	switch {
	case origin == "" || strings.ContainsFunc(origin, unsafeInPolicy):
		r.Add(ruleCSPSource, "", "write an origin, as in https://api.example.com",
			"%q is not a source of a content security policy", origin)
	case origin == "*" || strings.HasSuffix(origin, "://*"):
		r.Add(ruleCSPEverything, "", "name the hosts that the document needs", "%q allows every host", origin)
	case !isOrigin && strings.HasSuffix(origin, ":"): // a scheme alone, such as blob:
	case !isOrigin:
		r.Add(ruleCSPScheme, "", "write https://"+origin+": some hosts require complete origins",
			"origin %q has no scheme", origin)
	case scheme == "" || rest == "" || strings.HasPrefix(rest, "/"):
		r.Add(ruleCSPSource, "", "write one as in https://api.example.com", "%q is not an origin", origin)
	default:
		checkHost(r, origin, rest)
	}
}

// checkHost checks the part after the scheme. A star may only replace the first label or
// the port.
func checkHost(r check.Reporter, origin, rest string) {
	host, path, _ := strings.Cut(rest, "/")
	name := strings.TrimPrefix(strings.TrimSuffix(host, ":*"), "*.")
	u, err := url.Parse("x://" + name)
	isHost := err == nil && u.Host == name && u.Hostname() != ""
	if !isHost || strings.Contains(name, "*") {
		r.Add(ruleCSPSource, "", "* can only replace the first label, as in https://*.example.com",
			"%q names no host", origin)
	} else if strings.HasPrefix(host, "*.") && !strings.Contains(u.Hostname(), ".") {
		r.Add(ruleCSPEverything, "", "name the domain, as in https://*.example.com",
			"%q allows every host of a top-level domain", origin)
	} else if path != "" {
		r.Add(ruleCSPPath, "", "remove the path: an origin has none", "%q has a path", origin)
	}
}
