package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

const sourceHelp = `SOURCE is a StaticMCP site: a folder with mcp.json, a .zip file of one, or the
http(s) URL under which one is hosted; or what a site is built of, such as a
folder of Markdown; or a bundle: an .mcpb file, or a folder with its
manifest.json; or definitions of servers (.json, .yaml, .toml, .ts), which
appear as one; or an MCP server: its http(s) or ws(s) URL, or, behind all other
arguments, -- and the command that starts one over stdin and stdout. "site:" or
"live:" before a URL says which of the two it is. MCP_CLIENT_TOKEN in the
environment is the bearer token for a server's URL.`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "slipway",
		Short: "Serve MCP sources and look into them",
		Long: `Slipway serves MCP sources over HTTP and over stdin and stdout, and acts as a
client to look into them.

` + sourceHelp + `

What was asked for goes to stdout, everything else to stderr. Exit codes:
0 fine; 1 the answer is no; 2 usage; 3 a file, folder or address cannot be
used; 4 a web host or another program failed; 5 not representable;
6 refused for safety.`,
		Example: `  slipway serve examples/http-reference
  slipway ls examples/http-reference
  slipway call examples/http-reference get_status code=404`,
		Args:          cobra.ArbitraryArgs,
		RunE:          noCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(
		newServe(),
		newPs(),
		newLs(),
		newCall(),
		newRead(),
		newPrompt(),
		newComplete(),
		newBundle(),
		newConfig(),
		newLock(),
		newCheck(),
		newSite(),
		newVersion(),
		newCompletion(),
	)
	root.Flags().BoolP("version", "v", false, "print the version")
	// The root is only runnable so that an unknown command gets our message.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable .HasParent}}", 1))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if !cmd.HasParent() {
			return usage("see slipway --help", "%v", err)
		}
		return usage("see "+cmd.CommandPath()+" --help", "%s: %v", cmd.Name(), err)
	})
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Args = knownTopic
		}
	}
	return root
}

// knownTopic refuses help for a command that does not exist.
func knownTopic(cmd *cobra.Command, args []string) error {
	if found, rest, err := cmd.Root().Find(args); err != nil || found == nil || len(rest) > 0 {
		return usage("see slipway --help", "help: unknown command %q", strings.Join(args, " "))
	}
	return nil
}

// noCommand handles a command line whose first word is not a command.
func noCommand(cmd *cobra.Command, args []string) error {
	if asked, _ := cmd.Flags().GetBool("version"); asked {
		return printVersion(cmd.OutOrStdout())
	}
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	hint := "see slipway --help"
	if near := nearest.DidYouMean(args[0], names); near != "" {
		hint = "did you mean slipway " + near + "?"
	} else if _, err := os.Stat(args[0]); err == nil || strings.Contains(args[0], "://") {
		hint = "did you mean slipway serve " + args[0] + "?"
	}
	return usage(hint, "unknown command %q", args[0])
}

// missingArgument names the first missing argument of a command.
func missingArgument(cmd *cobra.Command, given int) string {
	words := strings.Fields(cmd.Use)[1:]
	words = slices.DeleteFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") })
	if given >= len(words) {
		return "missing argument"
	}
	return "missing argument " + strings.TrimSuffix(words[given], "...")
}

// takes returns a check of the number of arguments. If most is -1, there is no maximum.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		what := missingArgument(cmd, len(args))
		if len(args) >= least {
			what = fmt.Sprintf("unexpected argument %q", args[most])
		}
		return usage("usage: "+cmd.UseLine(), "%s: %s", cmd.Name(), what)
	}
}
