package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/project"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func newSiteInit() *cobra.Command {
	var o project.Options
	hosts := staticmcp.HostNames()
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Set up the MCP server of a documentation project",
		Long: `Inspect the repository in DIR (default: the current folder), print what its
documentation is made with and why, and write a slipway.site.yaml and a workflow
that builds and publishes the pages and their MCP server. If DIR is in a git
repository, the workflow goes to its root. Existing files are never replaced.

Projects of MkDocs, Docusaurus, Sphinx, VitePress, Hugo, Antora, mdBook and
Jekyll, folders of Markdown, OpenAPI documents and Go modules are recognized.
Configuration files are read, never run.`,
		Example: `  cd "$(mktemp -d)" && touch mkdocs.yml && slipway site init
  slipway site init examples/handbook --host cloudflare --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			found, err := project.Inspect(dir)
			if errors.Is(err, project.ErrUnknown) {
				return badInput("name the folder of the project, or what to read: slipway site build INPUT -o DIR",
					"init: %s: %v", dir, err)
			}
			if err != nil {
				return err
			}
			files, err := project.Write(dir, found, &o)
			if err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), struct {
					Project *project.Project `json:"project"`
					Files   []project.File   `json:"files"`
				}{found, files})
			}
			printProject(cmd.OutOrStdout(), dir, found, files, o.DryRun)
			return nil
		},
	}
	f := cmd.Flags()
	f.Var(oneOf(&o.Host, append([]string{"github-pages"}, without(hosts, "github-pages")...)...), "host",
		"web `host` of the pages: "+strings.Join(hosts, ", "))
	f.Var(baseURL(&o.BaseURL), "base-url",
		"`URL` where the pages are published (default: from the generator's configuration)")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the files without writing them")
	jsonFlag(cmd, "the project and the files")
	return cmd
}

// without returns a list without one of its words.
func without(list []string, word string) []string {
	var rest []string
	for _, w := range list {
		if w != word {
			rest = append(rest, w)
		}
	}
	return rest
}

// printProject reports what a project is, its files, and the commands that build its site.
func printProject(w io.Writer, dir string, p *project.Project, files []project.File, dryRun bool) {
	fmt.Fprintf(w, "%s\n", p.Name)
	for _, why := range p.Why {
		fmt.Fprintf(w, "  %s\n", why)
	}
	for _, other := range p.Also {
		fmt.Fprintf(w, "  not used: %s\n", other)
	}
	for _, f := range files {
		note := ""
		if f.Action == project.Kept {
			note = ", which exists and was left unchanged"
		}
		fmt.Fprintf(w, "%s %s%s\n", f.Action, f.Path, note)
		if dryRun && f.Action == project.Create || f.Action == project.Kept {
			fmt.Fprintf(w, "\n%s\n\n", indented(strings.TrimSpace(f.Text)))
		}
		if f.Note != "" {
			fmt.Fprintf(w, "  %s\n", f.Note)
		}
	}
	fmt.Fprint(w, "\nTo build it:\n")
	at := filepath.ToSlash(filepath.Clean(filepath.Join(dir, filepath.FromSlash(p.Folder))))
	if at != "." && len(p.Generate) > 0 {
		fmt.Fprintf(w, "  (cd %s && %s)\n", shell.PathWord(at), strings.Join(p.Generate, " && "))
	} else {
		for _, command := range p.Generate {
			fmt.Fprintf(w, "  %s\n", command)
		}
	}
	fmt.Fprintf(w, "  slipway site build %s\n", shell.PathWord(filepath.ToSlash(dir)))
}
