package live

import (
	"bytes"
	"io"
	"strings"
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

// redactor passes on whole lines without the secrets in them.
type redactor struct {
	to      io.Writer
	secrets []string
	held    []byte
}

// Write implements io.Writer. What is behind the last end of a line is kept.
func (r *redactor) Write(p []byte) (int, error) {
	r.held = append(r.held, p...)
	whole := bytes.LastIndexByte(r.held, '\n') + 1
	if whole == 0 && len(r.held) < maxHeld {
		return len(p), nil
	}
	if whole == 0 {
		whole = len(r.held)
	}
	_, err := io.WriteString(r.to, redact(string(r.held[:whole]), r.secrets))
	r.held = r.held[:copy(r.held, r.held[whole:])]
	return len(p), err
}

// flush passes on what is left when there is no more.
func (r *redactor) flush() error {
	_, err := io.WriteString(r.to, redact(string(r.held), r.secrets))
	r.held = nil
	return err
}
