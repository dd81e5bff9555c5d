package main

import (
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp/lint"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/stax/clients"
)

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long: `Print a script that completes commands, flags, and the names of tools, resources
and prompts. SHELL is bash, zsh, fish or powershell.`,
		Example: `  slipway completion bash > slipway.bash
  source slipway.bash`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			out := cmd.OutOrStdout()
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

// completing returns a completion function. It leaves the first argument, usually a path,
// to the shell, offers the result of list for the second, and that of keys, if not nil,
// for the following ones. A URL is not fetched during completion.
func completing(list func(*openSource) []string, keys func(c *openSource, name string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		// A key press must not start programs or contact hosts.
		if len(args) > 1 && keys == nil || !open.Argument(args[0]).Local() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_ = withSource(cmd, args[0], func(c *openSource) error { // without a source there is nothing to offer
			found := list
			if len(args) > 1 {
				found = func(c *openSource) []string { return keys(c, args[1]) }
			}
			for _, word := range found(c) {
				if strings.HasPrefix(word, prefix) && visible.Line(word) == word {
					words = append(words, word)
				}
			}
			return nil
		})
		if len(args) > 1 {
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// toolKeys returns the arguments of a tool in the form KEY=.
func toolKeys(c *openSource, name string) []string {
	t := c.cat.Tool(name)
	if t == nil {
		return nil
	}
	return names(parametersOf(t.InputSchema), func(p parameter) string {
		return p.name + "="
	})
}

// promptKeys returns the arguments of a prompt in the form KEY=.
func promptKeys(c *openSource, name string) []string {
	p := c.cat.Prompt(name)
	if p == nil {
		return nil
	}
	return names(p.Arguments, func(a mcp.PromptArgument) string {
		return a.Name + "="
	})
}

// flagValues returns the values of flags with these names, in any command.
func flagValues() map[string][]string {
	return map[string][]string{
		"as":          sitebuild.Kinds(),
		"client":      clientNames(),
		"collisions":  {"disambiguate", "error"},
		"for":         lint.Readers(),
		"format":      {"dir", "zip", "tar"},
		"host":        staticmcp.HostNames(),
		"lock-policy": {"block", "warn"},
		"log-format":  {"text", "json"},
		"log-level":   {"debug", "info", "warn", "error"},
		"os":          {"linux", "darwin", "windows"},
		"prefix":      {"collision", "always", "never"},
		"scope":       {"user", "project"},
		"via":         {"direct", "launcher", "auto"},
	}
}

func clientNames() []string {
	return names(clients.All(), func(c clients.Client) string { return c.ID })
}

// completeFlags completes the values of flags that accept a fixed set of words. It does
// nothing unless a shell runs the program for completion, because building the lists
// takes time.
func completeFlags(root *cobra.Command, args []string) {
	if len(args) < 2 || !strings.HasPrefix(args[1], cobra.ShellCompRequestCmd) {
		return
	}
	values := flagValues()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if words := values[f.Name]; words != nil {
				complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func toolNames(c *openSource) []string {
	return names(c.cat.Tools, func(t mcp.Tool) string { return t.Name })
}

func promptNames(c *openSource) []string {
	return names(c.cat.Prompts, func(p mcp.Prompt) string { return p.Name })
}

func resourceURIs(c *openSource) []string {
	return names(c.cat.Resources, func(r mcp.Resource) string { return r.URI })
}
