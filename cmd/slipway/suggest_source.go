package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

// argumentWords completes arguments KEY=VALUE of a tool, prompt or template.
type argumentWords struct {
	keys func(c *openSource, name string) []parameter
	// values returns the values of key that begin with prefix. pairs are the other
	// arguments so far.
	values func(cmd *cobra.Command, c *openSource, name, key, prefix string, pairs []string) []string
}

// fromSource completes SOURCE NAME KEY=VALUE...: the first argument is a file, the second
// one of a list of names, and the following ones have keys and values, unless arguments is
// nil. A key press starts no program and contacts no host: only local files are opened.
func fromSource(list func(*openSource) []string, arguments *argumentWords) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (words []string, then cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return nil, offerFiles
		case len(args) > 1 && arguments == nil, !open.Argument(args[0]).Local():
			return nil, offerWords
		}
		then = offerWords
		_ = withSource(cmd, args[0], func(c *openSource) error { // the command reports the error
			if len(args) == 1 {
				words = list(c)
				return nil
			}
			key, value, typed := strings.Cut(prefix, "=")
			if !typed {
				words = newKeys(arguments.keys(c, args[1]), args[2:])
				then = offerStarts
				return nil
			}
			words = arguments.values(cmd, c, args[1], key, value, args[2:])
			words = names(words, func(value string) string { return key + "=" + value })
			return nil
		})
		return words, then
	}
}

// newKeys returns the names of parameters in the form KEY=, without those of the arguments
// so far, unless they are lists.
func newKeys(parameters []parameter, pairs []string) []string {
	var keys []string
	for _, p := range parameters {
		used := slices.ContainsFunc(pairs, func(pair string) bool {
			return strings.HasPrefix(pair, p.name+"=")
		})
		if !used || slices.Contains(p.types, "array") {
			keys = append(keys, p.name+"=")
		}
	}
	return keys
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

// completableNames returns the names that "slipway complete" accepts.
func completableNames(c *openSource) []string {
	if !c.cat.Completions {
		return nil
	}
	templates := names(c.cat.Templates, func(t mcp.ResourceTemplate) string {
		return t.URITemplate
	})
	return append(promptNames(c), templates...)
}

// toolWords completes the arguments of a tool: values of enum and boolean.
func toolWords() *argumentWords {
	return &argumentWords{
		keys: toolParameters,
		values: func(_ *cobra.Command, c *openSource, name, key, _ string, _ []string) []string {
			for _, p := range toolParameters(c, name) {
				switch {
				case p.name != key:
				case p.choices != nil:
					return p.choices
				case slices.Contains(p.types, "boolean"):
					return []string{"true", "false"}
				}
			}
			return nil
		},
	}
}

// toolParameters returns the parameters of a tool for completion, none if it is unknown.
func toolParameters(c *openSource, name string) []parameter {
	t := c.cat.Tool(name)
	if t == nil {
		return nil
	}
	return parametersOf(t.InputSchema)
}

// offeredWords completes the arguments of a prompt or the variables of a template, with the
// values that the source suggests.
func offeredWords() *argumentWords {
	return &argumentWords{
		keys:   completableKeys,
		values: suggestedValues,
	}
}

// completableKeys returns the arguments of a prompt, or the variables of a URI template.
func completableKeys(c *openSource, name string) []parameter {
	var keys []string
	if p := c.cat.Prompt(name); p != nil {
		keys = names(p.Arguments, func(a mcp.PromptArgument) string { return a.Name })
	} else if template, err := uritemplate.Parse(name); err == nil {
		keys = template.Names()
	}
	return names(keys, func(key string) parameter { return parameter{name: key} })
}

// suggestedValues asks the source as "slipway complete" does.
func suggestedValues(
	cmd *cobra.Command,
	c *openSource,
	name, key, prefix string,
	pairs []string,
) []string {
	result, err := c.complete(cmd, name, append([]string{key + "=" + prefix}, pairs...))
	if err != nil {
		return nil
	}
	var answer struct {
		Completion mcp.Completion `json:"completion"`
	}
	if decode(result, &answer) != nil {
		return nil
	}
	return answer.Completion.Values
}

// toolsOfSource completes a flag with the tools of the source, the first argument.
func toolsOfSource(
	cmd *cobra.Command,
	args []string,
	prefix string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, offerWords
	}
	return fromSource(toolNames, nil)(cmd, args[:1], prefix)
}
