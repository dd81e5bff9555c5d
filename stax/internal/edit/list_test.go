package edit_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

func TestAppend(t *testing.T) {
	tests := map[string]struct {
		format    tree.Format
		old, want string
	}{
		"json nothing": {tree.JSON, "", "{\n  \"secrets\": [{\n    \"key\": \"K\",\n    \"required\": false\n  }]\n}\n"},
		"json no list": {
			tree.JSON,
			"{\n  \"a\": 1\n}\n",
			"{\n  \"a\": 1,\n  \"secrets\": [{\n    \"key\": \"K\",\n    \"required\": false\n  }]\n}\n",
		},
		"json empty": {tree.JSON, "{\"secrets\": [ ]}", `{"secrets": [{"key":"K","required":false}]}`},
		"json one line": {
			tree.JSON,
			`{"secrets": ["A", {"key": "B"}], "z": 1.50}`,
			`{"secrets": ["A", {"key": "B"}, {"key":"K","required":false}], "z": 1.50}`,
		},
		"jsonc lines": {
			tree.JSONC,
			"{\n  \"secrets\": [\n    \"A\", // first\n    \"B\" // last\n  ],\n}\n",
			"{\n  \"secrets\": [\n    \"A\", // first\n    \"B\", // last\n    {\"key\":\"K\",\"required\":false}\n  ],\n}\n",
		},
		"jsonc comma": {
			tree.JSONC,
			"{\"secrets\": [\r\n\t\"A\",\r\n]}\r\n",
			"{\"secrets\": [\r\n\t\"A\",\r\n\t{\"key\":\"K\",\"required\":false},\r\n]}\r\n",
		},
		"json long": {
			tree.JSON,
			"{\n  \"secrets\": [\n    {\n      \"key\": \"A\"\n    }\n  ]\n}",
			"{\n  \"secrets\": [\n    {\n      \"key\": \"A\"\n    },\n    {\n      \"key\": \"K\",\n      \"required\": " +
				"false\n    }\n  ]\n}",
		},
		"yaml nothing": {tree.YAML, "", "secrets:\n  - key: K\n    required: false\n"},
		"yaml no list": {tree.YAML, "a: 1", "a: 1\nsecrets:\n  - key: K\n    required: false\n"},
		"yaml empty": {
			tree.YAML,
			"secrets: [] # none\nb: 1\n",
			"secrets: # none\n  - key: K\n    required: false\nb: 1\n",
		},
		"yaml block": {
			tree.YAML,
			"secrets:\n- A # a\n- key: B\n  kind: token\n# behind\nz: 1\n",
			"secrets:\n- A # a\n- key: B\n  kind: token\n- key: K\n  required: false\n# behind\nz: 1\n",
		},
		"yaml brackets": {
			tree.YAML,
			"secrets: [A, \"B]\", {key: 'C'}] # end\nz: 1\n",
			"secrets: [A, \"B]\", {key: 'C'}, {\"key\":\"K\",\"required\":false}] # end\nz: 1\n",
		},
		"yaml lines": {
			tree.YAML,
			"secrets: [\n  A, # ]\n  B,\n]\n",
			"secrets: [\n  A, # ]\n  B, {\"key\":\"K\",\"required\":false},\n]\n",
		},
		"toml nothing": {tree.TOML, "", "[[secrets]]\nkey = \"K\"\nrequired = false\n"},
		"toml no list": {
			tree.TOML,
			"[servers.a]\ncommand = 'x'",
			"[servers.a]\ncommand = 'x'\n\n[[secrets]]\nkey = \"K\"\nrequired = false\n",
		},
		"toml tables": {
			tree.TOML,
			"[[secrets]]\nkey = 'A'\n[servers.a]\nargs = ['x']\n",
			"[[secrets]]\nkey = 'A'\n[servers.a]\nargs = ['x']\n\n[[secrets]]\nkey = \"K\"\nrequired = false\n",
		},
		"toml brackets": {
			tree.TOML,
			"secrets = [ 'A]', { key = \"B\\\"]\" } ] # x\n[servers.a]\n",
			"secrets = [ 'A]', { key = \"B\\\"]\" }, { key = \"K\", required = false } ] # x\n[servers.a]\n",
		},
		"toml empty": {
			tree.TOML,
			"secrets = [] # none\n",
			"secrets = [{ key = \"K\", required = false }] # none\n",
		},
		"toml empty with a comment": {
			tree.TOML,
			"secrets = [ # [a, b\n]\n",
			"secrets = [{ key = \"K\", required = false } # [a, b\n]\n",
		},
		"toml many lines": {
			tree.TOML,
			"secrets = [\n  'A', # ]\n]\n",
			"secrets = [\n  'A', { key = \"K\", required = false }, # ]\n]\n",
		},
		"toml quoted name": {
			tree.TOML,
			"a.b = 1\n\"secrets\" = ['A']\n",
			"a.b = 1\n\"secrets\" = ['A', { key = \"K\", required = false }]\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := edit.Append([]byte(test.old), edit.Target{Format: test.format, Root: "secrets"},
				entry(`{"key":"K","required":false}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for text, format := range map[string]tree.Format{
		"secrets: &x [A]\nb: *x\n":             tree.YAML,
		"{\"secrets\": [ // none\n]}":          tree.JSONC,
		"secrets: {a: b}\n":                    tree.YAML,
		"secrets: 1\n":                         tree.YAML,
		"a: &x\n  - A\nsecrets: *x\nc: [*x]\n": tree.YAML,
	} {
		if got, err := edit.Append([]byte(text), edit.Target{Format: format, Root: "secrets"},
			entry(`{"key":"K"}`)); err == nil {
			t.Errorf("%q became %q", text, got)
		} else if format == tree.JSONC && !errors.Is(err, edit.ErrShape) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
