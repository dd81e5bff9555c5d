package apps

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
)

// below prefixes the pointers of findings.
func below(pointer string, findings []check.Finding) []check.Finding {
	for i := range findings {
		findings[i].Pointer = pointer + findings[i].Pointer
	}
	return findings
}

// Check validates u itself. The pointers of the findings are relative to the "ui" entry,
// as in "/resourceUri"; there is no file or line. Use the function [Check] to verify that
// the linked user interface exists.
func (u ToolUI) Check() []check.Finding {
	var all []check.Finding
	if u.ResourceURI != "" {
		if err := checkURI(u.ResourceURI); err != nil {
			all = append(all, check.Reporter{}.Finding(ruleURI, "/resourceUri", "", "%s", err.Error()))
		}
	}
	if u.Visibility != nil && len(u.Visibility) == 0 {
		all = append(all, check.Reporter{}.Finding(ruleVisibility, "/visibility",
			`leave the visibility out, or name "model", "app" or both`, "no caller can see the tool"))
	}
	for i, who := range u.Visibility {
		pointer := fmt.Sprintf("/visibility/%d", i)
		switch {
		case who != VisibleToModel && who != VisibleToApp:
			all = append(all, check.Reporter{}.Finding(ruleVisibility, pointer, `there are "model" and "app"`,
				"unknown visibility %q", who))
		case slices.Contains(u.Visibility[:i], who):
			all = append(all, check.Reporter{}.Finding(ruleVisibility.As(check.Warning), pointer, "",
				"%q is named twice", who))
		}
	}
	return all
}

// Check validates u. The pointers of the findings are relative to the "ui" entry, as in
// "/csp/connectDomains/0".
func (u ResourceUI) Check() []check.Finding {
	var all []check.Finding
	if u.CSP != nil {
		all = below("/csp", u.CSP.Check())
	}
	return append(all, checkDomain(u.Domain)...)
}

// Check validates the origins in c.
func (c *CSP) Check() []check.Finding {
	var all []check.Finding
	for _, list := range []struct {
		name    string
		origins []string
	}{
		{"connectDomains", c.ConnectDomains},
		{"resourceDomains", c.ResourceDomains},
		{"frameDomains", c.FrameDomains},
		{"baseUriDomains", c.BaseURIDomains},
	} {
		for i, origin := range list.origins {
			all = append(all, below(fmt.Sprintf("/%s/%d", list.name, i), checkOrigin(origin))...)
		}
	}
	return all
}

// unsafeInPolicy reports whether a rune would terminate a source in a policy, or the
// whole policy.
func unsafeInPolicy(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`'";,`, r) }

func checkOrigin(origin string) []check.Finding {
	if origin == "" || strings.ContainsFunc(origin, unsafeInPolicy) {
		return []check.Finding{check.Reporter{}.Finding(ruleCSPSource, "",
			"write an origin, as in https://api.example.com", "%q is no source of a content security policy", origin)}
	}
	if origin == "*" || strings.HasSuffix(origin, "://*") {
		return []check.Finding{check.Reporter{}.Finding(ruleCSPEverything, "",
			"name the hosts that the document needs", "%q allows every host", origin)}
	}
	scheme, rest, ok := strings.Cut(origin, "://")
	switch {
	case !ok && strings.HasSuffix(origin, ":"):
		return nil // a scheme alone, such as blob:
	case !ok:
		return []check.Finding{check.Reporter{}.Finding(ruleCSPScheme, "",
			"write https://"+origin+": some hosts want whole origins", "origin %q has no scheme", origin)}
	case scheme == "" || rest == "" || strings.HasPrefix(rest, "/"):
		return []check.Finding{check.Reporter{}.Finding(ruleCSPSource, "",
			"write one as in https://api.example.com", "%q is no origin", origin)}
	}
	return checkHost(origin, rest)
}

// checkHost checks the part after the scheme. A star may only replace the first label or
// the port.
func checkHost(origin, rest string) []check.Finding {
	host, path, _ := strings.Cut(rest, "/")
	name := strings.TrimPrefix(strings.TrimSuffix(host, ":*"), "*.")
	if u, err := url.Parse("x://" + name); err != nil ||
		u.Host != name ||
		u.Hostname() == "" ||
		strings.Contains(name, "*") {
		return []check.Finding{check.Reporter{}.Finding(ruleCSPSource, "",
			"a star may only stand for the first part, as in https://*.example.com", "%q names no host", origin)}
	}
	if path != "" {
		return []check.Finding{check.Reporter{}.Finding(ruleCSPPath, "",
			"hosts deal in origins: leave the path out", "%q has a path", origin)}
	}
	return nil
}

func checkDomain(domain string) []check.Finding {
	switch {
	case domain == "":
		return nil
	case strings.ContainsFunc(domain, unsafeInPolicy):
		return []check.Finding{check.Reporter{}.Finding(ruleDomain, "/domain", "", "%q is no domain", domain)}
	case strings.ContainsAny(domain, ":/?#@*"):
		return []check.Finding{check.Reporter{}.Finding(ruleDomain.As(check.Warning), "/domain",
			"hosts want a form of their own, mostly like app-id.example.com", "domain %q is more than a name",
			domain)}
	}
	return nil
}

// Check validates the URI, the document and the UI settings of a.
func (a *App) Check() []check.Finding {
	var all []check.Finding
	if err := checkURI(a.URI); err != nil {
		all = append(all, check.Reporter{}.Finding(ruleURI, "", "", "%s", err.Error()))
	}
	if strings.TrimSpace(a.HTML) == "" {
		all = append(all, check.Reporter{}.Finding(ruleHTML, "", "", "the document is empty"))
	}
	return append(all, a.UI.Check()...)
}

// Check validates all user interface metadata in c, and finds tools that link to a user
// interface that does not exist. A server may omit user interfaces from its resource list
// or provide them through a template; unlisted names those it can read nevertheless. The
// pointers of the findings begin at the lists of the catalog, as in
// "/tools/0/_meta/ui/resourceUri".
func Check(c *mcp.Catalog, unlisted ...string) []check.Finding {
	known := func(uri string) bool {
		named := func(r mcp.Resource) bool { return r.URI == uri }
		return slices.Contains(unlisted, uri) || slices.ContainsFunc(c.Resources, named)
	}
	var all []check.Finding
	for i := range c.Resources {
		r := &c.Resources[i]
		all = append(all, below(fmt.Sprintf("/resources/%d", i), checkResource(r))...)
	}
	for i := range c.Tools {
		all = append(all, below(fmt.Sprintf("/tools/%d", i), checkTool(&c.Tools[i], known))...)
	}
	return all
}

func checkResource(r *mcp.Resource) []check.Finding {
	var all []check.Finding
	if strings.HasPrefix(r.URI, Scheme) && !isAppType(r.MIMEType) {
		all = append(all, check.Reporter{}.Finding(ruleMIMEType, "/mimeType", "hosts show only "+MIMEType,
			"%s has the MIME type %q", r.URI, r.MIMEType))
	}
	meta, err := metaOf(r.Raw, r.Meta)
	var ui *ResourceUI
	if err == nil {
		ui, err = ReadResourceMeta(nil, meta)
	}
	switch {
	case err != nil:
		all = append(all, check.Reporter{}.Finding(ruleMeta, "/_meta", "", "%s", err.Error()))
	case ui != nil:
		all = append(all, below("/_meta/ui", ui.Check())...)
	}
	return all
}

func checkTool(t *mcp.Tool, known func(uri string) bool) []check.Finding {
	ui, err := ToolUIOf(t)
	if err != nil {
		return []check.Finding{check.Reporter{}.Finding(ruleMeta, "/_meta", "", "%s", err.Error())}
	}
	if ui == nil {
		return nil
	}
	all := below("/_meta/ui", ui.Check())
	if ui.ResourceURI != "" && !known(ui.ResourceURI) {
		all = append(all, check.Reporter{}.Finding(ruleMissing, "/_meta/ui/resourceUri",
			"register a user interface with that URI", "tool %q links to %s, which does not exist", t.Name,
			ui.ResourceURI))
	}
	return all
}
