package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

func newPrompt() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prompt SOURCE NAME [KEY=VALUE...]",
		Short: "Get a prompt",
		Long: `Get a prompt with its arguments filled in, and print its messages with their
roles.

` + answersHelp + `

` + sourceHelp,
		Example: `  slipway prompt examples/http-reference explain_status code=404`,
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, err := stringArguments(args[2:])
			if err != nil {
				return err
			}
			return withAnswers(cmd, args[0], func(c *openSource) error {
				result, err := c.fill(cmd, args[1], arguments)
				if err != nil {
					return err
				}
				return show(cmd, result, printMessages)
			})
		},
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	loginFlag(cmd)
	answerFlags(cmd)
	jsonFlag(cmd, "the whole result")
	return cmd
}

// fill gets a prompt with arguments. Missing required ones are reported before the request.
func (c *openSource) fill(
	cmd *cobra.Command,
	name string,
	arguments map[string]string,
) (*mcp.GetPromptResult, error) {
	prompt, err := c.prompt(name)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, a := range prompt.Arguments {
		if _, ok := arguments[a.Name]; a.Required && !ok {
			missing = append(missing, a.Name+"=...")
		}
	}
	if len(missing) > 0 {
		return nil, usage("add "+strings.Join(missing, " "), "prompt %s%s: required arguments are missing",
			prompt.Name, promptSignature(prompt.Arguments, maxArguments))
	}
	defer waitFor(cmd, name).finish()
	result, err := withVisits(c, name, func() (*mcp.GetPromptResult, error) {
		return c.source.GetPrompt(cmd.Context(), &mcp.GetPromptParams{
			Name:      prompt.Name,
			Arguments: arguments,
		})
	})
	if err != nil {
		return nil, answered(name, err)
	}
	return result, nil
}

// printMessages prints the messages of a prompt, each below its role.
func printMessages(w io.Writer, result *mcp.GetPromptResult) error {
	var answer struct {
		Messages []struct {
			Role    string `json:"role"`
			Content block  `json:"content"`
		} `json:"messages"`
	}
	if err := decode(result, &answer); err != nil {
		return err
	}
	var text strings.Builder
	for i, m := range answer.Messages {
		if i > 0 {
			text.WriteString("\n")
		}
		line(&text, visible.Line(m.Role)+":")
		line(&text, m.Content.String())
	}
	_, err := io.WriteString(w, text.String())
	return err
}
