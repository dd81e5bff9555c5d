package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// Every edit passes through verified, which must reject one that changes anything but the
// entry, even if the file remains valid.
func TestVerified(t *testing.T) {
	const text = `{"other": 1, "mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`
	target := Target{Format: tree.JSON, Root: "mcpServers"}
	value, err := tree.FromJSON([]byte(`{"command":"z"}`))
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, with string) splice {
		at := strings.Index(text, old)
		if at < 0 {
			t.Fatalf("the text does not contain %q", old)
		}
		return splice{at, at + len(old), with}
	}
	entry := replace(`{"command": "x"}`, `{"command":"z"}`)
	tests := map[string]struct {
		value   *tree.Node
		splices []splice
		ok      bool
	}{
		"the entry alone":           {value, []splice{entry}, true},
		"the entry removed":         {nil, []splice{replace(`"a": {"command": "x"}, `, "")}, true},
		"nothing":                   {value, nil, false},
		"another value":             {value, []splice{replace(`"x"`, `"w"`)}, false},
		"an entry that stays":       {nil, nil, false},
		"the entry next to it":      {value, []splice{entry, replace(`"y"`, `"w"`)}, false},
		"the entry next to it lost": {value, []splice{entry, replace(`, "b": {"command": "y"}`, "")}, false},
		"a member of the file":      {value, []splice{entry, replace(`1`, `2`)}, false},
		"a member of the file lost": {value, []splice{entry, replace(`"other": 1, `, "")}, false},
		"an added entry":            {value, []splice{entry, replace(`"b"`, `"c": {}, "b"`)}, false},
		"an invalid file":           {value, []splice{replace(`{"command": "x"}`, `{`)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			old, err := parse([]byte(text), target)
			if err != nil {
				t.Fatal(err)
			}
			out, err := verified([]byte(text), tt.splices, old, target, "a", tt.value)
			if tt.ok && err != nil {
				t.Fatalf("verified = %v, want no error", err)
			}
			if !tt.ok && (!errors.Is(err, ErrShape) || out != nil) {
				t.Fatalf("verified = %q, %v, want ErrShape", out, err)
			}
		})
	}
}

// The first brace from the end is part of a comment: only the comparison shows that an
// entry added there would not exist.
func TestSetBesideComment(t *testing.T) {
	const text = "mcpServers: {a: {command: x}} # }\n"
	value, err := tree.FromJSON([]byte(`{"command":"z"}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Set([]byte(text), Target{Format: tree.YAML, Root: "mcpServers"}, "b", value)
	const want = "mcpServers: {a: {command: x}, \"b\": {\"command\":\"z\"}} # }\n"
	if err != nil || string(out) != want {
		t.Fatalf("Set = %q, %v, want %q", out, err, want)
	}
}
