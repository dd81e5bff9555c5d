package serve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// lender is a Source that answers for every URI, and lists some of them.
type lender struct {
	mcp.Unimplemented
	cat *mcp.Catalog
}

func newLender(name string, templates []string, uris ...string) lender {
	cat := &mcp.Catalog{Server: mcp.Implementation{Name: name, Version: "1"}, Subscribe: true}
	for _, uri := range uris {
		cat.Resources = append(cat.Resources, mcp.Resource{Name: uri, URI: uri})
	}
	for _, t := range templates {
		cat.Templates = append(cat.Templates, mcp.ResourceTemplate{Name: t, URITemplate: t})
	}
	return lender{cat: cat}
}

func (s lender) Catalog(context.Context) (*mcp.Catalog, error) { return s.cat, nil }

func (s lender) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	text := fmt.Sprintf("%s reads %s", s.cat.Server.Name, p.URI)
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: text}}}, nil
}

func (lender) Subscribe(context.Context, string) error { return nil }

// TestPolicyOfLabelledURI: a rule about a resource applies to each URI by which a union reads it, and a
// template of one source permits nothing of another.
func TestPolicyOfLabelledURI(t *testing.T) {
	union := func(opts *compose.UnionOptions, parts ...compose.Named) mcp.Source {
		src, err := compose.Union(t.Context(), parts, opts)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	open := compose.Named{Name: "open", Source: newLender("open", []string{"{scheme}+{+rest}"}, "open://one")}
	vault := compose.Named{
		Name:   "Vault",
		Source: newLender("vault", []string{"file:///{+path}"}, "file:///secret", "file:///public", "ui://secret"),
	}
	house := compose.Named{
		Name:   "house",
		Source: union(nil, vault, compose.Named{Name: "more", Source: newLender("more", nil, "more://one")}),
	}
	rules := `permit (principal == User::"ann", action, resource);
@id("no-secret") forbid (principal, action, resource)
when { resource in Server::"Vault" && resource has uri && resource.uri like "*secret*" };
@id("no-one-secret") forbid (principal, action, resource == Resource::"Vault/file:///secret");
permit (principal == User::"eve", action, resource);
@id("no-template") forbid (principal == User::"eve", action, resource in Resource::"open/{scheme}+{+rest}");
@id("bob-open") permit (principal == User::"bob", action, resource in Server::"open");`
	never := &compose.UnionOptions{Prefix: compose.PrefixNever} // reads no labels
	for name, tt := range map[string]struct {
		parts          []compose.Named
		who, uri, want string
		opts           *compose.UnionOptions
	}{
		"listed":              {[]compose.Named{open, vault}, "ann", "file:///secret", "rule no-", nil},
		"labelled":            {[]compose.Named{open, vault}, "ann", "vault+file:///secret", "rule no-", nil},
		"in capitals":         {[]compose.Named{open, vault}, "ann", "VAULT+file:///secret", "rule no-", nil},
		"encoded":             {[]compose.Named{open, vault}, "ann", "vault+file:///%73ecret", "rule no-", nil},
		"of an app":           {[]compose.Named{open, vault}, "ann", "ui://vault+secret", "rule no-", nil},
		"permitted":           {[]compose.Named{open, vault}, "ann", "vault+file:///public", `"result"`, nil},
		"foreign template":    {[]compose.Named{open, vault}, "bob", "vault+file:///public", "denied by policy", nil},
		"own template":        {[]compose.Named{open, vault}, "bob", "x+file:///public", `"result"`, nil},
		"template":            {[]compose.Named{open, vault}, "eve", "x+file:///public", "rule no-template", nil},
		"no labels":           {[]compose.Named{open, vault}, "eve", "vault+file:///public", "rule no-template", never},
		"nested":              {[]compose.Named{open, house}, "ann", "vault+file:///secret", "rule no-", nil},
		"nested, both labels": {[]compose.Named{open, house}, "ann", "house+vault+file:///secret", "rule no-", nil},
		"nested, permitted":   {[]compose.Named{open, house}, "ann", "house+vault+file:///public", `"result"`, nil},
		"nested, foreign":     {[]compose.Named{open, house}, "bob", "vault+file:///public", "denied by policy", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := &serve.Options{Auth: companyTokens(t)}
			o.Policy = policyOf(t, rules, nil)
			h := serve.NewHandler(union(tt.opts, tt.parts...), o)
			read := itemUse{"resources/read", tt.uri, fmt.Sprintf(`"uri":%q`, tt.uri)}.post(h, tt.who)
			if !strings.Contains(read, tt.want) {
				t.Fatalf("%s, want %q", read, tt.want)
			}
			if tt.want == `"result"` {
				return // a subscription would stay open
			}
			listen := fmt.Sprintf(`"notifications":{"resourceSubscriptions":[%q]}`, tt.uri)
			if got := (itemUse{"subscriptions/listen", "", listen}).post(h, tt.who); !strings.Contains(got, tt.want) {
				t.Errorf("subscriptions/listen: %s, want %q", got, tt.want)
			}
		})
	}
}
