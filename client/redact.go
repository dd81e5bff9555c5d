package client

import (
	"strings"

	"github.com/slipway-mcp/slipway/internal/lines"
)

// minRedacted is the length of the shortest secret, or part of one, that is replaced. Shorter ones occur
// everywhere.
const minRedacted = 4

// redacted replaces a secret.
const redacted = "[redacted]"

// redact replaces secrets in a text to be shown. Each line of a multi-line secret is
// replaced separately, because texts are shown by line.
func redact(text string, secrets []string) string {
	return redactCut(text, secrets, false, false)
}

// redactCut is redact for a text of which the start or the end was cut off, perhaps within a secret: what is
// left of it there is replaced, too.
func redactCut(text string, secrets []string, start, end bool) string {
	for _, secret := range secrets {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) < minRedacted {
				continue
			}
			text = strings.ReplaceAll(text, line, redacted)
			for n := min(len(line)-1, len(text)); start && n >= minRedacted; n-- {
				if rest, cut := strings.CutPrefix(text, line[len(line)-n:]); cut {
					text = redacted + rest
					break
				}
			}
			for n := min(len(line)-1, len(text)); end && n >= minRedacted; n-- {
				if rest, cut := strings.CutSuffix(text, line[:n]); cut {
					text = rest + redacted
					break
				}
			}
		}
	}
	return text
}

// maxHeld is how much of an unfinished line is buffered.
const maxHeld = 64 << 10

// redactor returns a writer that passes whole lines to show with secrets redacted. A line that is too long
// arrives in pieces.
func redactor(secrets []string, show func(line string) error) *lines.Writer {
	continues := false // the last line was a piece
	return &lines.Writer{
		Max: maxHeld,
		Line: func(line string) error {
			start, end := continues, len(line) >= maxHeld-len("\r")
			continues = end
			return show(redactCut(line, secrets, start, end))
		},
	}
}
