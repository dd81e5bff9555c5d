package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcpb"
)

// TestAskDraft tests the prompts of bundle init on a terminal.
func TestAskDraft(t *testing.T) {
	tests := map[string]struct {
		answers string
		want    mcpb.Draft
		asked   string // part of the output on the terminal
		givenUp bool
	}{
		"the defaults": {"\n\n\n\n\n", mcpb.Draft{Name: "n", Type: "node", EntryPoint: "main.js", Runtime: ">=18"},
			"entry point [main.js]: ", false},
		"all answers": {"other\nDoes things\nA. Person\nnode\nserver.js\n",
			mcpb.Draft{Name: "other", Description: "Does things", Author: mcpb.Author{Name: "A. Person"}, Type: "node",
				EntryPoint: "server.js", Runtime: ">=18"}, "name, for machines [n]: ", false},
		"another type has another entry point": {"\n\n\nuv\n\n",
			mcpb.Draft{Name: "n", Type: "uv", EntryPoint: "src/server.py",
				SpecVersion: "0.4"}, "entry point [src/server.py]: ", false},
		"a type that there is not": {"\n\n\npyton\npython\n\n",
			mcpb.Draft{Name: "n", Type: "python", EntryPoint: "server/main.py"}, "did you mean python?\ntype (", false},
		"the end of the input": {"other\n", mcpb.Draft{}, "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &mcpb.Draft{Name: "n", Type: "node", EntryPoint: "main.js", Runtime: ">=18"}
			d.Fill()
			var asked strings.Builder
			err := askDraft(strings.NewReader(tt.answers), &asked, d)
			var f *failure
			if tt.givenUp {
				if !errors.As(err, &f) || f.code != exitNo {
					t.Errorf("got %v, want that it is given up", err)
				}
				return
			}
			tt.want.Fill()
			if diff := cmp.Diff(*d, tt.want); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if !strings.Contains(asked.String(), tt.asked) {
				t.Errorf("asked %q, want %q in it", asked.String(), tt.asked)
			}
		})
	}
}
