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

// The rules of [Drift].
const (
	ruleDriftTool        = "mcpb/drift-tool"
	ruleDriftPrompt      = "mcpb/drift-prompt"
	ruleDriftArgument    = "mcpb/drift-argument"
	ruleDriftDescription = "mcpb/drift-description"
	ruleDriftStatic      = "mcpb/drift-static"
	ruleDriftServer      = "mcpb/drift-server"
	ruleDriftHint        = "mcpb/tool-hints"
	ruleDriftStdout      = "mcpb/stdout"
)

// Drift compares a manifest with what its running server offers. file is the path of the
// manifest in the findings.
func Drift(m *Manifest, offered *mcp.Catalog, file string) *check.Report {
	d := &drift{m: m, cat: offered, file: file, report: &check.Report{}}
	d.tools()
	d.prompts()
	d.static()
	if v := offered.Server.Version; v != m.Version {
		d.add(ruleDriftServer, check.Warning, "/version",
			fmt.Sprintf("the bundle is version %q, and its server says %q", m.Version, v), "")
	}
	return d.report
}

// DriftStdout returns the finding for a line that a server printed to stdout and that is
// not a message: many clients close the connection at the first one. file is the path of
// the manifest.
func DriftStdout(line []byte, file string) check.Finding {
	const shown = 100
	return check.Finding{Rule: ruleDriftStdout, Severity: check.Error, File: file,
		Message: fmt.Sprintf("the server writes text to stdout, where only messages belong: %.*q", shown, line),
		Hint:    "write logs to stderr: console.error in Node.js, print(..., file=sys.stderr) in Python"}
}

type drift struct {
	m      *Manifest
	cat    *mcp.Catalog
	file   string
	report *check.Report
}

func (d *drift) add(rule string, s check.Severity, pointer, message, hint string) {
	at, _ := check.Offset(d.m.JSON(), pointer)
	line, column := check.LineColumn(d.m.JSON(), at)
	d.report.Add(check.Finding{
		Rule:     rule,
		Severity: s,
		File:     d.file,
		Line:     line,
		Column:   column,
		Pointer:  pointer,
		Message:  message,
		Hint:     hint,
	})
}

func (d *drift) tools() {
	for i, t := range d.m.Tools {
		pointer := fmt.Sprintf("/tools/%d", i)
		live := d.cat.Tool(t.Name)
		switch {
		case live == nil:
			d.add(ruleDriftTool, check.Error, pointer, fmt.Sprintf("the server has no tool %q", t.Name),
				"slipway bundle test --update writes what the server has")
		case t.Description != "" && t.Description != live.Description:
			d.add(ruleDriftDescription, check.Warning, pointer+"/description",
				fmt.Sprintf("the server describes the tool %q in other words", t.Name), "")
		}
	}
	var unknown, silent []string
	for i := range d.cat.Tools {
		t := &d.cat.Tools[i]
		if !slices.ContainsFunc(d.m.Tools, func(o Tool) bool { return o.Name == t.Name }) {
			unknown = append(unknown, t.Name)
		}
		if !saysWhatItDoes(t) {
			silent = append(silent, t.Name)
		}
	}
	if unknown != nil && !d.m.ToolsGenerated {
		d.add(ruleDriftTool, check.Error, "/tools", "the manifest leaves out tools of the server: "+few(unknown),
			`slipway bundle test --update lists them; or say "tools_generated": true`)
	}
	if silent != nil {
		d.add(ruleDriftHint, check.Note, "/tools",
			"tools that have neither readOnlyHint nor destructiveHint: "+few(silent), "annotate them in the server")
	}
}

// few lists the first few names.
func few(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

func saysWhatItDoes(t *mcp.Tool) bool {
	if t.Raw != nil {
		return bytes.Contains(t.Raw, []byte(`"readOnlyHint"`)) || bytes.Contains(t.Raw, []byte(`"destructiveHint"`))
	}
	return t.Annotations != nil
}

func (d *drift) prompts() {
	for i, p := range d.m.Prompts {
		pointer := fmt.Sprintf("/prompts/%d", i)
		live := d.cat.Prompt(p.Name)
		if live == nil {
			d.add(ruleDriftPrompt, check.Error, pointer, fmt.Sprintf("the server has no prompt %q", p.Name),
				"slipway bundle test --update writes what the server has")
			continue
		}
		if names := argumentNames(live); !slices.Equal(sorted(names), sorted(p.Arguments)) {
			d.add(ruleDriftArgument, check.Error, pointer+"/arguments",
				fmt.Sprintf("the prompt %q of the server takes %s, not %s", p.Name, listed(names), listed(p.Arguments)), "")
		}
	}
	var unknown []string
	for i := range d.cat.Prompts {
		name := d.cat.Prompts[i].Name
		if !slices.ContainsFunc(d.m.Prompts, func(p Prompt) bool { return p.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil && !d.m.PromptsGenerated {
		d.add(ruleDriftPrompt, check.Error, "/prompts", "the manifest leaves out prompts of the server: "+few(unknown),
			`slipway bundle test --update lists them; or say "prompts_generated": true`)
	}
}

func argumentNames(p *mcp.Prompt) []string {
	var names []string
	for _, a := range p.Arguments {
		names = append(names, a.Name)
	}
	return names
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

func listed(names []string) string {
	if len(names) == 0 {
		return "no arguments"
	}
	return strings.Join(names, ", ")
}

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
			d.add(ruleDriftStatic, check.Error, fmt.Sprintf("%s/%d", pointer, i),
				fmt.Sprintf("the server has no tool %q", t.Name), "")
		} else if text := definition(live); !bytes.Equal(t.Raw, text) {
			d.add(ruleDriftStatic, check.Error, fmt.Sprintf("%s/%d", pointer, i),
				fmt.Sprintf("the server defines the tool %q otherwise", t.Name), "")
		}
	}
	for i := range d.cat.Tools {
		if name := d.cat.Tools[i].Name; known.Tool(name) == nil {
			d.add(ruleDriftStatic, check.Error, pointer, fmt.Sprintf("the tool %q of the server is not among them", name), "")
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
