package live

import (
	"io"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lines"
)

// redact replaces secrets in a text that is shown to somebody. Of a secret of
// several lines each line counts by itself, as texts are shown by the line.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= 4 { // a shorter one would tear holes everywhere
				text = strings.ReplaceAll(text, line, "[redacted]")
			}
		}
	}
	return text
}

// maxHeld is how much of a line that does not end is held back.
const maxHeld = 64 << 10

// redactor returns a writer that passes whole lines on to w without the secrets
// in them.
func redactor(w io.Writer, secrets []string) *lines.Writer {
	return &lines.Writer{Max: maxHeld, Line: func(line string) error {
		_, err := io.WriteString(w, redact(line, secrets)+"\n")
		return err
	}}
}
