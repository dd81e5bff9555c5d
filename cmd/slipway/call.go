package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

func newCall() *cobra.Command {
	var jsonArgs string
	cmd := &cobra.Command{
		Use:   "call SOURCE TOOL [KEY=VALUE...]",
		Short: "Call a tool",
		Long: `Call a tool and print the text of its result.

Each VALUE is converted to the type of KEY in the tool's inputSchema: code=404
is a number for an integer, a string for a string. Repeat a KEY for a list.
Without a declared type, a VALUE is JSON if valid, otherwise a string. If a tool
requires exactly one argument, its KEY can be omitted.

If the tool reports an error, its text goes to stderr and the exit code is 1.

` + answersHelp + `

` + sourceHelp,
		Example: `  slipway call examples/http-reference get_status code=404
  slipway call examples/http-reference compare_methods a=PUT b=PATCH
  echo '{"name":"ETag"}' | slipway call examples/http-reference find_header \
      --json-args -
  slipway call https://example.com/mcp wipe_cache --answer confirm=true`,
		RunE: func(cmd *cobra.Command, args []string) error {
			answers, _ := cmd.Flags().GetString("json-answers")
			if answers == "-" && jsonArgs == "-" {
				return usage("write one of them as an object", "call: --json-args and --json-answers both read stdin")
			}
			object, err := jsonObject("--json-args", jsonArgs, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return withAnswers(cmd, args[0], func(c *openSource) error {
				result, err := c.call(cmd, args[1], args[2:], object)
				if err != nil {
					return err
				}
				return printCall(cmd, c.cat.Tool(args[1]), result)
			})
		},
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	loginFlag(cmd)
	cmd.Flags().StringVar(&jsonArgs, "json-args", "", "all arguments as a JSON `object`; - reads it from stdin")
	cmd.Flags().Bool("progress", false, "print the progress and the log lines of the call to stderr")
	answerFlags(cmd)
	jsonFlag(cmd, "the whole result")
	return cmd
}

// callContext returns the context for a call, which prints its progress with --progress.
func callContext(cmd *cobra.Command) context.Context {
	if wanted, _ := cmd.Flags().GetBool("progress"); !wanted {
		return cmd.Context()
	}
	stderr := cmd.ErrOrStderr()
	level := mcp.LogInfo
	return client.WithNotify(cmd.Context(), &client.Notify{
		Level: &level,
		Progress: func(params json.RawMessage) {
			var p struct {
				Progress json.Number `json:"progress"`
				Total    json.Number `json:"total"`
				Message  string      `json:"message"`
			}
			if json.Unmarshal(params, &p) != nil {
				return
			}
			// The numbers are printed as the server wrote them.
			text := p.Progress.String()
			if p.Total != "" {
				text += " of " + p.Total.String()
			}
			say(stderr, "%s", visible.Line(strings.TrimSpace(text+" "+p.Message)))
		},
		Log: func(params json.RawMessage) {
			var l struct {
				Level string          `json:"level"`
				Data  json.RawMessage `json:"data"`
			}
			if json.Unmarshal(params, &l) != nil {
				return
			}
			// Most servers log a text; other data is printed as JSON.
			text, ok := jsonscan.Unquote(l.Data)
			if !ok {
				text = string(l.Data)
			}
			say(stderr, "%s: %s", visible.Line(l.Level), visible.Line(text))
		},
	})
}

// call calls a tool with KEY=VALUE pairs, or with the arguments in object. An error about the
// arguments gets a hint that lists those of the tool.
func (c *openSource) call(
	cmd *cobra.Command,
	name string,
	pairs []string,
	object json.RawMessage,
) (*mcp.CallToolResult, error) {
	tool, err := c.tool(name)
	if err != nil {
		return nil, err
	}
	arguments, err := toolArguments(tool, pairs, object)
	if err != nil {
		return nil, err
	}
	defer waitFor(cmd, name).finish()
	result, err := withVisits(c, name, func() (*mcp.CallToolResult, error) {
		return c.source.CallTool(callContext(cmd), &mcp.CallToolParams{
			Name:      tool.Name,
			Arguments: arguments,
		})
	})
	if err != nil && namesArguments(err.Error(), name) {
		return nil, &failure{
			code: codeOf(err),
			text: err.Error(),
			hint: argumentsHint(tool),
		}
	}
	if err != nil {
		return nil, answered(name, err)
	}
	return result, nil
}

// namesArguments reports whether a server's error names the tool whose arguments are
// invalid.
func namesArguments(text, tool string) bool {
	return strings.HasPrefix(text, "invalid arguments for "+tool+":")
}

// printCall prints the text of a result, or a substitute for other content. An error
// reported by the tool is also an error of the command.
func printCall(cmd *cobra.Command, tool *mcp.Tool, result *mcp.CallToolResult) error {
	w := cmd.OutOrStdout()
	name := tool.Name
	var answer struct {
		Content           []block         `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
	}
	if err := decode(result, &answer); err != nil {
		return err
	}
	switch {
	case wantsJSON(cmd):
		if err := printJSON(w, result); err != nil {
			return err
		}
		if answer.IsError {
			return no("", "%s: the tool reports an error", name)
		}
		return nil
	case answer.IsError:
		text := strings.TrimSpace(shown(answer.Content))
		switch { // a text that names the tool is not prefixed
		case namesArguments(text, name):
			return no(argumentsHint(tool), "%s", text)
		case strings.HasPrefix(text, name+" "):
			return no("", "%s", text)
		}
		return no("", "%s: %s", name, text)
	case len(answer.Content) == 0 && answer.StructuredContent != nil:
		return printJSON(w, answer.StructuredContent)
	}
	_, err := io.WriteString(w, shown(answer.Content))
	return err
}
