package client

import (
	"io"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lines"
)

// redact replaces secrets in a text to be shown. Each line of a multi-line secret is
// replaced separately, because texts are shown by line.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		for line := range strings.Lines(secret) {
			// Shorter ones occur everywhere.
			if line = strings.TrimSpace(line); len(line) >= 4 {
				text = strings.ReplaceAll(text, line, "[redacted]")
			}
		}
	}
	return text
}

// maxHeld is how much of an unfinished line is buffered.
const maxHeld = 64 << 10

// redactor returns a writer that passes whole lines to w with secrets redacted.
func redactor(w io.Writer, secrets []string) *lines.Writer {
	return &lines.Writer{
		Max: maxHeld,
		Line: func(line string) error {
			_, err := io.WriteString(w, redact(line, secrets)+"\n")
			return err
		},
	}
}
