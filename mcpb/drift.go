package mcpb

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Drift compares a manifest with what its running server offers. file is the path of the
// manifest in the findings.
func Drift(m *Manifest, offered *mcp.Catalog, file string) *check.Report {
	d := &drift{
		m:   m,
		cat: offered,
		Reporter: check.Reporter{
			Report:   &check.Report{},
			File:     file,
			Document: &check.Document{Text: m.JSON()},
		},
	}
	d.tools()
	d.prompts()
	d.static()
	if v := offered.Server.Version; v != m.Version {
		d.Add(ruleDriftServer, "/version", "",
			"the bundle has version %q, but its server reports %q", m.Version, v)
	}
	return d.Report
}

// DriftStdout returns the finding for a line that a server printed to stdout and that is
// not a message: many clients close the connection at the first one. file is the path of
// the manifest.
func DriftStdout(line []byte, file string) check.Finding {
	const shown = 100
	return check.Reporter{File: file}.Finding(ruleDriftStdout, "",
		"write logs to stderr: console.error in Node.js, print(..., file=sys.stderr) in Python",
		"the server writes text to stdout, where only messages belong: %.*q", shown, line)
}

// drift compares the manifest of a bundle with the catalog of its running server.
type drift struct {
	check.Reporter
	m   *Manifest
	cat *mcp.Catalog
}

// tools compares the tools in both directions. A manifest that declares generated tools may
// lack some.
func (d *drift) tools() {
	for i, t := range d.m.Tools {
		pointer := fmt.Sprintf("/tools/%d", i)
		live := d.cat.Tool(t.Name)
		switch {
		case live == nil:
			d.Add(ruleDriftTool, pointer, "slipway bundle test --update writes what the server has",
				"the server has no tool %q", t.Name)
		case t.Description != "" && t.Description != live.Description:
			d.Add(ruleDriftDescription, pointer+"/description", "",
				"the server's description of the tool %q differs", t.Name)
		}
	}
	// The other direction, in one finding for all tools.
	var unknown, silent []string
	for i := range d.cat.Tools {
		t := &d.cat.Tools[i]
		if !slices.ContainsFunc(d.m.Tools, func(o Tool) bool {
			return o.Name == t.Name
		}) {
			unknown = append(unknown, t.Name)
		}
		if !hasHint(t) {
			silent = append(silent, t.Name)
		}
	}
	if unknown != nil && !d.m.ToolsGenerated {
		d.Add(ruleDriftTool, "/tools", `slipway bundle test --update lists them; or set "tools_generated": true`,
			"the manifest omits tools of the server: %s", firstNames(unknown, 5))
	}
	if silent != nil {
		d.Add(ruleDriftHint, "/tools", "annotate them in the server",
			"tools that have neither readOnlyHint nor destructiveHint: %s", firstNames(silent, 5))
	}
}

// hasHint reports whether a tool declares whether it changes anything.
func hasHint(t *mcp.Tool) bool {
	if t.Raw != nil {
		return bytes.Contains(t.Raw, []byte(`"readOnlyHint"`)) ||
			bytes.Contains(t.Raw, []byte(`"destructiveHint"`))
	}
	return t.Annotations != nil
}

// prompts compares the prompts. Without prompts_generated, the manifest must list all of
// them.
func (d *drift) prompts() {
	for i, p := range d.m.Prompts {
		pointer := fmt.Sprintf("/prompts/%d", i)
		live := d.cat.Prompt(p.Name)
		if live == nil {
			d.Add(ruleDriftPrompt, pointer, "slipway bundle test --update writes what the server has",
				"the server has no prompt %q", p.Name)
			continue
		}
		if names := argumentNames(live); !slices.Equal(sorted(names), sorted(p.Arguments)) {
			d.Add(ruleDriftArgument, pointer+"/arguments", "", "the prompt %q of the server takes %s, not %s",
				p.Name, listArguments(names), listArguments(p.Arguments))
		}
	}
	var unknown []string
	for i := range d.cat.Prompts {
		name := d.cat.Prompts[i].Name
		if !slices.ContainsFunc(d.m.Prompts, func(p Prompt) bool {
			return p.Name == name
		}) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil && !d.m.PromptsGenerated {
		d.Add(ruleDriftPrompt, "/prompts",
			`slipway bundle test --update lists them; or set "prompts_generated": true`,
			"the manifest omits prompts of the server: %s", firstNames(unknown, 5))
	}
}

// argumentNames returns the names of a prompt's arguments, in order.
func argumentNames(p *mcp.Prompt) []string {
	var names []string
	for _, a := range p.Arguments {
		names = append(names, a.Name)
	}
	return names
}

func sorted(names []string) []string {
	return slices.Sorted(slices.Values(names))
}

func listArguments(names []string) string {
	if len(names) == 0 {
		return "no arguments"
	}
	return strings.Join(names, ", ")
}

// static compares the recorded answers with the definitions of the server, byte for byte.
func (d *drift) static() {
	known := d.m.StaticCatalog()
	if known == nil {
		return
	}
	pointer := "/_meta/" + metaWindows + "/static_responses/tools~1list/tools"
	for i := range known.Tools {
		t := &known.Tools[i]
		live := d.cat.Tool(t.Name)
		if live == nil {
			d.Add(ruleDriftStatic, fmt.Sprintf("%s/%d", pointer, i), "",
				"the server has no tool %q", t.Name)
		} else if text := definition(live); !bytes.Equal(t.Raw, text) {
			d.Add(ruleDriftStatic, fmt.Sprintf("%s/%d", pointer, i), "", "the server's definition of the tool %q differs",
				t.Name)
		}
	}
	for i := range d.cat.Tools {
		if name := d.cat.Tools[i].Name; known.Tool(name) == nil {
			d.Add(ruleDriftStatic, pointer, "",
				"the tool %q of the server is not among them", name)
		}
	}
}

// definition returns a tool's definition as the server lists it, without whitespace.
func definition(t *mcp.Tool) []byte {
	if t.Raw != nil {
		return jsonscan.AppendCompact(nil, t.Raw)
	}
	text, _ := mcp.Marshal(t) // a listed tool can be encoded
	return text
}
