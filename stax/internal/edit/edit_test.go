package edit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

var (
	jsonFile  = edit.Target{Format: tree.JSON, Root: "mcpServers"}
	jsoncFile = edit.Target{Format: tree.JSONC, Root: "mcpServers"}
	tomlFile  = edit.Target{Format: tree.TOML, Root: "mcp_servers"}
	yamlFile  = edit.Target{Format: tree.YAML, Root: "extensions"}
	yamlList  = edit.Target{Format: tree.YAML, Root: "mcpServers", List: true}
)

func entry(text string) *tree.Node {
	n, err := tree.FromJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	return n
}

const added = `{"name":"new","command":"x","args":["-y","a b"],"env":{"A":"${A}"}}`

func TestAdd(t *testing.T) {
	tests := map[string]struct {
		target    edit.Target
		old, want string
		oneWay    bool // Remove leaves an empty holder that did not exist before
	}{
		"nothing": {
			jsonFile,
			"",
			"{\n  \"mcpServers\": {\n    \"new\": {\n      \"name\": \"new\",\n      \"command\": \"x\",\n      " +
				"\"args\": [\"-y\", \"a b\"],\n      \"env\": {\n        \"A\": \"${A}\"\n      }\n    }\n  }\n}\n",
			true,
		},
		"an empty object": {jsonFile, "{}\n", "{\n  \"mcpServers\": {\n    \"new\": E4\n  }\n}\n", true},
		"no holder": {
			jsonFile,
			"{\n\t\"a\": 1\n}",
			"{\n\t\"a\": 1,\n\t\"mcpServers\": {\n\t\t\"new\": T2\n\t}\n}",
			true,
		},
		"an empty holder": {
			jsonFile,
			"{\n  \"mcpServers\": {}\n}\n",
			"{\n  \"mcpServers\": {\n    \"new\": E4\n  }\n}\n",
			false,
		},
		"another entry": {
			jsonFile,
			"{\n  \"mcpServers\": {\n    \"a\": {}\n  },\n  \"z\": 1\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {},\n    \"new\": E4\n  },\n  \"z\": 1\n}\n",
			false,
		},
		"one line": {
			jsonFile,
			`{"mcpServers": {"a": {}}, "z": 9007199254740993}`,
			`{"mcpServers": {"a": {}, "new": C}, "z": 9007199254740993}`,
			false,
		},
		"carriage return": {
			jsonFile,
			"{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
			"{\r\n  \"mcpServers\": {\r\n    \"a\": {},\r\n    \"new\": R4\r\n  }\r\n}\r\n",
			false,
		},
		"a mark": {
			jsonFile,
			"\ufeff{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}",
			"\ufeff{\n  \"mcpServers\": {\n    \"a\": {},\n    \"new\": E4\n  }\n}",
			false,
		},
		"comments": {
			jsoncFile,
			"// top\n{\n  \"mcpServers\": {\n    // mine\n    \"a\": {} // last\n    // behind\n  } /* x */\n}\n",
			"// top\n{\n  \"mcpServers\": {\n    // mine\n    \"a\": {}, // last\n    \"new\": E4\n    // behind\n  } /* " +
				"x */\n}\n",
			false,
		},
		"a trailing comma": {
			jsoncFile,
			"{\n  \"mcpServers\": {\n    \"a\": {}, // last\n  },\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {}, // last\n    \"new\": E4,\n  },\n}\n",
			false,
		},
		"only a comment": {
			jsoncFile,
			"{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    // none yet\n    \"new\": E4\n  }\n}\n",
			false,
		},
		"a late comma": {
			jsoncFile,
			"{\n  \"mcpServers\": {\n    \"a\": {}\n    ,\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {},\n    \"new\": E4\n    ,\n  }\n}\n",
			false,
		},

		"all comments": {
			jsoncFile,
			"// none yet\r\n/* x */",
			"// none yet\r\n/* x */\r\n{\r\n  \"mcpServers\": {\r\n    \"new\": R4\r\n  }\r\n}\r\n",
			true,
		},
		"null": {jsonFile, "{\n  \"mcpServers\": null\n}\n", "{\n  \"mcpServers\": {\n    \"new\": E4\n  }\n}\n", true},

		"toml nothing": {tomlFile, "", "[mcp_servers.new]\nF", true},
		"toml": {tomlFile, "# mine\nmodel = \"o\"\n\n[mcp_servers.a] # first\ncommand = 'a'\n# last\n",
			"# mine\nmodel = \"o\"\n\n[mcp_servers.a] # first\ncommand = 'a'\n# last\n\n[mcp_servers.new]\nF", false},
		"toml no line end": {tomlFile, "a = 1", "a = 1\n\n[mcp_servers.new]\nF", true},

		"toml in braces": {
			tomlFile,
			"a = '}' # }\nmcp_servers = { a = { command = \"}\" } } # }\nb = 1\n",
			"a = '}' # }\nmcp_servers = { a = { command = \"}\" }, new = I } # }\nb = 1\n",
			false,
		},
		"toml in empty braces": {tomlFile, "mcp_servers = {}\r\n[b]\r\n", "mcp_servers = { new = I }\r\n[b]\r\n", false},
		"yaml in braces": {
			yamlFile,
			"extensions: {a: {x: '}', y: [1, 2]}} # }\nb: {}\n",
			"extensions: {a: {x: '}', y: [1, 2]}, \"new\": J} # }\nb: {}\n",
			false,
		},
		"yaml in several lines": {
			yamlFile,
			"extensions: {\n  # c }\n  a: {x: 1}\n}\nb: 1\n",
			"extensions: {\n  # c }\n  a: {x: 1}, \"new\": J\n}\nb: 1\n",
			false,
		},

		"yaml nothing": {yamlFile, "", "extensions:\n  new:\n    Y", true},
		"yaml": {
			yamlFile,
			"# mine\nextensions:\n    a: # first\n        enabled: true\n        args:\n        - x\n    # behind\n\nlast: 1\n",
			"# mine\nextensions:\n    a: # first\n        enabled: true\n        args:\n        - x\n    new:\n      Y   " +
				" # behind\n\nlast: 1\n",
			false,
		},
		"yaml no holder": {yamlFile, "a: 1\n", "a: 1\nextensions:\n  new:\n    Y", true},
		"yaml empty":     {yamlFile, "extensions: {} # none\nb: 1\n", "extensions: # none\n  new:\n    Y\nb: 1\n", true},
		"yaml a block": {
			yamlFile,
			"extensions:\n  a:\n    text: |\n      one\n\n      two\n",
			"extensions:\n  a:\n    text: |\n      one\n\n      two\n  new:\n    Y",
			false,
		},
		"yaml list": {
			yamlList,
			"name: x\nmcpServers:\n  - name: a # first\n    command: b\nrules: []\n",
			"name: x\nmcpServers:\n  - name: a # first\n    command: b\n  - L\nrules: []\n",
			false,
		},
		"yaml flush list": {
			yamlList,
			"mcpServers:\n- name: a\nrules: []\n",
			"mcpServers:\n- name: a\n- M\nrules: []\n",
			false,
		},
	}
	const e4 = "{\n      \"name\": \"new\",\n      \"command\": \"x\",\n      \"args\": [\"-y\", \"a b\"],\n      " +
		"\"env\": {\n        \"A\": \"${A}\"\n      }\n    }"
	marks := strings.NewReplacer(
		"new = I", `new = { name = "new", command = "x", args = ["-y", "a b"], env = { A = "${A}" } }`,
		"\"new\": J", "\"new\": "+added,
		"E4", e4,
		"R4", strings.ReplaceAll(e4, "\n", "\r\n"),
		"T2", strings.NewReplacer("        ", "\t\t\t\t", "      ", "\t\t\t", "    }", "\t\t}").Replace(e4),
		"new\": C", "new\": "+added,
		"F", "name = \"new\"\ncommand = \"x\"\nargs = [\"-y\", \"a b\"]\nenv = { A = \"${A}\" }\n",
		"      Y", "      name: new\n      command: x\n      args:\n        - \"-y\"\n        - \"a b\"\n      env:\n "+
			"       A: \"${A}\"\n",
		"    Y\nb",
		"    name: new\n    command: x\n    args:\n      - \"-y\"\n      - \"a b\"\n    env:\n      A: \"${A}\"\nb",
		"    Y", "    name: new\n    command: x\n    args:\n      - \"-y\"\n      - \"a b\"\n    env:\n      A: \"${A}\"\n",
		"- L\n", "- name: new\n    command: x\n    args:\n      - \"-y\"\n      - \"a b\"\n    env:\n      A: \"${A}\"\n",
		"- M\n", "- name: new\n  command: x\n  args:\n    - \"-y\"\n    - \"a b\"\n  env:\n    A: \"${A}\"\n",
	)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := marks.Replace(test.want)
			got, err := edit.Set([]byte(test.old), test.target, "new", entry(added))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
			again, err := edit.Set(got, test.target, "new", entry(added))
			if err != nil || string(again) != string(got) {
				t.Errorf("the second time: %v\n%s", err, again)
			}
			other, err := edit.Set(got, test.target, "new", entry(`{"name":"new","command":"y"}`))
			if err != nil {
				t.Fatal(err)
			}
			back, err := edit.Set(other, test.target, "new", entry(added))
			if err != nil || string(back) != string(got) {
				t.Errorf("there and back: %v\n%s", err, cmp.Diff(string(got), string(back)))
			}
			removed, err := edit.Remove(got, test.target, "new")
			if err != nil {
				t.Fatal(err)
			}
			if !test.oneWay && string(removed) != test.old {
				t.Errorf("removed: %s", cmp.Diff(test.old, string(removed)))
			}
			if entries, err := edit.Get(removed, test.target); err != nil || len(entries) > 1 {
				t.Errorf("still there: %v, %v", entries, err)
			}
		})
	}
}

func TestChange(t *testing.T) {
	tests := map[string]struct {
		target    edit.Target
		old, want string
	}{
		"json in the middle": {
			jsoncFile,
			"{\"mcpServers\": {\n  \"a\": 1, // a\n  \"s\": {\"x\": [1, 2]}, // s\n  \"b\": 2\n}}",
			"{\"mcpServers\": {\n  \"a\": 1, // a\n  \"s\": {\n    \"command\": \"x\"\n  }, // s\n  \"b\": 2\n}}",
		},
		"toml tables": {
			tomlFile,
			"[mcp_servers.s]\ncommand = 'y'\n\n[mcp_servers.s.env]\nA = '1'\n\n# next\n[mcp_servers.t]\nx = " +
				"1\n[mcp_servers.s.more]\n",
			"[mcp_servers.s]\ncommand = \"x\"\n\n# next\n[mcp_servers.t]\nx = 1\n",
		},
		"toml inline": {
			tomlFile,
			"[mcp_servers]\na = {command = 'a'}\ns = {command = 'y'} # s\nb = {command = 'b'}\n",
			"[mcp_servers]\na = {command = 'a'}\ns = { command = \"x\" }\nb = {command = 'b'}\n",
		},
		"toml dotted": {
			tomlFile,
			"mcp_servers.s.command = 'y'\nmcp_servers.s.cwd = '/'\n",
			"mcp_servers.s = { command = \"x\" }\n",
		},
		"yaml": {
			yamlFile,
			"extensions:\n  a: {x: 1}\n  # of s\n  s:\n    y: 1\n    # in s\n    z: 2\n\n  b: {}\n",
			"extensions:\n  a: {x: 1}\n  # of s\n  s:\n    command: x\n\n  b: {}\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := edit.Set([]byte(test.old), test.target, "s", entry(`{"command": "x"}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Every text can be written in every format.
func TestOddCharacters(t *testing.T) {
	for _, text := range []string{
		"\x01\x1f\x7f", "\u0080\u0085\u009f", "\u2028\u2029", "a\ufeffb\ufffe\uffff",
		"\u00a0 \U0001f600", "- a", "a: b #c", "%a", "@b", "`", "null", "1e3", "0x1f", "=", "<<", "",
		" ",
	} {
		value, err := json.Marshal(map[string]any{
			"name":    "new",
			"command": text,
			"args":    []string{text},
			"env":     map[string]string{text: text},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []edit.Target{jsonFile, jsoncFile, tomlFile, yamlFile, yamlList} {
			if _, err := edit.Set(nil, target, "new", entry(string(value))); err != nil {
				t.Errorf("%v: %q: %v", target.Format, text, err)
			}
			if _, err := edit.Set(nil, target, text, entry(`{"name":`+string(mustJSON(text))+`}`)); err != nil {
				t.Errorf("%v: the name %q: %v", target.Format, text, err)
			}
		}
	}
}

func mustJSON(text string) []byte {
	out, _ := json.Marshal(text)
	return out
}

func TestRemove(t *testing.T) {
	tests := map[string]struct {
		target    edit.Target
		old, want string
	}{
		"json first": {
			jsoncFile,
			"{\"mcpServers\": {\n  \"s\": {}, // s\n  \"b\": 2 // b\n}}",
			"{\"mcpServers\": {\n  \"b\": 2 // b\n}}",
		},
		"json last": {
			jsoncFile,
			"{\"mcpServers\": {\n  \"b\": 2, // b\n  \"s\": {} // s\n}}",
			"{\"mcpServers\": {\n  \"b\": 2 // b // s\n}}",
		},
		"json on one line": {
			jsonFile,
			`{"mcpServers": {"a": 1, "s": {}, "b": 2}}`,
			`{"mcpServers": {"a": 1, "b": 2}}`,
		},
		"json first of line": {jsonFile, `{"mcpServers": {"s": {}, "b": 2}}`, `{"mcpServers": {"b": 2}}`},
		"toml":               {tomlFile, "a = 1\n\n[mcp_servers.s]\nx = 1\n\n[b]\n", "a = 1\n\n[b]\n"},
		"toml, before another table": {
			tomlFile,
			"c = 1\n\n[mcp_servers.s]\nx = 1\n\n[b]\ny = 1\n\n[mcp_servers.a]\nx = 1\n",
			"c = 1\n\n[b]\ny = 1\n\n[mcp_servers.a]\nx = 1\n",
		},
		"yaml": {yamlFile, "extensions:\n  s: {}\n  b: {}\n", "extensions:\n  b: {}\n"},
		"yaml, a deep comment": {
			yamlFile,
			"extensions:\n  s:\n    a: 1\n    # theirs\n\n      # this, too\nb: 1\n",
			"extensions: {}\n    # theirs\n\n      # this, too\nb: 1\n",
		},
		"yaml, no comment at all": {
			yamlFile,
			"extensions:\n  b: {}\n  s:\n    a: |\n      x\n      # part of it\n",
			"extensions:\n  b: {}\n",
		},
		"json, a comment behind": {
			jsoncFile,
			"{\"mcpServers\": {\"a\": [], \"s\": {}/* x */,\n}}",
			"{\"mcpServers\": {\"a\": []/* x */,\n}}",
		},
		"json, comments between": {
			jsoncFile,
			"{\"mcpServers\": {\"a\": 1, \"s\": {} /* s */, /* b */ \"b\": 2}}",
			"{\"mcpServers\": {\"a\": 1,  /* s *//* b */ \"b\": 2}}",
		},
		"json, before and behind": {
			jsoncFile,
			"{\"mcpServers\": {\"a\": 1 /* a */, /* s */ \"s\": {} /* t */, }}",
			"{\"mcpServers\": {\"a\": 1 /* a */ /* s */  /* t */, }}",
		},
		"json, after a comment": {
			jsoncFile,
			"{\"mcpServers\": { // theirs\n  \"s\": {}, \"b\": 2}}",
			"{\"mcpServers\": { // theirs\n  \"b\": 2}}",
		},
		"json, the only one after a comment": {
			jsoncFile,
			"{\"mcpServers\": { // theirs\n  \"s\": {}}}",
			"{\"mcpServers\": { // theirs\n  }}",
		},
		"json, leading commas, first": {
			jsonFile,
			"{\"mcpServers\": {\n    \"s\": {}\n  , \"b\": 2\n}}",
			"{\"mcpServers\": {\n    \"b\": 2\n}}",
		},
		"json, leading commas, middle": {
			jsonFile,
			"{\"mcpServers\": {\n    \"a\": 1\n  , \"s\": {}\n  , \"b\": 2\n}}",
			"{\"mcpServers\": {\n    \"a\": 1\n  , \"b\": 2\n}}",
		},
		"json, leading commas, last": {
			jsonFile,
			"{\"mcpServers\": {\r\n    \"a\": 1\r\n  , \"s\": {}\r\n}}",
			"{\"mcpServers\": {\r\n    \"a\": 1\r\n}}",
		},
		"json, a comma on its own line": {
			jsoncFile,
			"{\"mcpServers\": {\n  \"a\": 1 // a\n  // b\n  ,\n  \"s\": {}\n}}",
			"{\"mcpServers\": {\n  \"a\": 1 // a\n  // b\n  \n}}",
		},
		"json, comments before a later comma": {
			jsoncFile,
			"{\"mcpServers\": {\n  \"s\": {} // s\n  // b\n  , \"b\": 2\n}}",
			"{\"mcpServers\": {\n   // s\n  // b\n  \"b\": 2\n}}",
		},
		"json, alone": {jsoncFile, "{\"mcpServers\": {\"s\": {} /* t */, }}", "{\"mcpServers\": { /* t */}}"},
		"not there":   {jsonFile, `{"mcpServers": {"a": 1}}`, `{"mcpServers": {"a": 1}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := edit.Remove([]byte(test.old), test.target, "s")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	tests := map[string]struct {
		target edit.Target
		text   string
		shape  bool
	}{
		"malformed json":        {jsonFile, `{"mcpServers": {`, false},
		"a comment in json":     {jsonFile, "{} // x", false},
		"twice":                 {jsonFile, `{"mcpServers": {"a": 1, "a": 2}}`, false},
		"an open comment":       {jsoncFile, "// x\n/* y", false},
		"a list":                {jsonFile, `[]`, false},
		"holder is a string":    {jsonFile, `{"mcpServers": "x"}`, true},
		"malformed toml":        {tomlFile, `a = `, false},
		"malformed yaml":        {yamlFile, "a: [", false},
		"yaml list in brackets": {yamlList, "mcpServers: [{name: a}]", true},
		"yaml with anchor":      {yamlFile, "extensions: &x\n  a: {x: 1}\nb: *x\n", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := edit.Set([]byte(test.text), test.target, "s", entry(`{"command": "x"}`))
			if err == nil || errors.Is(err, edit.ErrShape) != test.shape {
				t.Errorf("got %q, %v; want a refusal, %v", got, err, test.shape)
			}
		})
	}
}

// FuzzSet verifies that every edit is either refused or changes no byte outside the
// entry, and that adding an entry only inserts.
func FuzzSet(f *testing.F) {
	for _, s := range []string{
		"{\n \"mcpServers\": {\n  \"a\": {}, // x\n },\n}",
		"{\"mcpServers\":{\"a\":1}}",
		"[mcp_servers.a]\nx=1\n# c\n",
		"extensions:\n  a:\n    - x\n # c\nb: 1\n",
		"mcpServers:\n- name: a\n  b: 1\n",
	} {
		for which := range uint8(5) {
			f.Add([]byte(s), which)
		}
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte, which uint8) {
		if len(text) > 2048 {
			return
		}
		target := []edit.Target{jsonFile, jsoncFile, tomlFile, yamlFile, yamlList}[which%5]
		before, err := edit.Get(text, target)
		if err != nil {
			return
		}
		there := false
		for _, e := range before {
			there = there || e.Name == "new"
		}
		out, err := edit.Set(text, target, "new", entry(added))
		if err != nil {
			return
		}
		if !there &&
			!inserted(text, out) &&
			!strings.Contains(string(text), "{}") &&
			!strings.Contains(string(text), "[]") &&
			which%5 > 2 == false {
			t.Fatalf("bytes are gone: %q became %q", text, out)
		}
		if _, err := edit.Get(out, target); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		removed, err := edit.Remove(out, target, "new")
		if err == nil {
			if after, err := edit.Get(removed, target); err != nil || !there && len(after) != len(before) {
				t.Fatalf("%q, %q: %v, %v", out, removed, after, err)
			}
		}
	})
}

// inserted reports whether b is a with text inserted in at most two places, ignoring
// white space inside an empty object.
func inserted(a, b []byte) bool {
	i := 0
	for _, c := range b {
		if i < len(a) && a[i] == c {
			i++
		}
	}
	return i == len(a) || strings.TrimSpace(string(a[i:])) == "" || strings.Trim(string(a[i:]), " \t\r\n}") == ""
}
