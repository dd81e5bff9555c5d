package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax"
)

func newConfig() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Define MCP servers once, for every client",
		Long: `Check and merge definitions of MCP servers, and write them to the config files
of clients.

` + filesHelp,
		Example: "  slipway config check examples/definitions/mcp.yaml",
	},
		newConfigCheck(),
		newConfigMerge(),
		newConfigSecrets(),
		newConfigRender(),
		newConfigClients(),
		newConfigApply(),
		newConfigDiff(),
		newConfigRemove(),
		newConfigImport(),
		newConfigAdd(),
		newConfigExport(),
		newConfigRun(),
	)
}

// definitions are the files of a config command.
type definitions struct {
	secrets []string
}

func (d *definitions) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&d.secrets, "secrets", nil, "`file` with declarations and bindings of secrets (repeatable)")
}

// load reads and merges files. The report has the findings of all of them.
func (d *definitions) load(files []string) (*stax.Merged, *check.Report, error) {
	all := &check.Report{}
	var documents []*stax.Document
	for _, name := range files {
		doc, report, err := stax.ReadFile(name)
		if err != nil {
			return nil, nil, unreadable(name, err)
		}
		all.Add(report.Findings()...)
		documents = append(documents, doc)
	}
	merged := stax.Merge(documents...)
	for _, name := range d.secrets {
		doc, report, err := stax.ReadSecrets(name)
		if err != nil {
			return nil, nil, unreadable(name, err)
		}
		all.Add(report.Findings()...)
		merged.Add(doc)
	}
	all.Add(merged.Check().Findings()...)
	return merged, all, nil
}

// valid is load for a command that requires the absence of errors, which it prints.
// Warnings and notes are left to config check.
func (d *definitions) valid(cmd *cobra.Command, files []string) (*stax.Merged, error) {
	merged, report, err := d.load(files)
	if err != nil || report.OK(false) {
		return merged, err
	}
	printFindings(cmd, report)
	return nil, no("slipway config check shows what is wrong", "%s: %s", cmd.Name(), report.Summary())
}

// unreadable returns the error for a file that cannot be read.
func unreadable(name string, err error) error {
	hint := ""
	if errors.Is(err, fs.ErrNotExist) {
		hint = "name a file with definitions of servers"
	}
	return badInput(hint, "%s: %s", name, fsutil.Reason(err))
}
