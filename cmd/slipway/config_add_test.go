package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/stax"
)

// TestAskYes ensures that the user sees the command line, and that only yes means yes.
func TestAskYes(t *testing.T) {
	s := &stax.Server{Name: "w", Command: "npx", Args: []string{"-y", "w@1", "a b", "\x1b[2J", "\u202e"}}
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " yes \r\n": true, "y": true, "n\n": false,
		"\n": false, "": false, "yep\n": false, "no\ny\n": false} {
		var out bytes.Buffer
		if err := askYes(strings.NewReader(answer), &out, s); (err == nil) != want {
			t.Errorf("askYes with %q = %v", answer, err)
		} else if err != nil && explain(err).code != exitPolicy {
			t.Errorf("the exit code is %d", explain(err).code)
		}
		if !strings.Contains(out.String(), `  npx -y w@1 "a b" "\x1b[2J" "\u202e"`+"\n") {
			t.Errorf("it shows %q", out.String())
		}
	}
}
