package edge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/edge"
)

// writeWrangler writes the endpoint for Cloudflare into a project with files, and returns the project and
// the file of the result that is not the module.
func writeWrangler(t *testing.T, files map[string]string) (project string, config edge.File) {
	t.Helper()
	project = t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(project, name), text)
	}
	r, err := edge.Write(&edge.Options{Host: "cloudflare", Published: filepath.Join(project, "public"), Site: "mcp"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 2 {
		t.Fatalf("files = %v, want two", r.Files)
	}
	return project, r.Files[1]
}

// TestWranglerForeign guards a project that is deployed to Cloudflare already: wrangler reads the first of
// its three files, so a new one next to another would replace the Worker of the project, or be ignored.
func TestWranglerForeign(t *testing.T) {
	const ours = edge.Marker + "\n{}\n"
	const (
		addTable   = "[assets]\ndirectory = \"./public\"\nbinding = \"ASSETS\"\nrun_worker_first = [\"/mcp\"]"
		toml       = "main = './mcp.js'\n[assets]\ndirectory = 'public'\nrun_worker_first = ['/mcp']\n"
		withRoutes = `{"main": "mcp.js", "assets": {"run_worker_first": ["/api/*", "/m*"]}, /* all */}`
		otherPath  = `{"main": "mcp.js", "assets": {"run_worker_first": ["/mcp2"]}}`
		named      = "name = \"app\"\n"
	)
	type files = map[string]string
	for name, tt := range map[string]struct {
		files  files
		config string
		action edge.Action
		lines  []string
	}{
		"TOML": {
			files{"wrangler.toml": named}, "wrangler.toml", edge.Foreign, []string{"main = \"mcp.js\"\n", addTable},
		},
		"TOML with the lines": {files{"wrangler.toml": toml}, "wrangler.toml", edge.Unchanged, nil},
		"TOML of a Worker": {
			files{"wrangler.toml": "main = \"src/index.js\"\n"}, "wrangler.toml", edge.Foreign, []string{
				"# Keep main, and let src/index.js pass on", `import endpoint from "../mcp.js";`,
				`=== "/mcp") return endpoint.fetch(request, env);`, "\n[assets]\n",
			},
		},
		"JSON": {
			files{"wrangler.json": "{\"name\": \"app\"}\n"}, "wrangler.json", edge.Foreign,
			[]string{`"main": "mcp.js",`, `"run_worker_first": ["/mcp"]`},
		},
		"JSON with the lines":   {files{"wrangler.json": withRoutes}, "wrangler.json", edge.Unchanged, nil},
		"JSON for another path": {files{"wrangler.json": otherPath}, "wrangler.json", edge.Foreign, []string{`["/mcp"]`}},
		"invalid TOML":          {files{"wrangler.toml": "[[["}, "wrangler.toml", edge.Foreign, []string{"main"}},
		"JSON and TOML":         {files{"wrangler.json": "{}", "wrangler.toml": ""}, "wrangler.json", edge.Foreign, nil},
		"JSONC and TOML":        {files{"wrangler.jsonc": "{}", "wrangler.toml": ""}, "wrangler.jsonc", edge.Foreign, nil},
		"JSON and our file":     {files{"wrangler.json": "{}", "wrangler.jsonc": ours}, "wrangler.json", edge.Foreign, nil},
		"our file and TOML": {
			files{"wrangler.jsonc": ours, "wrangler.toml": named}, "wrangler.toml", edge.Foreign,
			[]string{"# Delete wrangler.jsonc: wrangler reads it instead of wrangler.toml.\nmain ="},
		},
		"our file": {files{"wrangler.jsonc": ours}, "wrangler.jsonc", edge.Updated, nil},
	} {
		t.Run(name, func(t *testing.T) {
			project, got := writeWrangler(t, tt.files)
			if want := filepath.Join(project, tt.config); got.Path != want || got.Action != tt.action {
				t.Errorf("%s %s, want %s %s", got.Action, got.Path, tt.action, want)
			}
			for _, part := range tt.lines {
				if !strings.Contains(got.Lines, part) {
					t.Errorf("the lines lack %q:\n%s", part, got.Lines)
				}
			}
			for _, name := range edge.WranglerNames() {
				text, had := tt.files[name]
				file := filepath.Join(project, name)
				if _, err := os.Stat(file); err != nil != !had {
					t.Errorf("%s: %v", name, err)
				} else if had && text != ours && read(t, file) != text {
					t.Errorf("%s was changed: %s", name, read(t, file))
				}
			}
		})
	}
}

// TestWranglerWorker guards the lines for a project with a Worker of its own: once it imports the module,
// nothing is left to add.
func TestWranglerWorker(t *testing.T) {
	_, got := writeWrangler(t, map[string]string{
		"wrangler.toml": "main = 'worker.js'\n[assets]\nrun_worker_first = true\n",
		"worker.js":     "import endpoint from './mcp.js';\n",
	})
	if got.Action != edge.Unchanged {
		t.Errorf("%s, want it unchanged; lines:\n%s", got.Action, got.Lines)
	}
}

// TestNewPath guards files that cannot have the marker, as JSON has no comments: those of an earlier path
// belong to Slipway, and edited ones do not.
func TestNewPath(t *testing.T) {
	for host, tt := range map[string]struct{ name, edited string }{
		"cloudflare-pages": {"public/_routes.json", `{"version": 1, "include": ["/mcp", "/api/*"], "exclude": []}`},
		"vercel":           {"vercel.json", `{"cleanUrls": true, "rewrites": []}`},
	} {
		t.Run(host, func(t *testing.T) {
			project := t.TempDir()
			o := &edge.Options{Host: host, Published: filepath.Join(project, "public"), Site: "mcp"}
			file := filepath.Join(project, filepath.FromSlash(tt.name))
			for _, path := range []string{"/mcp", "/api/docs", "/mcp2"} {
				o.Path = path
				r, err := edge.Write(o)
				if err != nil || len(r.Foreign()) > 0 || !strings.Contains(read(t, file), `"`+path+`"`) {
					t.Fatalf("path %s: %v, %v in %s", path, r, err, read(t, file))
				}
			}
			o.Site = "docs/mcp"
			if r, err := edge.Write(o); err != nil || len(r.Foreign()) > 0 {
				t.Errorf("another site: %v, %v", r, err)
			}
			write(t, file, tt.edited)
			if r, err := edge.Write(o); err != nil || len(r.Foreign()) != 1 || read(t, file) != tt.edited {
				t.Errorf("edited: %v, %v in %s", r, err, read(t, file))
			}
		})
	}
}
