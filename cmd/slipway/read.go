package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
)

func newRead() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "read SOURCE URI",
		Short: "Read a resource",
		Long: `Read a resource and print its contents: text unchanged, binary data as bytes.
Binary data is not printed to a terminal.

` + answersHelp + `

` + sourceHelp,
		Example: `  slipway read examples/http-reference http://status/404
  slipway read examples/http-reference http://status/404 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAnswers(cmd, args[0], func(c *openSource) error {
				result, err := c.read(cmd, args[1])
				if err != nil {
					return err
				}
				return show(cmd, result, printContents)
			})
		},
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	loginFlag(cmd)
	answerFlags(cmd)
	jsonFlag(cmd, "the whole result, with binary data in base64,")
	return cmd
}

// read reads a resource. If it does not exist, the hint names the nearest listed URI, or the
// command that lists them.
func (c *openSource) read(cmd *cobra.Command, uri string) (*mcp.ReadResourceResult, error) {
	defer waitFor(cmd, uri).finish()
	result, err := withVisits(c, uri, func() (*mcp.ReadResourceResult, error) {
		return c.source.ReadResource(cmd.Context(), &mcp.ReadResourceParams{URI: uri})
	})
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeResourceNotFound {
		return nil, no(c.elsewhere(uri, e.Message), "%s: %s", uri, e.Message)
	}
	if err != nil {
		return nil, answered(uri, err)
	}
	return result, nil
}

// elsewhere returns the hint for a URI that does not exist. It does not repeat the
// suggestion in message.
func (c *openSource) elsewhere(uri, message string) string {
	uris := resourceURIs(c)
	near := nearest.DidYouMean(uri, uris)
	if near != "" && strings.Contains(message, near) {
		uris = nil
	}
	return c.meant(uri, uris, "--resources")
}

// printContents prints the items one after the other without changes, but adds a newline
// on a terminal.
func printContents(w io.Writer, result *mcp.ReadResourceResult) error {
	var answer struct {
		Contents []contents `json:"contents"`
	}
	if err := decode(result, &answer); err != nil {
		return err
	}
	terminal := isTerminal(w)
	for _, item := range answer.Contents {
		switch {
		case item.Text == nil && item.Blob.invalid:
			return no("--json prints it as it is", "%s: the server sent a blob that is not valid base64", item.URI)
		case item.Text == nil && terminal:
			return no("send it to a file: > FILE, or print it with --json", "%s is binary (%s, %d bytes)",
				item.URI, item.MIMEType, len(item.Blob.bytes))
		case item.Text == nil:
			if _, err := w.Write(item.Blob.bytes); err != nil {
				return err
			}
		default:
			if _, err := io.WriteString(w, *item.Text); err != nil {
				return err
			}
			if terminal && !strings.HasSuffix(*item.Text, "\n") {
				line(w, "")
			}
		}
	}
	return nil
}
