package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/mcp"
)

func newComplete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "complete SOURCE PROMPT|TEMPLATE KEY=PREFIX [KEY=VALUE...]",
		Short: "Suggest values for an argument",
		Long: `Ask a source for values that start with PREFIX, for an argument of a prompt or a
variable of a resource template. Additional KEY=VALUE pairs are values already
chosen for other arguments. Prints one suggestion per line.

` + sourceHelp,
		Example: `  slipway complete examples/http-reference explain_status code=4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSourceOptions(cmd, args[0], new(answering).connect, func(c *openSource) error {
				result, err := c.complete(cmd, args[1], args[2:])
				if err != nil {
					return err
				}
				return show(cmd, result, func(w io.Writer, r *mcp.CompleteResult) error {
					return printSuggestions(w, cmd.ErrOrStderr(), r)
				})
			})
		},
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	loginFlag(cmd)
	jsonFlag(cmd, "the whole result")
	return cmd
}

// complete asks for values of the argument in the first pair, KEY=PREFIX, of a prompt or a
// resource template. The other pairs are arguments that are already chosen.
func (c *openSource) complete(
	cmd *cobra.Command,
	name string,
	pairs []string,
) (*mcp.CompleteResult, error) {
	if !c.cat.Completions {
		return nil, no("", "%s: the source makes no suggestions", c.arg)
	}
	argument, prefix, ok := strings.Cut(pairs[0], "=")
	if !ok {
		return nil, usage("usage: "+cmd.UseLine(), "argument %q is not KEY=PREFIX", pairs[0])
	}
	chosen, err := stringArguments(pairs[1:])
	if err != nil {
		return nil, err
	}
	params := &mcp.CompleteParams{
		Argument:  argument,
		Value:     prefix,
		Arguments: chosen,
	}
	if params.URITemplate, params.Prompt, err = c.reference(name); err != nil {
		return nil, err
	}
	defer waitFor(cmd, name).finish()
	result, err := c.source.Complete(cmd.Context(), params)
	if err != nil {
		return nil, answered(name, err)
	}
	return result, nil
}

// reference determines whether a name is a template or a prompt.
func (c *openSource) reference(name string) (template, prompt string, err error) {
	for _, t := range c.cat.Templates {
		if t.URITemplate == name {
			return name, "", nil
		}
	}
	if strings.Contains(name, "{") {
		var templates []string
		for _, t := range c.cat.Templates {
			templates = append(templates, t.URITemplate)
		}
		return "", "", no(c.meant(name, templates, "--templates"), "%s: no resource template %q", c.arg, name)
	}
	p, err := c.prompt(name)
	if err != nil {
		return "", "", err
	}
	return "", p.Name, nil
}

// printSuggestions prints one value per line, and on stderr whether the server has more.
func printSuggestions(w, stderr io.Writer, result *mcp.CompleteResult) error {
	var answer struct {
		Completion mcp.Completion `json:"completion"`
	}
	if err := decode(result, &answer); err != nil {
		return err
	}
	for _, v := range answer.Completion.Values {
		line(w, v)
	}
	if more := answer.Completion.HasMore; more != nil && *more {
		fmt.Fprintln(stderr, "there are more: type a longer prefix")
	}
	return nil
}
