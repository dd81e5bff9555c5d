package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

// kinds are the lists that ls prints; if none is selected, all.
type kinds struct {
	tools, resources, templates, prompts bool
}

// listing is the output of ls --json. Fields may be added. A list that was not selected
// is omitted.
type listing struct {
	Server       mcp.Implementation     `json:"server"`
	Instructions string                 `json:"instructions,omitempty"`
	Tools        []mcp.Tool             `json:"tools,omitzero"`
	Resources    []mcp.Resource         `json:"resources,omitzero"`
	Templates    []mcp.ResourceTemplate `json:"resourceTemplates,omitzero"`
	Prompts      []mcp.Prompt           `json:"prompts,omitzero"`
	// Missing names lists that a server failed to return.
	Missing []string `json:"missing,omitempty"`
}

func newLs() *cobra.Command {
	var k kinds
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
				new(answering).connect(o)
				observe := o.Live.Source.Observe
				o.Live.Source.Observe = func(e client.Event) {
					if observe(e); e.What == client.EventUnstarted {
						say(cmd.ErrOrStderr(), "%s: listed from its manifest, as required options have no values", e.Name)
						hint(cmd.ErrOrStderr(), "set them with --set or in the environment to list what its server answers")
					}
				}
			}
			return withSourceOptions(cmd, args[0], listOnly, func(c *openSource) error {
				all := k == (kinds{})
				if all {
					k = kinds{true, true, true, true}
				}
				l := list(c.cat, k)
				if l.Missing != nil && !all && l.empty() {
					return remoteFailed("", "%s: %s", c.arg, strings.Join(l.Missing, "; "))
				}
				return show(cmd, l, func(w io.Writer, l *listing) error {
					return l.print(w)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&k.tools, "tools", false, "list tools")
	cmd.Flags().BoolVar(&k.resources, "resources", false, "list resources")
	cmd.Flags().BoolVar(&k.templates, "templates", false, "list resource templates")
	cmd.Flags().BoolVar(&k.prompts, "prompts", false, "list prompts")
	nameFlags(cmd, &name, &title)
	wideFlag(cmd)
	bundleFlags(cmd)
	lockFlags(cmd)
	loginFlag(cmd)
	jsonFlag(cmd, "the definitions, as clients see them,")
	return cmd
}

// list selects from the whole catalog, without pages.
func list(cat *mcp.Catalog, k kinds) *listing {
	l := &listing{
		Server:       cat.Server,
		Instructions: cat.Instructions,
	}
	for _, m := range k.missing(cat) {
		l.Missing = append(l.Missing, m.String())
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

// empty reports whether no selected list has an entry.
func (l *listing) empty() bool {
	return len(l.Tools)+len(l.Resources)+len(l.Templates)+len(l.Prompts) == 0
}

// missing returns the lists of these kinds that a server failed to return.
func (k kinds) missing(cat *mcp.Catalog) []mcp.Missing {
	selected := map[string]bool{
		"tools/list":               k.tools,
		"resources/list":           k.resources,
		"resources/templates/list": k.templates,
		"prompts/list":             k.prompts,
	}
	var lists []mcp.Missing
	for _, m := range cat.Missing {
		if m.Entry == 0 && selected[m.List] {
			lists = append(lists, m)
		}
	}
	return lists
}

// row is an entry in a list: what to type, and its description.
type row struct {
	name, about string
}

// print prints the lists as tables. Empty ones are omitted.
func (l *listing) print(w io.Writer) error {
	out := newLayout(w)
	version := " " + l.Server.Version
	if l.Server.Title != "" && !strings.EqualFold(l.Server.Title, l.Server.Name) {
		version += " (" + l.Server.Title + ")"
	}
	out.line(named(l.Server.Name), plain(version))
	most := math.MaxInt
	if out.width > 0 {
		most = maxArguments
	}
	var tools, resources, templates, prompts []row
	for _, t := range l.Tools {
		tools = append(tools, row{t.Name + signature(t.InputSchema, most), t.Description})
	}
	for _, r := range l.Resources {
		resources = append(resources, row{r.URI, about(r.Name, r.Description)})
	}
	for _, t := range l.Templates {
		templates = append(templates, row{t.URITemplate, about(t.Name, t.Description)})
	}
	for _, p := range l.Prompts {
		prompts = append(prompts, row{p.Name + promptSignature(p.Arguments, most), p.Description})
	}
	out.table("tools", tools)
	out.table("resources", resources)
	out.table("resource templates", templates)
	out.table("prompts", prompts)
	return out.flush()
}

// about joins a title and a description, which often begins with the title.
func about(name, description string) string {
	if name == "" || description == "" || strings.HasPrefix(description, name) {
		return name + strings.TrimPrefix(description, name)
	}
	return name + ": " + description
}

// maxArguments is how many arguments of a tool or prompt are in a hint, and in a list on a terminal without --wide.
const maxArguments = 10

// signature returns the first arguments of a tool in the form of the command line: [optional].
func signature(schema []byte, most int) string {
	var words []string
	for _, p := range parametersOf(schema) {
		word := p.name
		if !p.required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return argumentList(words, most)
}

// argumentList returns the first arguments, and how many more there are.
func argumentList(words []string, most int) string {
	text := strings.Join(words[:min(len(words), most)], ", ")
	if more := len(words) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "(" + text + ")"
}

// promptSignature returns the first arguments of a prompt, optional ones in brackets.
func promptSignature(arguments []mcp.PromptArgument, most int) string {
	var words []string
	for _, a := range arguments {
		word := a.Name
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return argumentList(words, most)
}
