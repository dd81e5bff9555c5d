package mcpb_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// TestRules changes a valid bundle to violate one rule each.
func TestRules(t *testing.T) {
	field := func(text string) []string { return []string{`"author":`, text + `, "author":`} }
	node := func(list string) []string { return []string{`["${__dirname}/index.js"]`, list} }
	python := []string{nodeServer, `"type": "python", "entry_point": "main.py", "mcp_config": {"command": "python",
"args": ["${__dirname}/main.py"]}`}
	tests := map[string]struct {
		files   map[string]string
		replace []string
		want    string // severity, rule, and pointer or file
	}{
		"UTF-8":          {nil, []string{`"d"`, "\"\xff\""}, "warning utf-8 manifest.json"},
		"version":        {nil, []string{"0.3", "9"}, "error manifest-version /manifest_version"},
		"URL":            {nil, field(`"homepage": "x"`), "error url /homepage"},
		"e-mail address": {nil, []string{`"name": "a"`, `"name": "a", "email": "x"`}, "error email /author/email"},
		"size of an icon": {
			map[string]string{"i.png": pngOf(64, 64)},
			append(field(`"icons": [{"src": "i.png", "size": "large"}]`), "0.3", "0.4"),
			"error format /icons/0/size",
		},
		"invisible character": {nil, []string{`"d"`, "\"d\u200b\""}, "warning invisible /description"},
		"home folder": {
			nil,
			node(`["${__dirname}/index.js", "--root=/home/ada/notes"]`),
			"warning developer-path /server/mcp_config/args/1",
		},
		"download": {
			nil,
			append(node(`["-y", "@example/server"]`), `"command": "node"`, `"command": "npx"`),
			"warning fetches /server/mcp_config/command",
		},
		"download by uv": {
			nil,
			append(node(`["tool", "run", "example-server"]`), `"command": "node"`, `"command": "uv"`),
			"warning fetches /server/mcp_config/command",
		},
		"relative path": {nil, node(`["./index.js"]`), "warning relative-path /server/mcp_config/args/0"},
		"machine code for one Python": {
			map[string]string{
				"main.py": "import a._x\n",
				"server/lib/a/_x.cpython-311-x86_64-linux-gnu.so": elf(62),
			},
			append(python, field(`"compatibility": {"platforms": ["linux"], "runtimes": {"python": ">=3.10"}}`)...),
			"warning binary-python /compatibility/runtimes/python",
		},
		"missing package": {
			map[string]string{"package.json": `{"name": "n", "dependencies": {"a": "1"}}`},
			nil,
			"note dependency package.json",
		},
		"name on Windows": {map[string]string{"aux.js": ""}, nil, "error windows-name aux.js"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, report, err := mcpb.Check(bundleOf(test.files, test.replace...), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(report); !slices.Contains(got, test.want) {
				t.Errorf("findings %q, want %q", got, test.want)
			}
		})
	}
}

// TestRuleExecutable checks a program with and without the execute bit.
func TestRuleExecutable(t *testing.T) {
	for mode, want := range map[fs.FileMode]bool{0o755: false, 0o644: true} {
		files := bundleOf(map[string]string{"bin/x": elf(62)}, nodeServer, binaryServer)
		files["bin/x"].Mode = mode
		_, report, err := mcpb.Check(files, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := brief(report)
		if slices.Contains(got, "warning executable /server/entry_point") != want {
			t.Errorf("with mode %o, findings %q", mode, got)
		}
	}
}

// TestRuleNoManifest checks an archive without a manifest.
func TestRuleNoManifest(t *testing.T) {
	name := filepath.Join(folder(t, "b.mcpb", string((&rawArchive{entries: files("a", "x")}).bytes())), "b.mcpb")
	_, report, err := mcpb.CheckPath(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := brief(report), []string{"error no-manifest " + name}; !slices.Equal(got, want) {
		t.Errorf("findings %q, want %q", got, want)
	}
}

// TestRulesOfPackages checks a folder whose node_modules has a package for development,
// and a line of .mcpbignore that excludes files of installed packages.
func TestRulesOfPackages(t *testing.T) {
	dir := server(t,
		"package.json", `{"dependencies": {"a": "1"}, "devDependencies": {"dev": "1"}}`,
		"node_modules/a/package.json", `{"name": "a"}`,
		"node_modules/a/build/index.js", "",
		"node_modules/dev/package.json", `{"name": "dev"}`,
		".mcpbignore", "build\n",
	)
	_, report, err := mcpb.CheckPath(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := brief(report)
	for _, want := range []string{
		"note dev-dependency " + filepath.Join(dir, "package.json"),
		"warning pack-ignored " + filepath.Join(dir, ".mcpbignore"),
	} {
		if !slices.Contains(got, want) {
			t.Errorf("findings %q, want %q", got, want)
		}
	}
}

// TestRuleStdout verifies the finding for a line that is not a message.
func TestRuleStdout(t *testing.T) {
	f := ruletest.Record(mcpb.DriftStdout([]byte("listening on 8080"), "manifest.json"))[0]
	if f.Rule.ID != "mcpb/stdout" || !strings.Contains(f.Message, "listening on 8080") {
		t.Errorf("got %v", f)
	}
}
