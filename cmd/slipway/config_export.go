package main

import (
	"bytes"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/registry"
)

func newConfigExport() *cobra.Command {
	return group(&cobra.Command{
		Use:   "export",
		Short: "Export definitions to another format",
		Long:  `Export server definitions to a format that is not the config file of a client.`,
		Example: `  slipway config export registry examples/definitions/publish.yaml weather \
      --name io.github.you/weather`,
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
		Short: "Export a server.json for the MCP registry",
		Long: `Print the server.json that publishes a server in the MCP registry (schema
2025-12-11). Several SERVERs are several ways to reach the same server: those
with a command become packages, those with a URL remotes.

A command must start a package: npx or bunx (npm), uvx (PyPI), docker run or
podman run (OCI image), dnx or dotnet tool exec (NuGet), or slipway bundle run
with a bundle whose URL is known. Secrets become inputs without a value.
Settings that the format cannot represent are reported; with --exact they are
errors (exit code 5).

The name is that of registryRef, or --name: a reverse domain, a slash and a
name. Description and version default to those of the definition or the package.`,
		Example: `  slipway config export registry examples/definitions/publish.yaml weather \
      --name io.github.you/weather
  slipway config export registry examples/definitions/publish.yaml weather \
      weather-remote --name io.github.you/weather -o server.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			merged, err := d.valid(cmd, args[:1])
			if err != nil {
				return err
			}
			for _, name := range args[1:] {
				if merged.Config.Server(name) == nil {
					return no("slipway config merge "+shell.PathWord(args[0])+" lists them",
						"config export: no server is named %q", name)
				}
			}
			doc, report, err := registry.Export(merged, args[1:], &o)
			if report != nil {
				printFindings(cmd, report)
			}
			if err != nil {
				return notExported(err)
			}
			if exact && report.Count(check.Warning) > 0 {
				return notExact("", "config export: not representable: %s", report.Summary())
			}
			return writeDocument(cmd.OutOrStdout(), output, doc)
		},
	}
	d.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.Name, "name", "", "`name` in the registry, such as io.github.you/weather")
	flags.StringVar(&o.Title, "title", "", "human-readable `title`")
	flags.StringVar(&o.Description, "description", "", "`text` of at most 100 characters (default: from the definition)")
	flags.StringVar(&o.Version, "version", "", "`version` of the server (default: from registryRef or the package)")
	flags.StringVar(&o.WebsiteURL, "website", "", "`URL` of the homepage")
	flags.StringVarP(&output, "output", "o", "", "write to a new `file` instead of stdout")
	jsonResultFlag(cmd)
	flags.BoolVar(&exact, "exact", false, "fail if a setting cannot be represented (exit code 5)")
	return cmd
}

// notExported returns a usage error for missing information, and exit code 5 for a definition
// that the format of registries cannot express.
func notExported(err error) error {
	var need *registry.NeedError
	var unfit *registry.UnfitError
	switch {
	case errors.As(err, &need):
		return usage(need.Hint, "config export: %v", need)
	case errors.As(err, &unfit):
		return notExact(unfit.Hint, "config export: %s", unfit.Why)
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
		return badInput("name another file", "%s: %s", output, fsutil.Reason(err))
	}
	return nil
}
