package client

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestRedactCutSecret ensures that a secret is hidden although what a program prints is cut within it, at
// every place.
func TestRedactCutSecret(t *testing.T) {
	const secret = "hunter22-is-the-password"
	c := &Command{Redact: []string{secret}}
	// revealed returns the longest part of the secret in a text.
	revealed := func(text string) string {
		for n := len(secret); n > 0; n-- {
			for i := 0; i+n <= len(secret); i++ {
				if strings.Contains(text, secret[i:i+n]) {
					return secret[i : i+n]
				}
			}
		}
		return ""
	}
	for before := range 600 {
		line := "Error: " + strings.Repeat(".", before) + secret + strings.Repeat(".", 2000)
		ch := &child{command: c, cmd: &exec.Cmd{}}
		_, _ = ch.stderr.Write([]byte(line))
		ch.noteStray([]byte(line))
		closed := make(chan struct{})
		close(closed)
		ch.exited, ch.errEnded = closed, closed
		if text := ch.exitError(io.EOF).Error(); len(revealed(text)) > 3 {
			t.Fatalf("%d bytes before the secret: %q is in %s", before, revealed(text), text)
		}
	}
	for after := range 1100 {
		line := strings.Repeat(".", 2000) + secret + strings.Repeat(".", after)
		ch := &child{command: c, cmd: &exec.Cmd{}}
		_, _ = ch.stderr.Write([]byte(line))
		if text := ch.lastLines(); len(revealed(text)) > 3 {
			t.Fatalf("%d bytes after the secret: %q is in %s", after, revealed(text), text)
		}
	}
	var shown bytes.Buffer
	for before := maxHeld - 30; before < maxHeld+2; before++ {
		shown.Reset()
		w := redactor(c.Redact, func(line string) error {
			_, err := shown.WriteString(line + "\n")
			return err
		})
		_, _ = io.WriteString(w, strings.Repeat(".", before)+secret+strings.Repeat(".", maxHeld)+"\n")
		if text := shown.String(); len(revealed(text)) > 3 {
			t.Fatalf("%d bytes before the secret: %q is in the output", before, revealed(text))
		}
	}
}
