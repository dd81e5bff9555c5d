package edge_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/edge"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Each host gets its files where it looks for them, and a second write changes nothing.
func TestWrite(t *testing.T) {
	for host, files := range map[string][]string{
		"cloudflare":       {"mcp.js", "wrangler.jsonc"},
		"cloudflare-pages": {"public/_worker.js", "public/_routes.json"},
		"netlify":          {"netlify/edge-functions/mcp.js"},
		"vercel":           {"api/mcp.mjs", "vercel.json"},
		"deno":             {"mcp.js"},
		"node":             {"mcp-server.mjs"},
		"lambda":           {"index.mjs"},
	} {
		t.Run(host, func(t *testing.T) {
			project := t.TempDir()
			o := &edge.Options{
				Host:      host,
				Published: filepath.Join(project, "public"),
				Site:      "mcp",
				Name:      "My Docs",
				Language:  "pt-BR",
			}
			r, err := edge.Write(o)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Files) != len(files) {
				t.Errorf("files = %v, want %v", r.Files, files)
			}
			for i, name := range files {
				want := filepath.Join(project, filepath.FromSlash(name))
				if r.Files[i].Path != want || r.Files[i].Action != edge.Created {
					t.Errorf("file %d = %v, want %s created", i, r.Files[i], want)
				}
			}
			text := read(t, r.Files[0].Path)
			for _, part := range []string{edge.Marker + "\n", `"/mcp/"`, `code: "pt"`, "createEndpoint(", "new Response("} {
				if !strings.Contains(text, part) {
					t.Errorf("the module lacks %q", part)
				}
			}
			if strings.Contains(text, "from './") || strings.Contains(text, "\nexport const VERSIONS") {
				t.Error("the module imports a part of itself, or exports one")
			}
			if again, err := edge.Write(o); err != nil || again.Stale() {
				t.Errorf("a second write: %v, %v", again, err)
			}
		})
	}
}

// Paths of all files are relative if that of the published folder is.
func TestRelativePaths(t *testing.T) {
	project := t.TempDir()
	t.Chdir(project)
	for published, want := range map[string]string{
		"public":                           "mcp-server.mjs",
		"web/public":                       filepath.FromSlash("web/mcp-server.mjs"),
		filepath.Join(project, "absolute"): filepath.Join(project, "mcp-server.mjs"),
		".":                                filepath.Join(filepath.Dir(project), "mcp-server.mjs"),
	} {
		r, err := edge.Write(&edge.Options{
			Host:      "node",
			Published: published,
			Site:      "mcp",
			DryRun:    true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Files[0].Path; got != want {
			t.Errorf("published %s: the module is %s, want %s", published, got, want)
		}
	}
}

// Files of others are never touched: the lines to add are in the result.
func TestForeignFiles(t *testing.T) {
	project := t.TempDir()
	o := &edge.Options{Host: "cloudflare", Published: filepath.Join(project, "public"), Site: "mcp"}
	config := filepath.Join(project, "wrangler.jsonc")
	write(t, config, "{\"name\": \"mine\"}\n")
	r, err := edge.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	foreign := r.Foreign()
	if len(foreign) != 1 || !strings.Contains(foreign[0].Lines, `"run_worker_first": ["/mcp"]`) {
		t.Errorf("foreign = %v, want the lines for %s", foreign, config)
	}
	if got := read(t, config); got != "{\"name\": \"mine\"}\n" {
		t.Errorf("%s was changed: %s", config, got)
	}
	write(t, config, `{"main": "mcp.js", "assets": {"run_worker_first": ["/mcp"]}}`)
	if r, err = edge.Write(o); err != nil || len(r.Foreign()) > 0 {
		t.Errorf("with the lines: %v, %v", r, err)
	}

	// Without its first line, the module belongs to its owner.
	module := filepath.Join(project, "mcp.js")
	write(t, module, strings.TrimPrefix(read(t, module), edge.Marker))
	if _, err := edge.Write(o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("edited module: error %v, want fs.ErrExist", err)
	}
}

// A project with functions gets one more, as _worker.js would switch the others off.
func TestPagesFunctions(t *testing.T) {
	project := t.TempDir()
	if err := os.Mkdir(filepath.Join(project, "functions"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := edge.Write(&edge.Options{Host: "cloudflare-pages", Published: filepath.Join(project, "public"), Site: "mcp"})
	if err != nil || len(r.Files) != 1 || r.Files[0].Path != filepath.Join(project, "functions", "mcp.js") {
		t.Errorf("files = %v, %v, want functions/mcp.js", r, err)
	}
}

func TestWriteRemote(t *testing.T) {
	for _, host := range edge.Hosts() {
		for _, address := range []string{
			"https://owner.github.io/p/mcp", "https://owner.github.io/p/mcp/", "https://owner.github.io/p/mcp/mcp.json",
			"https://owner.github.io/p/mcp/mcp.json/",
		} {
			r, err := edge.Write(&edge.Options{Host: host, URL: address, Project: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if text := read(t, r.Files[0].Path); !strings.Contains(text, `"site":"https://owner.github.io/p/mcp/"`) {
				t.Errorf("%s: the module for %s does not have the address of the folder", host, address)
			}
		}
	}
}

func TestWriteErrors(t *testing.T) {
	for name, o := range map[string]*edge.Options{
		`the host "s3" cannot run an endpoint`:       {Host: "s3", Published: "public"},
		`did you mean "netlify"?`:                    {Host: "netlfy", Published: "public"},
		"no published folder":                        {Host: "node"},
		`the path "mcp" of the endpoint`:             {Host: "node", Published: "p", Path: "mcp"},
		`the path "/a/../b" of the endpoint`:         {Host: "node", Published: "p", Path: "/a/../b"},
		`the address "file:///x" of the site`:        {Host: "node", URL: "file:///x"},
		`the address "https://u:p@x/" of the site`:   {Host: "node", URL: "https://u:p@x/"},
		`the site "../x" is not below the published`: {Host: "node", Published: "p", Site: "../x"},
	} {
		o.DryRun = true
		if _, err := edge.Write(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: error %v, want %q", *o, err, name)
		}
	}
}

// The table of hosts says which of them run code.
func TestHostsRunCode(t *testing.T) {
	for _, name := range staticmcp.HostNames() {
		host, err := staticmcp.HostNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := edge.Runs(name), host.Code != nil; got != want {
			t.Errorf("Runs(%q) = %t, want %t", name, got, want)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
