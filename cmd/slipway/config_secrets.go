package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/stax"
)

// sourceFlags select the sources of secrets.
type sourceFlags struct{ from []string }

func (s *sourceFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.from, "secrets-from", nil,
		"`source` of secrets, searched in the given order (repeatable)")
}

// resolver returns a resolver that searches the stores of --secrets-from in their order.
func (s *sourceFlags) resolver() (*stax.Resolver, error) {
	self, _ := os.Executable() // if that fails, only PATH is searched
	r := &stax.Resolver{Self: self}
	for _, word := range s.from {
		store, err := stax.ParseSecretStore(word)
		if err != nil {
			return nil, usage("see slipway config secrets --help", "--secrets-from: %v", err)
		}
		r.Stores = append(r.Stores, store)
	}
	return r, nil
}

func newConfigSecrets() *cobra.Command {
	var d definitions
	var sources sourceFlags
	cmd := &cobra.Command{
		Use:   "secrets [FILE...]",
		Short: "List required secrets and whether each is set",
		Long: `List the secrets that the enabled servers of definitions use, and the source of
each. Values are never printed. The exit code is 1 if a required secret is
missing.

` + sourcesHelp + `
` + filesHelp + `

` + defaultsHelp,
		Example: `  slipway config secrets examples/definitions/mine.ts
  slipway config secrets examples/definitions/mine.ts --secrets-from keychain \
      --secrets-from env`,
		RunE: func(cmd *cobra.Command, args []string) error {
			resolver, err := sources.resolver()
			if err != nil {
				return err
			}
			if args, err = defaultFiles(cmd, args, nil); err != nil {
				return err
			}
			merged, err := d.valid(cmd, args)
			if err != nil {
				return err
			}
			found := resolver.Find(cmd.Context(), merged)
			if len(found) == 0 && !wantsJSON(cmd) {
				say(cmd.ErrOrStderr(), "no server declares a secret; name it below secrets of the server")
			}
			if err := showList(cmd, "secrets", found, printFound); err != nil {
				return err
			}
			return missingSecrets(found)
		},
	}
	d.flags(cmd)
	sources.flags(cmd)
	wideFlag(cmd)
	jsonFlag(cmd, "keys, sources and servers")
	return cmd
}

// printFound prints where each secret is found, never its value.
func printFound(w io.Writer, found []stax.Found) error {
	out := newLayout(w)
	for _, f := range found {
		where := plain(f.Source)
		switch {
		case f.Source == "" && f.Required:
			where = span{style.Error, "missing"}
		case f.Source == "":
			where = span{style.Warning, "missing, optional"}
		}
		out.line(named(f.Key), plain(": "), where, plain(" ("+strings.Join(f.Servers, ", ")+")"))
		for _, p := range f.Problems {
			out.line(plain("  " + p))
		}
	}
	return out.flush()
}

// missingSecrets returns an error that names the required secrets without a source, or nil.
func missingSecrets(found []stax.Found) error {
	var keys []string
	for _, f := range found {
		if f.Required && f.Source == "" {
			keys = append(keys, f.Key)
		}
	}
	if keys == nil {
		return nil
	}
	return no("slipway config secrets --help lists the sources; --secrets-from names one",
		"config secrets: no source has %s", strings.Join(keys, ", "))
}
