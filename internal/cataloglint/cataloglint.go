// Package cataloglint checks what a server offers: the names of its tools and the
// definitions in its catalog. Its findings apply to every kind of source; the formats add
// rules of their own.
//
//	for _, f := range cataloglint.Catalog(cat) {
//		fmt.Println(f)
//	}
package cataloglint

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// ToolName checks the name of a tool against "Tool Names" in the specification, and
// against the known restrictions of clients. The findings have no position. Their rules
// are "mcp/tool-name", an error, and "mcp/tool-name-style", a warning.
func ToolName(name string) []check.Finding {
	const snake = "abcdefghijklmnopqrstuvwxyz0123456789_"
	const allowed = snake + "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-/"
	style := func(message, hint string) []check.Finding {
		return []check.Finding{check.Reporter{}.Finding(ruleToolNameStyle, "",
			hint, "tool %q: %s", name, message)}
	}
	switch {
	case name == "" || len(name) > 128 || strings.Trim(name, allowed) != "":
		return []check.Finding{check.Reporter{}.Finding(ruleToolName, "", "",
			"tool %q: a name is 1 to 128 letters, digits and _ - . /", name)}
	case len(name) > 64:
		return style(fmt.Sprintf("the name has %d characters", len(name)),
			"some clients refuse more than 64")
	case strings.Contains(name, "/"):
		return style("the name has a slash", "some clients refuse one; write _ instead")
	case strings.Trim(name, snake) != "":
		return style("the name is not in snake_case", "models know names like get_user best")
	}
	return nil
}

// Catalog checks the definitions in a catalog: names, URIs, schemas, duplicates and
// missing values. The findings have no file; their pointers start at the lists of the
// catalog, as in "/tools/0/inputSchema".
//
// In addition to those of [ToolName], the rules are "mcp/name", "mcp/duplicate",
// "mcp/uri", "mcp/uri-template", "mcp/schema", "mcp/list" and "mcp/entry", which are errors, "mcp/description", a
// warning, and "mcp/schema-note", a note.
func Catalog(c *mcp.Catalog) []check.Finding {
	k := &catalogChecker{check.Reporter{Report: &check.Report{Limit: -1}}}
	k.names(c)
	for _, m := range c.Missing {
		rule := ruleEntry
		if m.Entry == 0 {
			rule = ruleList
		}
		k.Add(rule, "", "", "%s", m)
	}
	for i := range c.Tools {
		k.tool(&c.Tools[i], fmt.Sprintf("/tools/%d", i))
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		u, err := url.Parse(r.URI)
		if err != nil || u.Scheme == "" {
			k.Add(ruleURI, fmt.Sprintf("/resources/%d/uri", i), "",
				"resource %q is not a URI with a scheme", r.URI)
		}
	}
	for i := range c.Templates {
		t := &c.Templates[i]
		if _, err := uritemplate.Parse(t.URITemplate); err != nil {
			k.Add(ruleURITemplate, fmt.Sprintf("/resourceTemplates/%d/uriTemplate", i), "", "template %q: %v",
				t.URITemplate, err)
		}
	}
	return k.Report.Findings()
}

// catalogChecker reports the findings about a catalog.
type catalogChecker struct{ check.Reporter }

// names checks that all entries have names, and that the names are unique.
func (k *catalogChecker) names(c *mcp.Catalog) {
	if c.Server.Name == "" || c.Server.Version == "" {
		k.Add(ruleName, "/server", "", "the server has no name or no version")
	}
	lists := []struct {
		list, what string
		count      int
		at         func(i int) (identity, name string)
	}{
		{"tools", "tool", len(c.Tools), func(i int) (string, string) {
			return c.Tools[i].Name, c.Tools[i].Name
		}},
		{"resources", "resource", len(c.Resources),
			func(i int) (string, string) {
				return c.Resources[i].URI, c.Resources[i].Name
			}},
		{"resourceTemplates", "resource template", len(c.Templates),
			func(i int) (string, string) {
				return c.Templates[i].URITemplate, c.Templates[i].Name
			}},
		{"prompts", "prompt", len(c.Prompts),
			func(i int) (string, string) {
				return c.Prompts[i].Name, c.Prompts[i].Name
			}},
	}
	for _, l := range lists {
		seen := make(map[string]bool, l.count)
		for i := range l.count {
			identity, name := l.at(i)
			pointer := fmt.Sprintf("/%s/%d", l.list, i)
			if name == "" && l.list != "tools" {
				k.Add(ruleName, pointer+"/name", "", "the %s has no name", l.what)
			}
			if seen[identity] {
				k.Add(ruleDuplicate, pointer, "clients take one of the two", "there are two of %s %q", l.what,
					identity)
			}
			seen[identity] = true
		}
	}
}

// tool checks a tool in its encoded form.
func (k *catalogChecker) tool(t *mcp.Tool, pointer string) {
	for _, f := range ToolName(t.Name) {
		k.Include(f, pointer+"/name")
	}
	var wire struct {
		Description               string
		InputSchema, OutputSchema json.RawMessage
	}
	encoded, err := t.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(encoded, &wire)
	}
	if err != nil {
		k.Add(ruleSchema, pointer, "", "tool %q cannot be sent: %v", t.Name, err)
		return
	}
	if wire.Description == "" {
		k.Add(ruleDescription, pointer+"/description", "models have to guess what it does",
			"tool %q has no description", t.Name)
	}
	var root struct{ Type any }
	if json.Unmarshal(wire.InputSchema, &root) != nil || root.Type != "object" {
		k.Add(ruleSchema, pointer+"/inputSchema/type", "",
			"the type of the inputSchema of tool %q is not \"object\"", t.Name)
	}
	k.schema(t.Name, "inputSchema", wire.InputSchema, pointer)
	if wire.OutputSchema != nil {
		k.schema(t.Name, "outputSchema", wire.OutputSchema, pointer)
	}
}

func (k *catalogChecker) schema(tool, which string, text []byte, pointer string) {
	pointer += "/" + which
	s, err := schema.Compile(text)
	if err != nil {
		why := err.Error()
		if e := (*schema.CompileError)(nil); errors.As(err, &e) {
			pointer = pointer + e.Pointer
			why = e.Message
		}
		k.Add(ruleSchema, pointer, "", "the %s of tool %q is not a JSON Schema: %s",
			which, tool, why)
		return
	}
	for _, note := range s.Notes() {
		k.Add(ruleSchemaNote, pointer, "", "the %s of tool %q: %s", which, tool, note)
	}
}
