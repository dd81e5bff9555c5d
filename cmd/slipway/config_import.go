package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

func newConfigImport() *cobra.Command {
	var scope clients.Scope
	var file string
	var keychain bool
	cmd := &cobra.Command{
		Use:   "import [CLIENT...]",
		Short: "Import definitions from client config files",
		Long: `Print the servers in client config files as definitions in JSON, for the given
clients or all that have a config file. If several have a server of the same
name, the first is used.

References to variables become secrets, as do values that look like one; their
names are printed, never their values. --keychain stores those values in the
keychain of the operating system, under the service "slipway", for
--secrets-from keychain. Settings without an equivalent are reported on stderr.`,
		Example: `  slipway config import claude-code --file examples/definitions/client.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var list []clients.Client
			for _, id := range args {
				c, err := clientNamed(id)
				if err != nil {
					return err
				}
				list = append(list, c)
			}
			if file != "" && len(list) != 1 {
				return usage("name the client that the file is of", "--file is for one client")
			}
			imported, report, err := importAll(list, cmp.Or(scope, clients.Project), file)
			if err != nil {
				return err
			}
			printFindings(cmd, report)
			if keychain {
				if err := store(cmd, imported.Values); err != nil {
					return err
				}
			}
			return printJSON(cmd.OutOrStdout(), &imported.Config)
		},
	}
	jsonResultFlag(cmd)
	cmd.Flags().Var(oneOf(&scope, "project", "user"), "scope", "`scope` of the files: user or project")
	cmd.Flags().StringVar(&file, "file", "", "read this `file` instead of the client's own")
	cmd.Flags().BoolVar(&keychain, "keychain", false, "store the values of secrets in the keychain")
	return cmd
}

// importAll reads the config files of clients, or of all that have one.
func importAll(
	list []clients.Client,
	scope clients.Scope,
	file string,
) (*clients.Imported, *check.Report, error) {
	place := &clients.Place{}
	if list == nil {
		if list = clients.Present(place, scope); len(list) == 0 {
			return nil, nil, no("name a client; slipway config clients lists them",
				"config import: no client has a file for a %s here", scope)
		}
	}
	all := &clients.Imported{Values: map[string]stax.Secret{}}
	report := &check.Report{}
	seen := map[string]bool{}
	for i := range list {
		path := file
		if path == "" {
			var err error
			if path, _, err = place.Path(&list[i], scope); err != nil {
				return nil, nil, clientFileFailure("config import", err)
			}
		}
		// Several clients can share a file.
		if seen[path] {
			continue
		}
		seen[path] = true
		one, found, err := clients.Import(&list[i], path)
		if err != nil {
			hint := "name the file with --file, or another --scope"
			if errors.As(err, new(*clients.SyntaxError)) {
				hint = "the file is malformed; nothing was read"
			}
			return nil, nil, badInput(hint, "%s: %s", path, fsutil.Reason(err))
		}
		report.Add(found.Findings()...)
		all.Add(one, report, path)
	}
	return all, report, nil
}

// store stores values in the keychain and prints their keys.
func store(cmd *cobra.Command, values map[string]stax.Secret) error {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if err := stax.Store(key, values[key]); err != nil {
			return badInput("nothing else was stored", "keychain: %s: %v", key, err)
		}
		keys = append(keys, key)
	}
	if keys != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "stored in the keychain: %s\n", strings.Join(keys, ", "))
	}
	return nil
}
