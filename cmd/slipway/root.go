package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/nearest"
	shell "github.com/slipway-mcp/slipway/internal/process"
)

// section is a group of commands in the help.
type section struct {
	title    string
	commands []maker
}

// maker makes a command when it is needed.
type maker struct {
	name string
	make func() *cobra.Command
}

// sections are the commands in the order of the help.
var sections = []section{
	{"Serve", []maker{{"serve", newServe}, {"ps", newPs}, {"cluster", newCluster}}},
	{"Use a server", []maker{{"ls", newLs}, {"inspect", newInspect}, {"call", newCall}, {"read", newRead},
		{"prompt", newPrompt}, {"complete", newComplete}, {"login", newLogin}, {"logout", newLogout},
		{"record", newRecord}, {"replay", newReplay}, {"test", newTest}}},
	{"Add servers to your clients", []maker{{"add", newAdd}, {"remove", newRemove}, {"search", newSearch}}},
	{"Create and configure", []maker{{"site", newSite}, {"bundle", newBundle}, {"config", newConfig}}},
	{"Check", []maker{{"check", newCheck}, {"doctor", newDoctor}, {"lock", newLock}, {"policy", newPolicy}}},
}

// newRoot returns the program with all of its commands.
func newRoot() *cobra.Command { return newRootFor(nil) }

// newRootFor returns the program for a command line. If its first word is the name of a
// command, only that command is made: all of them together take longer to make than many a
// command to run.
func newRootFor(args []string) *cobra.Command {
	called := ""
	if len(args) > 0 {
		called = args[0]
	}
	root := newProgram()
	for _, s := range sections {
		root.AddGroup(&cobra.Group{
			ID:    s.title,
			Title: s.title,
		})
		for _, c := range s.commands {
			if c.name == called {
				root.AddCommand(inSection(s.title, c.make()))
			}
		}
	}
	if !root.HasSubCommands() {
		addAll(root)
	}
	completeArguments(root)
	stopOnSignals(root)
	return root
}

// inSection puts a command into a section of the help.
func inSection(title string, cmd *cobra.Command) *cobra.Command {
	cmd.GroupID = title
	return cmd
}

// addAll adds every command and help topic to root.
func addAll(root *cobra.Command) {
	for _, s := range sections {
		for _, c := range s.commands {
			root.AddCommand(inSection(s.title, c.make()))
		}
	}
	root.AddCommand(newVersion(), newWhere(), newCompletion(), newMan())
	root.AddCommand(newTopics()...)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Args = knownTopic
		}
	}
}

// newProgram returns the root command without subcommands.
func newProgram() *cobra.Command {
	root := &cobra.Command{
		Use:   "slipway",
		Short: "Serve, check and convert MCP servers",
		Long: `Slipway serves MCP servers over HTTP and stdin/stdout, calls them as a client,
and converts between their forms: build a site from documents, freeze a server,
pack a bundle, configure every client.

Results go to stdout, messages to stderr. Exit codes:

  0  success
  1  negative result, such as invalid input, drift or a tool error
  2  invalid command line
  3  a local file, folder or address cannot be used
  4  a remote host or another program failed
  5  not representable
  6  refused by policy or for safety`,
		Example: `  slipway serve examples/http-reference
  slipway ls examples/http-reference
  slipway call examples/http-reference get_status code=404`,
		Args:          cobra.ArbitraryArgs,
		RunE:          noCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		writeHelp(cmd.OutOrStdout(), cmd)
	})
	root.Flags().BoolP("help", "h", false, "print help")
	root.Flags().Bool("version", false, "print the version")
	root.Flags().BoolP("Version", "V", false, "print the version")
	globalFlags(root)
	_ = root.Flags().MarkHidden("Version") // it exists
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(invalidFlag)
	return root
}

// invalidFlag returns the failure for an error of a flag. The parser of its value may have
// a better hint than the help. After the name of a command that does not exist, no flag is
// known: the name is the mistake.
func invalidFlag(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return cmd.RunE(cmd, words)
	}
	hint := "see " + cmd.CommandPath() + " --help"
	text := err.Error()
	if f := new(failure); errors.As(err, &f) && f.hint != "" {
		hint = f.hint
	}
	if cmd.HasParent() {
		text = cmd.Name() + ": " + text
	}
	return usage(hint, "%s", text)
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
	if cmd.Flags().Changed("version") || cmd.Flags().Changed("Version") {
		return printVersion(cmd.OutOrStdout(), thisBuild())
	}
	if len(args) == 0 {
		writeShortHelp(cmd.OutOrStdout(), cmd)
		return nil
	}
	_, err := os.Stat(args[0])
	hint := "see slipway --help"
	if err == nil || strings.Contains(args[0], "://") {
		hint = "did you mean slipway serve " + shell.ShellWord(args[0]) + "?"
	}
	return usage(nearCommand(cmd, args[0], hint), "unknown command %q", args[0])
}

// nearCommand returns the hint for an unknown subcommand of cmd: the nearest one, or
// otherwise.
func nearCommand(cmd *cobra.Command, word, otherwise string) string {
	if near := nearest.DidYouMean(word, names(cmd.Commands(), (*cobra.Command).Name)); near != "" {
		return "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return otherwise
}

// didYouMean returns the hint for an unknown word: the nearest of the known ones, or
// otherwise.
func didYouMean(word string, known []string, otherwise string) string {
	if near := nearest.DidYouMean(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// names returns the name of each item of a list.
func names[T, N any](list []T, name func(T) N) (all []N) {
	for _, item := range list {
		all = append(all, name(item))
	}
	return all
}

// missingArgument names the first missing argument of a command.
func missingArgument(cmd *cobra.Command, given int) string {
	words := strings.Fields(cmd.Use)[1:]
	words = slices.DeleteFunc(words, func(word string) bool {
		return strings.HasPrefix(word, "-")
	})
	if given >= len(words) {
		return "missing argument"
	}
	return "missing argument " + strings.TrimSuffix(words[given], "...")
}

// completeArguments derives the check of arguments of each command below cmd from its
// usage line.
func completeArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		completeArguments(sub)
		words := strings.Fields(sub.Use)[1:]
		if sub.Args == nil && sub.RunE != nil {
			sub.Args = takes(arity(words))
		}
		if len(words) > 0 && (strings.HasPrefix(words[0], "SOURCE") || words[0] == "[SOURCE...]") {
			acceptCommand(sub)
		}
	}
}

// arity returns the least and the largest number of arguments of a usage line, such as
// A [B] [C...]. A largest number of -1 means no limit.
func arity(words []string) (least, most int) {
	unlimited := false
	for _, word := range words {
		if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "(") {
			break
		}
		if !strings.HasPrefix(word, "[") {
			least++
		}
		most++
		unlimited = unlimited || strings.Contains(word, "...")
	}
	if unlimited {
		most = -1
	}
	return least, most
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
