package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

// kinds are the lists that ls prints; if none is selected, all.
type kinds struct{ tools, resources, templates, prompts bool }

// listing is the output of ls --json. Fields may be added. A list that was not selected
// is omitted.
type listing struct {
	Server       mcp.Implementation     `json:"server"`
	Instructions string                 `json:"instructions,omitempty"`
	Tools        []mcp.Tool             `json:"tools,omitzero"`
	Resources    []mcp.Resource         `json:"resources,omitzero"`
	Templates    []mcp.ResourceTemplate `json:"resourceTemplates,omitzero"`
	Prompts      []mcp.Prompt           `json:"prompts,omitzero"`
}

func newLs() *cobra.Command {
	var k kinds
	var wide bool
	var name, title string
	cmd := &cobra.Command{
		Use:   "ls SOURCE",
		Short: "List the tools, resources and prompts of a source",
		Long: `List the tools, resources, resource templates and prompts of a source: all of
them, or only the given kinds.

` + sourceHelp,
		Example: `  slipway ls examples/http-reference
  slipway ls examples/http-reference --tools --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			listOnly := func(o *open.Options) {
				o.Name = name
				o.Title = title
				o.ListOnly = true
				observe := o.Live.Source.Observe
				o.Live.Source.Observe = func(e client.Event) {
					if observe(e); e.What == client.EventUnstarted {
						say(cmd.ErrOrStderr(), "%s: listed from its manifest, as required options have no values", e.Name)
						hint(cmd.ErrOrStderr(), "give them with --set or in the environment to list what its server answers")
					}
				}
			}
			return withSourceOptions(cmd, args[0], listOnly, func(c *openSource) error {
				if k == (kinds{}) {
					k = kinds{true, true, true, true}
				}
				l := list(c.cat, k)
				return show(cmd, l, func(w io.Writer, l *listing) error {
					width := 0
					if !wide {
						width = columns(w)
					}
					return l.print(w, width)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&k.tools, "tools", false, "list tools")
	cmd.Flags().BoolVar(&k.resources, "resources", false, "list resources")
	cmd.Flags().BoolVar(&k.templates, "templates", false, "list resource templates")
	cmd.Flags().BoolVar(&k.prompts, "prompts", false, "list prompts")
	cmd.Flags().BoolVar(&wide, "wide", false, "do not truncate lines to the width of the terminal")
	nameFlags(cmd, &name, &title)
	bundleFlags(cmd)
	lockFlags(cmd)
	jsonFlag(cmd, "the definitions, as clients see them,")
	return cmd
}

// list selects from the whole catalog, without pages.
func list(cat *mcp.Catalog, k kinds) *listing {
	l := &listing{
		Server:       cat.Server,
		Instructions: cat.Instructions,
	}
	if k.tools {
		l.Tools = append([]mcp.Tool{}, cat.Tools...)
	}
	if k.resources {
		l.Resources = append([]mcp.Resource{}, cat.Resources...)
	}
	if k.templates {
		l.Templates = append([]mcp.ResourceTemplate{}, cat.Templates...)
	}
	if k.prompts {
		l.Prompts = append([]mcp.Prompt{}, cat.Prompts...)
	}
	return l
}

// row is an entry in a list: what to type, and its description.
type row struct{ name, about string }

// print prints the lists as tables of at most width columns; 0 means no limit. Empty ones
// are omitted.
func (l *listing) print(w io.Writer, width int) error {
	out := bufio.NewWriter(w)
	head := l.Server.Name + " " + l.Server.Version
	if l.Server.Title != "" && !strings.EqualFold(l.Server.Title, l.Server.Name) {
		head += " (" + l.Server.Title + ")"
	}
	fmt.Fprintln(out, visible.Line(head))
	var tools, resources, templates, prompts []row
	for _, t := range l.Tools {
		tools = append(tools, row{t.Name + signature(t.InputSchema), t.Description})
	}
	for _, r := range l.Resources {
		resources = append(resources, row{r.URI, about(r.Name, r.Description)})
	}
	for _, t := range l.Templates {
		templates = append(templates, row{t.URITemplate, about(t.Name, t.Description)})
	}
	for _, p := range l.Prompts {
		prompts = append(prompts, row{p.Name + promptSignature(p.Arguments), p.Description})
	}
	table(out, width, "tools", tools)
	table(out, width, "resources", resources)
	table(out, width, "resource templates", templates)
	table(out, width, "prompts", prompts)
	return out.Flush()
}

// maxColumn prevents one long name from pushing every description to the right.
const maxColumn = 48

func table(w io.Writer, limit int, title string, rows []row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s (%d)\n", title, len(rows))
	width := 0
	for i, r := range rows {
		text, _, _ := strings.Cut(strings.TrimSpace(r.about), "\n")
		r = row{visible.Line(r.name), visible.Line(strings.TrimSuffix(text, "\r"))}
		rows[i] = r
		if n := utf8.RuneCountInString(r.name); n <= maxColumn {
			width = max(width, n)
		}
	}
	for _, r := range rows {
		pad := max(0, width-utf8.RuneCountInString(r.name))
		text := strings.TrimRight("  "+r.name+strings.Repeat(" ", pad)+"  "+r.about, " ")
		fmt.Fprintln(w, shorten(text, limit))
	}
}

// shorten truncates a line to limit characters; 0 means no limit.
func shorten(text string, limit int) string {
	if limit <= 1 || utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

func about(name, description string) string {
	if name == "" || description == "" || strings.HasPrefix(description, name) {
		return name + strings.TrimPrefix(description, name)
	}
	return name + ": " + description
}

// signature returns the arguments of a tool in the form of the command line: [optional].
func signature(schema []byte) string {
	var words []string
	for _, p := range parametersOf(schema) {
		word := p.name
		if !p.required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return "(" + strings.Join(words, ", ") + ")"
}

func promptSignature(arguments []mcp.PromptArgument) string {
	var words []string
	for _, a := range arguments {
		word := a.Name
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return "(" + strings.Join(words, ", ") + ")"
}
