package apps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
)

// findings returns what report adds.
func findings(report func(check.Reporter)) []check.Finding {
	all := check.Report{Limit: -1}
	report(check.Reporter{Report: &all})
	return all.Findings()
}

// Check validates u itself. The pointers of the findings are relative to the "ui" entry,
// as in "/resourceUri"; there is no file or line. Use the function [Check] to verify that
// the linked user interface exists.
func (u ToolUI) Check() []check.Finding { return findings(u.report) }

// report reports faults in the link from a tool to its user interface.
func (u ToolUI) report(r check.Reporter) {
	if u.ResourceURI != "" {
		if err := checkURI(u.ResourceURI); err != nil {
			r.Add(ruleURI, "/resourceUri", "", "%s", err.Error())
		}
	}
	if u.Visibility != nil && len(u.Visibility) == 0 {
		r.Add(ruleVisibility, "/visibility",
			`omit visibility, or list "model", "app" or both`, "no caller can see the tool")
	}
	for i, who := range u.Visibility {
		pointer := fmt.Sprintf("/visibility/%d", i)
		switch {
		case who != VisibleToModel && who != VisibleToApp:
			r.Add(ruleVisibility, pointer, `there are "model" and "app"`,
				"unknown visibility %q", who)
		case slices.Contains(u.Visibility[:i], who):
			r.Add(ruleVisibility.As(check.Warning), pointer, "",
				"%q is named twice", who)
		}
	}
}

// Check validates u. The pointers of the findings are relative to the "ui" entry, as in
// "/csp/connectDomains/0".
func (u ResourceUI) Check() []check.Finding { return findings(u.report) }

func (u ResourceUI) report(r check.Reporter) {
	if u.CSP != nil {
		u.CSP.report(r.Under("/csp"))
	}
	checkDomain(r, u.Domain)
}

// checkDomain warns about domains that hosts refuse: each host has a form of its own.
func checkDomain(r check.Reporter, domain string) {
	if strings.ContainsFunc(domain, unsafeInPolicy) {
		r.Add(ruleDomain, "/domain", "", "%q is not a domain", domain)
	} else if strings.ContainsAny(domain, ":/?#@*") {
		r.Add(ruleDomain.As(check.Warning), "/domain",
			"each host has its own form, usually like app-id.example.com", "domain %q is more than a name", domain)
	}
}

// Check validates the URI, the document and the UI settings of a.
func (a *App) Check() []check.Finding { return findings(a.report) }

// report reports everything that keeps hosts from showing the app.
func (a *App) report(r check.Reporter) {
	if err := checkURI(a.URI); err != nil {
		r.Add(ruleURI, "", "", "%s", err.Error())
	}
	if strings.TrimSpace(a.HTML) == "" {
		r.Add(ruleHTML, "", "", "the document is empty")
	}
	a.UI.report(r)
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
	return findings(func(r check.Reporter) {
		for i := range c.Resources {
			checkResource(r.Under(check.Pointer("resources", i)), &c.Resources[i])
		}
		for i := range c.Tools {
			checkTool(r.Under(check.Pointer("tools", i)), &c.Tools[i], known)
		}
	})
}

// checkResource reports faults of a listed user interface.
func checkResource(r check.Reporter, resource *mcp.Resource) {
	if strings.HasPrefix(resource.URI, Scheme) && !isAppType(resource.MIMEType) {
		r.Add(ruleMIMEType, "/mimeType", "hosts show only "+MIMEType,
			"%s has the MIME type %q", resource.URI, resource.MIMEType)
	}
	meta, err := metaOf(resource.Raw, resource.Meta)
	var ui *ResourceUI
	if err == nil {
		ui, err = ReadResourceMeta(nil, meta)
	}
	switch {
	case err != nil:
		r.Add(ruleMeta, "/_meta", "", "%s", err.Error())
	case ui != nil:
		ui.report(r.Under("/_meta/ui"))
	}
}

// checkTool reports faults of a tool's user interface. known reports whether a resource
// exists.
func checkTool(r check.Reporter, t *mcp.Tool, known func(uri string) bool) {
	ui, err := ToolUIOf(t)
	if err != nil {
		r.Add(ruleMeta, "/_meta", "", "%s", err.Error())
		return
	}
	if ui == nil {
		return
	}
	ui.report(r.Under("/_meta/ui"))
	if ui.ResourceURI != "" && !known(ui.ResourceURI) {
		r.Add(ruleMissing, "/_meta/ui/resourceUri",
			"register a user interface with that URI", "tool %q links to %s, which does not exist", t.Name,
			ui.ResourceURI)
	}
}
