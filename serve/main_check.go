package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// check prints the problems of what src offers, and returns 1 if there are errors.
func (p *program) check(ctx context.Context, src mcp.Source) int {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return p.report(err)
	}
	c := &checker{cat: cat}
	c.all()
	for _, f := range c.found {
		fmt.Fprintln(p.stdout, visible.Line(f))
	}
	fmt.Fprintf(p.stdout, "%s %s: %s, %s, %s, %s; %s, %s\n", cat.Server.Name, cat.Server.Version,
		check.Count(len(cat.Tools), "tool"), check.Count(len(cat.Resources), "resource"),
		check.Count(len(cat.Templates), "template"), check.Count(len(cat.Prompts), "prompt"),
		check.Count(c.errors, "error"), check.Count(len(c.found)-c.errors, "warning"))
	if c.errors > 0 {
		return exitNo
	}
	return exitOK
}

// checker checks a catalog. It adds to package cataloglint what only the author of a program can
// fix.
type checker struct {
	// cat is the catalog of the server, found what is reported, and errors how many of
	// that are errors.
	cat    *mcp.Catalog
	found  []string
	errors int
}

// errorf adds a mistake that makes -check fail.
func (c *checker) errorf(format string, args ...any) {
	c.found = append(c.found, "error: "+fmt.Sprintf(format, args...))
	c.errors++
}

// warnf adds a mistake that clients can cope with. It does not make -check fail.
func (c *checker) warnf(format string, args ...any) {
	c.found = append(c.found, "warning: "+fmt.Sprintf(format, args...))
}

// all runs the checks that -check reports, from the general to the particular.
func (c *checker) all() {
	for _, f := range slices.Concat(cataloglint.Catalog(c.cat), apps.Check(c.cat)) {
		report := c.warnf
		if f.Severity == check.Error {
			report = c.errorf
		}
		report("%s: %s [%s]", f.Pointer, f.Message, f.Rule)
	}
	for i := range c.cat.Tools {
		t := &c.cat.Tools[i]
		c.untyped(t.Name, "inputSchema", t.InputSchema)
		c.untyped(t.Name, "outputSchema", t.OutputSchema)
	}
	c.templates()
	c.arguments()
	c.lists()
}

// untyped reports members whose schema states no type, as for a Go type with its own JSON
// encoding: models would have to guess what they are.
func (c *checker) untyped(tool, which string, text []byte) {
	var root struct {
		Properties map[string]map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(text, &root) != nil {
		return // no schema, or a property whose schema is true or false
	}
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		says := root.Properties[name]
		for _, about := range []string{"title", "description", "default", "examples"} {
			delete(says, about)
		}
		if len(says) == 0 {
			c.warnf("tool %q: %s: %q may be any value: describe its type with a method JSONSchema", tool, which, name)
		}
	}
}

// templates reports templates that match the same URI.
func (c *checker) templates() {
	var parsed []*uritemplate.Template
	for _, t := range c.cat.Templates {
		one, err := uritemplate.Parse(t.URITemplate)
		if err != nil {
			continue // reported by package cataloglint
		}
		for _, other := range parsed {
			if uri, both := uritemplate.Overlap(one, other); both {
				c.warnf("template %q: %s also matches %q", t.URITemplate, uri, other)
			}
		}
		parsed = append(parsed, one)
	}
}

// arguments reports prompt arguments without a name, and names given twice.
func (c *checker) arguments() {
	for _, p := range c.cat.Prompts {
		seen := map[string]bool{}
		for _, a := range p.Arguments {
			if a.Name == "" {
				c.errorf("prompt %q: an argument has no name", p.Name)
			}
			if seen[a.Name] {
				c.errorf("prompt %q: duplicate argument %q", p.Name, a.Name)
			}
			seen[a.Name] = true
		}
	}
}

// lists encodes each list for each version of the protocol, page by page.
func (c *checker) lists() {
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		for _, v := range mcp.Versions() {
			if err := c.list(method, v); err != nil {
				c.errorf("%s in %s: %v", method, v, err)
			}
		}
	}
}

// list reads all pages of a list, as a client of version v would.
func (c *checker) list(method string, v mcp.Version) error {
	cursor := ""
	for {
		text, err := c.cat.List(method, cursor, mcp.Form{Version: v})
		if err != nil {
			return err
		}
		var page struct{ NextCursor string }
		if err := json.Unmarshal(text, &page); err != nil {
			return err
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil
		}
	}
}
