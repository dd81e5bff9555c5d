package mcpb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// site writes a small StaticMCP site in which a tool has the name of a file that is
// normally never packed.
func site(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"mcp.json": `{"protocolVersion":"2025-06-18","serverInfo":{"name":"Small Site","version":"1.2.0"},
"capabilities":{"resources":[],"tools":[
			{"name":"coverage","description":"Cover","inputSchema":{"type":"object","properties":{"of":{"type":"string"}},
"required":["of"]}}]}}`,
		"tools/coverage/all.json": `{"content":[{"type":"text","text":"100 %"}]}`,
		".nojekyll":               "",
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPackSite(t *testing.T) {
	dir, programs := site(t), map[string]string{}
	for _, platform := range []string{"darwin", "linux", "win32"} {
		programs[platform] = filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(programs[platform], []byte("#!/bin/sh\n# "+platform+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if !mcpb.IsSite(dir) || mcpb.IsSite(bundle(t, "")) {
		t.Error("a site and a bundle are not reported apart")
	}
	out := t.TempDir()
	t.Chdir(out)
	report, err := mcpb.PackSite(t.Context(), dir, "", programs, &mcpb.SiteOptions{Author: "Ann"}, nil)
	if err != nil {
		var invalid *mcpb.InvalidError
		if errors.As(err, &invalid) {
			t.Log(ruletest.Findings(invalid.Report))
		}
		t.Fatal(err)
	}
	if report.Archive != "Small-Site-1.2.0.mcpb" {
		t.Errorf("packed as %s", report.Archive)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	a, err := mcpb.OpenArchive(report.Archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, name := range []string{"site/mcp.json", "site/tools/coverage/all.json"} {
		if _, err := fs.Stat(a.FS(), name); err != nil {
			t.Error(err)
		}
	}
	m, err := mcpb.ReadManifest(a.FS())
	if err != nil {
		t.Fatal(err)
	}
	for platform := range programs {
		launch, err := mcpb.Expand(m, &mcpb.ExpandOptions{Dir: "/b", Platform: platform, NoFiles: true})
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.ReplaceAll(launch.Command, `\`, "/"), "/b/")
		if text, err := fs.ReadFile(a.FS(), name); err != nil || !strings.Contains(string(text), "# "+platform+"\n") {
			t.Errorf("%s starts %s, which holds %q: %v", platform, launch.Command, text, err)
		}
		if want := []string{"serve", "--stdio"}; !slices.Equal(launch.Args[:2], want) {
			t.Errorf("%s starts it with %q, want %q first", platform, launch.Args, want)
		}
		if m.Server.Config.Overrides[platform].Command == "" {
			t.Errorf("no override for %s", platform)
		}
	}
	if m.Name != "Small-Site" || m.Author.Name != "Ann" || len(m.Tools) != 1 || len(m.Compatibility.Platforms) != 3 {
		t.Errorf("manifest %+v", m)
	}
	again, err := mcpb.PackSite(t.Context(), dir, filepath.Join(out, "again.mcpb"),
		programs, &mcpb.SiteOptions{Author: "Ann"}, nil)
	if err != nil || again.SHA256 != report.SHA256 {
		t.Errorf("a second time: %v, other bytes: %v", err, again.SHA256 != report.SHA256)
	}
}

// TestPackSiteOnEach packs a site for every set of systems: each must start its own
// program, and the entry point must exist.
func TestPackSiteOnEach(t *testing.T) {
	dir := site(t)
	for _, platforms := range [][]string{
		{"linux"},
		{"darwin"},
		{"win32"},
		{"darwin", "linux"},
		{"darwin", "win32"},
		{"linux", "win32"},
	} {
		t.Run(strings.Join(platforms, "+"), func(t *testing.T) {
			programs := map[string]string{}
			for _, platform := range platforms {
				programs[platform] = filepath.Join(t.TempDir(), "p")
				if err := os.WriteFile(programs[platform], []byte("#!"+platform), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(t.TempDir(), "x.mcpb")
			if _, err := mcpb.PackSite(t.Context(), dir, out, programs, nil, nil); err != nil {
				t.Fatal(err)
			}
			a, err := mcpb.OpenArchive(out, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			m, err := mcpb.ReadManifest(a.FS())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fs.Stat(a.FS(), m.Server.EntryPoint); err != nil {
				t.Error(err)
			}
			for _, platform := range platforms {
				launch, err := mcpb.Expand(m, &mcpb.ExpandOptions{Dir: "/b", Platform: platform, NoFiles: true})
				if err != nil {
					t.Fatal(err)
				}
				name := strings.TrimPrefix(strings.ReplaceAll(launch.Command, `\`, "/"), "/b/")
				if text, _ := fs.ReadFile(a.FS(), name); string(text) != "#!"+platform {
					t.Errorf("%s starts %s, which holds %q", platform, launch.Command, text)
				}
			}
		})
	}
	if _, err := mcpb.PackSite(t.Context(), dir, "x.mcpb", map[string]string{"plan9": "p"}, nil, nil); err == nil {
		t.Error("packed for a system that no bundle can be for")
	}
}

// TestPackSiteInItself packs the current folder, which is the default of the command, twice: what packing
// writes there is not part of the site.
func TestPackSiteInItself(t *testing.T) {
	dir := site(t)
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var sums []string
	for range 2 {
		report, err := mcpb.PackSite(t.Context(), ".", "", map[string]string{"linux": program}, nil, &mcpb.PackOptions{
			Force:    true,
			Checksum: true,
			SBOM:     "small.cdx.json",
		})
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, report.SHA256)
	}
	if sums[0] != sums[1] {
		t.Errorf("packed again: SHA-256 %s, want %s", sums[1], sums[0])
	}
	a, err := mcpb.OpenArchive("Small-Site-1.2.0.mcpb", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for e := range a.Entries() {
		if strings.Contains(e.Name, "mcpb") || strings.Contains(e.Name, ".cdx") || strings.Contains(e.Name, "slipway-site") {
			t.Errorf("%s is packed", e.Name)
		}
	}
}
