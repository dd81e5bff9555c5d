package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// suggestTime limits the work for a key press. After it, nothing is offered.
// $SLIPWAY_COMPLETION_TIME sets another limit.
const suggestTime = 300 * time.Millisecond

// suggestLimit returns the limit on the work for a key press.
func suggestLimit() time.Duration {
	if limit, err := time.ParseDuration(os.Getenv("SLIPWAY_COMPLETION_TIME")); err == nil {
		return limit
	}
	return suggestTime
}

// Directives for a shell.
const (
	offerFiles = cobra.ShellCompDirectiveDefault
	offerWords = cobra.ShellCompDirectiveNoFileComp
	// offerStarts is for words after which the user types on.
	offerStarts = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
)

// suggestWords completes arguments and values of flags. It does nothing unless a shell
// runs the program for completion, because building the lists takes time.
func suggestWords(root *cobra.Command, args []string) {
	if len(args) < 2 || !strings.HasPrefix(args[1], cobra.ShellCompRequestCmd) {
		return
	}
	arguments := argumentSuggestions()
	flags := flagSuggestions()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		suggest := arguments[strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")]
		switch {
		case suggest != nil:
			cmd.ValidArgsFunction = inTime(suggest)
		case cmd.ValidArgs == nil && len(strings.Fields(cmd.Use)) == 1:
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if suggest := valuesOf(f, flags); suggest != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, inTime(suggest)) // the flag exists
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	_ = root.RegisterFlagCompletionFunc("color", valuesOf(root.PersistentFlags().Lookup("color"), nil)) // it exists
}

// argumentSuggestions returns how the arguments of commands are completed. Those of other
// commands are files.
func argumentSuggestions() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"call":                   fromSource(toolNames, toolWords()),
		"complete":               fromSource(completableNames, offeredWords()),
		"config diff":            fromLedger,
		"config export registry": afterFile(definedServers),
		"config import":          eachOnce(func(*cobra.Command, []string) []string { return clientNames() }),
		"config remove":          fromLedger,
		"config render":          clientThenFiles,
		"config run":             filesOrServer,
		"doctor":                 clientOrFile,
		"prompt":                 fromSource(promptNames, offeredWords()),
		"read":                   fromSource(resourceURIs, nil),
		"remove":                 removable,
		"search":                 cobra.NoFileCompletions,
	}
}

// flagSuggestions returns how the values of flags with these names are completed, in any
// command. Flags whose values are known words need no entry.
func flagSuggestions() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"allow":        fixed("personal"),
		"as":           fixed(sitebuild.Kinds()...),
		"client":       fixed(clientNames()...),
		"compat":       fixed("reference"),
		"format":       fixed(formatNames()...),
		"only":         toolsOfSource,
		"package":      fixed("remote", "npm", "pypi", "oci", "nuget", "cargo", "mcpb"),
		"refresh":      toolsOfSource,
		"secrets-from": secretStores,
		"server":       serversOfFiles,
		"set":          optionsOfBundle,
		"skip":         toolsOfSource,
		"tool":         toolsOfSource,
		"type":         fixed("node", "python", "binary", "uv"),
	}
}

// valuesOf returns how the values of a flag are completed, or nil if they are files or the
// flag takes none.
func valuesOf(f *pflag.Flag, suggestions map[string]cobra.CompletionFunc) cobra.CompletionFunc {
	if f == nil || f.NoOptDefVal != "" {
		return nil
	}
	suggest := suggestions[f.Name]
	if choice, ok := f.Value.(interface{ choices() []string }); ok && choice.choices() != nil {
		suggest = fixed(choice.choices()...)
	}
	placeholder, _ := pflag.UnquoteUsage(f)
	switch list, ok := f.Value.(interface{ separated() bool }); {
	case suggest != nil && ok && list.separated():
		return separated(suggest)
	case suggest != nil:
		return suggest
	case !namesFile(placeholder):
		return cobra.NoFileCompletions
	}
	return nil
}

// namesFile reports whether the placeholder of a flag means a file, folder or source.
func namesFile(placeholder string) bool {
	for word := range strings.SplitSeq(strings.ToLower(placeholder), "|") {
		if slices.Contains([]string{"file", "folder", "dir", "path", "program", "source"}, word) {
			return true
		}
	}
	return false
}

// inTime returns complete with a limit on its time, and without words that a terminal
// would not show as they are.
func inTime(complete cobra.CompletionFunc) cobra.CompletionFunc {
	type answer struct {
		words []string
		then  cobra.ShellCompDirective
	}
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), suggestLimit())
		defer cancel()
		cmd.SetContext(ctx)
		answers := make(chan answer, 1)
		go func() { // may outlive the limit: the process ends after it
			words, then := complete(cmd, args, prefix)
			answers <- answer{words, then}
		}()
		select {
		case <-ctx.Done():
			return nil, offerWords
		case a := <-answers:
			return slices.DeleteFunc(slices.Clone(a.words), func(word string) bool {
				return !strings.HasPrefix(word, prefix) || visible.Line(word) != word
			}), a.then
		}
	}
}

// fixed completes with known words.
func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, offerWords)
}

// separated completes a list whose members are separated by commas.
func separated(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		before := prefix[:strings.LastIndexByte(prefix, ',')+1]
		words, then := complete(cmd, args, prefix[len(before):])
		var lists []string
		for _, word := range words {
			if !slices.Contains(strings.Split(before, ","), word) {
				lists = append(lists, before+word)
			}
		}
		return lists, then
	}
}

// eachOnce completes a list of arguments with words that are not among them yet.
func eachOnce(list func(cmd *cobra.Command, args []string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return slices.DeleteFunc(list(cmd, args), func(word string) bool {
			return slices.Contains(args, word)
		}), offerWords
	}
}

// afterFile completes all arguments after the first, a file, with the words of a list.
func afterFile(list func(files ...string) []string) cobra.CompletionFunc {
	rest := eachOnce(func(_ *cobra.Command, args []string) []string { return list(args[0]) })
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, offerFiles
		}
		return rest(cmd, args, prefix)
	}
}

func clientNames() []string {
	return names(clients.All(), func(c clients.Client) string { return c.ID })
}

// clientOrFile completes the argument of doctor.
func clientOrFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, offerWords
	}
	return clientNames(), offerFiles
}

// clientThenFiles completes CLIENT FILE: first the IDs of clients, then files.
func clientThenFiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, offerFiles
	}
	return clientNames(), offerWords
}

// secretStores completes --secrets-from. After file: and command:, the user types on.
func secretStores(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(prefix, ":") {
		return nil, offerWords
	}
	words := slices.DeleteFunc([]string{"env", "keychain", "file:", "command:"}, func(word string) bool {
		return !strings.HasPrefix(word, prefix)
	})
	if len(words) == 1 && strings.HasSuffix(words[0], ":") {
		return words, offerStarts
	}
	return words, offerWords
}
