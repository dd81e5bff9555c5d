package mcpb_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

func TestDetect(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  mcpb.Draft
	}{
		"nothing": {nil, mcpb.Draft{Name: "folder-x"}},
		"npm": {map[string]string{"dist/index.js": "",
			"package.json": `{"name": "@me/files", "version": "1.2.3", "description": "d", "license": "MIT",
"main": "./lib/gone.js", "bin": {"files": "dist/index.js"},
			"author": "A B <a@example.com> (https://example.com)", "repository": {"type": "git",
"url": "git+https://example.com/r.git"}, "homepage": "no url", "keywords": ["k"], "engines": {"node": ">=18"}}`},
			mcpb.Draft{Type: "node", Name: "files", Version: "1.2.3", Description: "d",
				License: "MIT", EntryPoint: "dist/index.js", Keywords: []string{"k"}, Runtime: ">=18",
				Author:     mcpb.Author{Name: "A B", Email: "a@example.com", URL: "https://example.com"},
				Repository: "https://example.com/r.git", Found: []string{"package.json"}}},
		"npm, not built": {
			map[string]string{
				"package.json": `{"name": "n", "main": "dist/index.js", "author": {"name": "A", "email": "no"},
"repository": "github:a/b"}`,
			},
			mcpb.Draft{
				Type:       "node",
				Name:       "n",
				EntryPoint: "dist/index.js",
				Author:     mcpb.Author{Name: "A"},
				Repository: "https://github.com/a/b",
				Found:      []string{"package.json"},
			}},
		"a broken one, and the next": {map[string]string{
			"package.json": `{`,
			"go.mod":       "module github.com/a/b/cmd/tool/v2\n",
		},
			mcpb.Draft{
				Type:       "binary",
				Name:       "tool",
				EntryPoint: "server/tool",
				Repository: "https://github.com/a/b",
				Found:      []string{"go.mod"},
				Unreadable: []string{"package.json"},
			}},
		"Python": {map[string]string{
			"pyproject.toml": "[project]\nname = 'my-mcp'\nversion = '0.1.0'\nrequires-python = '>=3.10'\n" +
				"authors = [{name = 'A', email = 'a@example.com'}]\nlicense = {text = 'MIT'}\n" +
				"[project.urls]\nHomepage = 'https://example.com'\n",
			"src/my_mcp/server.py": "",
		},
			mcpb.Draft{
				Type:       "python",
				Name:       "my-mcp",
				Version:    "0.1.0",
				Runtime:    ">=3.10",
				EntryPoint: "src/my_mcp/server.py",
				Homepage:   "https://example.com",
				Author:     mcpb.Author{Name: "A", Email: "a@example.com"},
				Found:      []string{"pyproject.toml"},
			}},
		"uv": {
			map[string]string{"pyproject.toml": "[project]\nname = 'm'\n", "uv.lock": "", "main.py": ""},
			mcpb.Draft{Type: "uv", Name: "m", EntryPoint: "main.py", Found: []string{"pyproject.toml"}},
		},
		"Cargo": {
			map[string]string{
				"Cargo.toml": "[package]\nname = 'r'\nversion.workspace = true\nlicense = 'MIT'\nauthors = ['A <a@example.com>']\n",
			},
			mcpb.Draft{
				Type:       "binary",
				Name:       "r",
				License:    "MIT",
				EntryPoint: "server/r",
				Author:     mcpb.Author{Name: "A", Email: "a@example.com"},
				Found:      []string{"Cargo.toml"},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, content := range tt.files {
				fsys[name] = &fstest.MapFile{Data: []byte(content)}
			}
			d := mcpb.Detect(fsys, "folder x")
			if diff := cmp.Diff(*d, tt.want); diff != "" {
				t.Error(diff)
			}
			d.Fill()
			text, err := d.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			if _, r, err := mcpb.CheckManifest(text, nil, nil); err != nil || !r.OK(true) {
				t.Errorf("a new manifest is not in order: %v\n%s\n%v", err, text, ruletest.Findings(r))
			}
		})
	}
}

func TestDraftManifest(t *testing.T) {
	d := &mcpb.Draft{Name: "n", Type: "uv", Description: "a < b", Runtime: ">=3.10"}
	d.Fill()
	got, err := d.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "manifest_version": "0.4",
  "name": "n",
  "version": "1.0.0",
  "description": "a < b",
  "author": {
    "name": "Unknown author"
  },
  "server": {
    "type": "uv",
    "entry_point": "src/server.py",
    "mcp_config": {
      "command": "uv",
      "args": [
        "run",
        "--directory",
        "${__dirname}",
        "src/server.py"
      ]
    }
  },
  "compatibility": {
    "runtimes": {
      "python": ">=3.10"
    }
  }
}
`
	if diff := cmp.Diff(strings.TrimSpace(string(got)), strings.TrimSpace(want)); diff != "" {
		t.Error(diff)
	}
}
