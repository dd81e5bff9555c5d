package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/visible"
)

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for a shell",
		Long: `Print a script that completes commands, flags, and the names of tools,
resources and prompts of a source. SHELL is bash, zsh, fish or powershell.`,
		Example: `  slipway completion bash > slipway.bash
  source slipway.bash`,
		Args:      takes(1, 1),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return usage("one of "+strings.Join(cmd.ValidArgs, ", "), "completion: unknown shell %q", args[0])
		},
	}
}

// completing returns a completion that leaves the first argument to the shell,
// as it is mostly a path, and offers what list finds in that source for the
// second. A URL is not fetched while somebody types.
func completing(list func(*client) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if len(args) > 1 || strings.Contains(args[0], "://") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_ = withSource(cmd, args[0], func(c *client) error { // no source, nothing to offer
			for _, name := range list(c) {
				if strings.HasPrefix(name, prefix) && visible.Line(name) == name {
					names = append(names, name)
				}
			}
			return nil
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func toolNames(c *client) (names []string) {
	for _, t := range c.cat.Tools {
		names = append(names, t.Name)
	}
	return names
}

func promptNames(c *client) (names []string) {
	for _, p := range c.cat.Prompts {
		names = append(names, p.Name)
	}
	return names
}

func resourceURIs(c *client) (uris []string) {
	for _, r := range c.cat.Resources {
		uris = append(uris, r.URI)
	}
	return uris
}
