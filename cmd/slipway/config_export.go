package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax/registry"
)

func newConfigExport() *cobra.Command {
	return group(&cobra.Command{
		Use:     "export",
		Short:   "Write definitions in the form of somebody else",
		Long:    `Write definitions of servers in a form that is not that of a client.`,
		Example: "  slipway config export registry examples/definitions/publish.yaml weather --name io.github.you/weather",
	},
		newConfigExportRegistry(),
	)
}

func newConfigExportRegistry() *cobra.Command {
	var d definitions
	var o registry.ExportOptions
	var output string
	var exact bool
	cmd := &cobra.Command{
		Use:   "registry FILE SERVER...",
		Short: "Write the server.json of the MCP registry",
		Long: `Print the server.json with which a server is published in the MCP registry, by
the schema of 2025-12-11. Several SERVERs are several ways to reach one server:
those with a command become packages, those with a URL remotes.

A command has to start a package: npx and bunx one of npm, uvx of PyPI, docker
run and podman run an image, dnx and dotnet tool exec one of NuGet, slipway
bundle run a bundle whose URL is known. Secrets are written as what the user is
asked for, never with a value. What the form has no place for is reported, and
refused with --exact: exit code 5.

The name is that of registryRef, or --name: a domain in reverse, a slash and a
name. Description and version are those of the definition and of the package.`,
		Example: `  slipway config export registry examples/definitions/publish.yaml weather --name io.github.you/weather
  slipway config export registry examples/definitions/publish.yaml weather weather-remote --name io.github.you/weather -o server.json`,
		Args: takes(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			merged, err := d.valid(cmd, args[:1])
			if err != nil {
				return err
			}
			for _, name := range args[1:] {
				if merged.Config.Server(name) == nil {
					return no("slipway config merge "+args[0]+" prints what there is", "config export: there is no server %q", name)
				}
			}
			doc, report, err := registry.Export(merged, args[1:], &o)
			if report != nil {
				if err := report.WriteText(cmd.ErrOrStderr(), colored(cmd.ErrOrStderr())); err != nil {
					return err
				}
			}
			if err != nil {
				return notExported(err)
			}
			if exact && report.Count(check.Warning) > 0 {
				return &failure{code: exitNotExact, text: "config export: not representable: " + report.Summary()}
			}
			return writeDocument(cmd.OutOrStdout(), output, doc)
		},
	}
	d.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.Name, "name", "", "`name` in the registry, as in io.github.you/weather")
	flags.StringVar(&o.Title, "title", "", "`title` that people see")
	flags.StringVar(&o.Description, "description", "", "`text` of at most 100 characters (default that of the definition)")
	flags.StringVar(&o.Version, "version", "", "`version` of the server (default that of registryRef or of the package)")
	flags.StringVar(&o.WebsiteURL, "website", "", "`URL` of the homepage")
	flags.StringVarP(&output, "output", "o", "", "write a new `file` instead of printing")
	flags.BoolVar(&exact, "exact", false, "refuse whatever the form has no place for: exit code 5")
	return cmd
}

func notExported(err error) error {
	var need *registry.NeedError
	var unfit *registry.UnfitError
	switch {
	case errors.As(err, &need):
		return usage(need.Hint, "config export: %v", need)
	case errors.As(err, &unfit):
		return &failure{code: exitNotExact, text: "config export: " + unfit.Why, hint: unfit.Hint}
	}
	return err
}

// writeDocument prints a document, or writes it to a new file.
func writeDocument(w io.Writer, output string, doc *registry.Document) error {
	if output == "" || output == "-" {
		return printJSON(w, doc)
	}
	var text bytes.Buffer
	if err := printJSON(&text, doc); err != nil {
		return err
	}
	err := fsutil.Create(output, 0o644, func(f io.Writer) error {
		_, err := f.Write(text.Bytes())
		return err
	})
	if err != nil {
		return &failure{code: exitInput, text: fmt.Sprintf("%s: %s", output, fsutil.Reason(err)), hint: "name another file"}
	}
	return nil
}
