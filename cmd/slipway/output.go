package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// printJSON prints v as indented JSON. "<" is not escaped; control characters and
// invisible characters are.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(visible.JSONWriter{To: w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// jsonFlag adds --json to a command.
func jsonFlag(cmd *cobra.Command, what string) {
	cmd.Flags().Bool("json", false, "print "+what+" as JSON")
}

// jsonResultFlag adds --json to a command whose result is JSON in any case.
func jsonResultFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("json", false, "print errors as JSON, as the result is")
}

// wantsJSON reports whether --json is set.
func wantsJSON(cmd *cobra.Command) bool {
	given, _ := cmd.Flags().GetBool("json")
	return given
}

// show prints the result of a command: as JSON with --json, otherwise as text.
func show[T any](cmd *cobra.Command, result T, text func(io.Writer, T) error) error {
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), result)
	}
	return text(cmd.OutOrStdout(), result)
}

// showList prints the list that a command results in: with --json as the member of an
// object, which is an array even if the list is nil.
func showList[T any](
	cmd *cobra.Command,
	member string,
	list []T,
	text func(io.Writer, []T) error,
) error {
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), map[string]any{member: append([]T{}, list...)})
	}
	return text(cmd.OutOrStdout(), list)
}

// isTerminal reports whether w is a terminal: a character device other than the null
// device.
func isTerminal(w any) bool {
	if s, ok := w.(*screen); ok {
		w = s.file
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// contents is an item of a resources/read result, or an embedded resource.
type contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	// Text or Blob is nil, depending on the kind of the content.
	Text *string `json:"text"`
	Blob binary  `json:"blob"`
}

// block is a content block in the result of a tool or prompt.
type block struct {
	// Type decides which of the other fields are set.
	Type     string    `json:"type"`
	Text     string    `json:"text"`
	Data     *binary   `json:"data"`
	MIMEType string    `json:"mimeType"`
	URI      string    `json:"uri"`
	Resource *contents `json:"resource"`
}

// binary is data that servers send in base64. If they send something else, the rest of an
// answer can still be shown.
type binary struct {
	bytes   []byte
	invalid bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *binary) UnmarshalJSON(text []byte) error {
	b.invalid = json.Unmarshal(text, &b.bytes) != nil
	return nil
}

// String returns the size.
func (b *binary) String() string {
	if b.invalid {
		return "not valid base64"
	}
	return fmt.Sprintf("%d bytes", len(b.bytes))
}

// decode decodes a result, which may be a raw document.
func decode(result, into any) error {
	text, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	err = json.Unmarshal(text, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		f := remoteFailed("print the result as it is with --json", "the server's answer breaks the protocol: %s is %s",
			cmp.Or(visible.Line(wrong.Field), "it"), withArticle(wrong.Value))
		f.cause = err
		return f
	}
	if err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	return nil
}

// withArticle returns the name of a type of JSON value for a sentence.
func withArticle(kind string) string {
	kind, _, _ = strings.Cut(kind, " ") // of a number, the value follows
	switch kind {
	case "array", "object":
		return "an " + kind
	case "bool":
		return "a boolean"
	}
	return "a " + kind
}

// String returns the block as text, or a description of content that cannot be shown.
func (b *block) String() string {
	switch {
	case b.Type == "text":
		return b.Text
	case b.Type == "resource_link":
		return visible.Line(b.URI)
	case b.Type == "resource" && b.Resource != nil && b.Resource.Text != nil:
		return *b.Resource.Text
	case b.Type == "resource" && b.Resource != nil:
		return fmt.Sprintf("[resource %s, %s, %s]", visible.Line(b.Resource.URI), visible.Line(b.Resource.MIMEType),
			&b.Resource.Blob)
	case b.Data != nil:
		return fmt.Sprintf("[%s, %s, %s]", visible.Line(b.Type), visible.Line(b.MIMEType), b.Data)
	}
	return fmt.Sprintf("[%s]", visible.Line(b.Type))
}

// shown joins blocks, each on separate lines.
func shown(blocks []block) string {
	var text strings.Builder
	for i := range blocks {
		line(&text, blocks[i].String())
	}
	return text.String()
}

// line writes text with exactly the line feed that it may already have.
func line(w io.Writer, text string) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = io.WriteString(w, text)
}
