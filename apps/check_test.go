package apps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
)

// said returns "severity rule pointer" of each finding.
func said(findings []check.Finding) []string {
	var all []string
	for _, f := range ruletest.Record(findings...) {
		all = append(all, strings.TrimSpace(f.Severity.String()+" "+f.Rule.ID+" "+f.Pointer))
	}
	return all
}

func TestCheckToolUI(t *testing.T) {
	for _, test := range []struct {
		name string
		ui   apps.ToolUI
		want []string
	}{
		{"nothing said", apps.ToolUI{}, nil},
		{"fine", apps.ToolUI{ResourceURI: "ui://a", Visibility: []apps.Visibility{"app"}}, nil},
		{"hidden", apps.ToolUI{Visibility: []apps.Visibility{}}, []string{"error apps/visibility /visibility"}},
		{
			"unknown",
			apps.ToolUI{Visibility: []apps.Visibility{"model", "user"}},
			[]string{"error apps/visibility /visibility/1"},
		},
		{
			"twice",
			apps.ToolUI{Visibility: []apps.Visibility{"app", "app"}},
			[]string{"warning apps/visibility /visibility/1"},
		},
		{"a page of the web", apps.ToolUI{ResourceURI: "https://a.example"}, []string{"error apps/uri /resourceUri"}},
		{"upper case", apps.ToolUI{ResourceURI: "UI://a"}, []string{"error apps/uri /resourceUri"}},
		{"nothing behind the scheme", apps.ToolUI{ResourceURI: "ui://"}, []string{"error apps/uri /resourceUri"}},
		{"a space", apps.ToolUI{ResourceURI: "ui://a b"}, []string{"error apps/uri /resourceUri"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, said(test.ui.Check())); diff != "" {
				t.Errorf("Check (- want, + got):\n%s", diff)
			}
		})
	}
}

func TestCheckOrigins(t *testing.T) {
	for _, test := range []struct{ origin, want string }{
		{"https://api.example.com", ""},
		{"https://api.example.com/", ""},
		{"https://*.example.com", ""},
		{"wss://api.example.com:8443", ""},
		{"http://localhost:*", ""},
		{"http://[::1]:80", ""},
		{"blob:", ""},
		{"data:", ""},
		{"api.example.com", "warning apps/csp-scheme"},
		{"localhost:8080", "warning apps/csp-scheme"},
		{"https://api.example.com/v1", "warning apps/csp-path"},
		{"*", "warning apps/csp-everything"},
		{"https://*", "warning apps/csp-everything"},
		{"", "error apps/csp-source"},
		{"https://a.example https://b.example", "error apps/csp-source"},
		{"https://a.example; script-src *", "error apps/csp-source"},
		{"https://a.example,https://b.example", "error apps/csp-source"},
		{"'unsafe-eval'", "error apps/csp-source"},
		{"https://a.example\n", "error apps/csp-source"},
		{"https://bücher.example", "error apps/csp-source"},
		{"https://", "error apps/csp-source"},
		{"://a.example", "error apps/csp-source"},
		{"https:///path", "error apps/csp-source"},
		{"https://api.*.example.com", "error apps/csp-source"},
		{"https://user@a.example", "error apps/csp-source"},
	} {
		t.Run(test.origin, func(t *testing.T) {
			var want []string
			if test.want != "" {
				want = []string{test.want + " /csp/frameDomains/1"}
			}
			ui := apps.ResourceUI{CSP: &apps.CSP{
				ConnectDomains: []string{"https://fine.example"},
				FrameDomains:   []string{"https://fine.example", test.origin},
			}}
			if diff := cmp.Diff(want, said(ui.Check())); diff != "" {
				t.Errorf("Check of %q (- want, + got):\n%s", test.origin, diff)
			}
		})
	}
}

func TestCheckDomain(t *testing.T) {
	for domain, want := range map[string]string{
		"":                             "",
		"a904794854a047f6.example.com": "",
		"www-example-com":              "",
		"https://a.example":            "warning apps/domain /domain",
		"a.example/x":                  "warning apps/domain /domain",
		"a b":                          "error apps/domain /domain",
		"a;b":                          "error apps/domain /domain",
	} {
		if got := strings.Join(said(apps.ResourceUI{Domain: domain}.Check()), ", "); got != want {
			t.Errorf("Check of domain %q = %q, want %q", domain, got, want)
		}
	}
}

func TestCheckApp(t *testing.T) {
	app := apps.App{URI: "weather", HTML: " ", UI: apps.ResourceUI{Domain: "a b"}}
	want := []string{"error apps/uri", "error apps/html", "error apps/domain /domain"}
	if diff := cmp.Diff(want, said(app.Check())); diff != "" {
		t.Errorf("Check (- want, + got):\n%s", diff)
	}
	fine := apps.App{URI: "ui://weather", HTML: "<!doctype html>"}
	if got := fine.Check(); got != nil {
		t.Errorf("Check of a good app = %v", got)
	}
}

func TestCheckCatalog(t *testing.T) {
	link := func(uri string) json.RawMessage { return apps.ToolMeta(apps.ToolUI{ResourceURI: uri}) }
	c := &mcp.Catalog{
		Tools: []mcp.Tool{
			{Name: "plain"},
			{Name: "good", Meta: link("ui://listed")},
			{Name: "unlisted", Meta: link("ui://unlisted")},
			{Name: "lost", Meta: link("ui://lost")},
			{Name: "odd", Meta: json.RawMessage(`{"ui":[]}`)},
			{Name: "broken", Raw: json.RawMessage(`{"name":`)},
			{Name: "hidden", Meta: json.RawMessage(`{"ui":{"visibility":[]}}`)},
		},
		Resources: []mcp.Resource{
			{
				URI:      "ui://listed",
				MIMEType: apps.MIMEType,
				Meta:     apps.ResourceMeta(apps.ResourceUI{CSP: &apps.CSP{ConnectDomains: []string{"a.example"}}}),
			},
			{URI: "ui://html", MIMEType: "text/html"},
			{URI: "notes://all", MIMEType: "text/plain"},
			{URI: "ui://odd", MIMEType: apps.MIMEType, Meta: json.RawMessage(`{"ui":7}`)},
			{URI: "ui://raw", MIMEType: apps.MIMEType, Raw: json.RawMessage(`{"_meta":{"ui":{"domain":"a b"}}}`)},
		},
	}
	want := []string{
		"warning apps/csp-scheme /resources/0/_meta/ui/csp/connectDomains/0",
		"error apps/mime-type /resources/1/mimeType",
		"error apps/meta /resources/3/_meta",
		"error apps/domain /resources/4/_meta/ui/domain",
		"error apps/missing /tools/3/_meta/ui/resourceUri",
		"error apps/meta /tools/4/_meta",
		"error apps/meta /tools/5/_meta",
		"error apps/visibility /tools/6/_meta/ui/visibility",
	}
	if diff := cmp.Diff(want, said(apps.Check(c, "ui://unlisted"))); diff != "" {
		t.Errorf("Check (- want, + got):\n%s", diff)
	}
}

func TestFindingOnOneLine(t *testing.T) {
	findings := apps.ResourceUI{CSP: &apps.CSP{ConnectDomains: []string{"api.example.com"}}}.Check()
	const want = `warning: /csp/connectDomains/0: origin "api.example.com" has no scheme [apps/csp-scheme]`
	if len(findings) != 1 || findings[0].String() != want || findings[0].Hint == "" {
		t.Errorf("findings = %v, want %s and a hint", findings, want)
	}
}
