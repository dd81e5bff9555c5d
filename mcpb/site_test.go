package mcpb_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcpb"
)

// site writes a small StaticMCP site, one of whose tools has the name of what is
// never packed otherwise.
func site(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"mcp.json": `{"protocolVersion":"2025-06-18","serverInfo":{"name":"Small Site","version":"1.2.0"},"capabilities":{"resources":[],"tools":[
			{"name":"coverage","description":"Cover","inputSchema":{"type":"object","properties":{"of":{"type":"string"}},"required":["of"]}}]}}`,
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
	dir, program := site(t), filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !mcpb.IsSite(dir) || mcpb.IsSite(bundle(t, "")) {
		t.Error("a site and a bundle are not told apart")
	}
	out := t.TempDir()
	t.Chdir(out)
	programs := map[string]string{"linux": program, "win32": program}
	report, err := mcpb.PackSite(t.Context(), dir, "", programs, &mcpb.SiteOptions{Author: "Ann"}, nil)
	if err != nil {
		var invalid *mcpb.InvalidError
		if errors.As(err, &invalid) {
			t.Log(invalid.Report.Findings())
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
	for _, name := range []string{"server/slipway", "server/slipway.exe", "site/mcp.json", "site/tools/coverage/all.json"} {
		if _, err := fs.Stat(a.FS(), name); err != nil {
			t.Error(err)
		}
	}
	m, err := mcpb.ReadManifest(a.FS())
	if err != nil {
		t.Fatal(err)
	}
	launch, err := mcpb.Expand(m, &mcpb.ExpandOptions{Dir: `C:\b`, Platform: "win32", NoFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := json.Marshal(launch)
	if m.Name != "Small-Site" || m.Author.Name != "Ann" || len(m.Tools) != 1 || !strings.Contains(string(shown), `server\\slipway.exe`) {
		t.Errorf("manifest %+v starts %s", m, shown)
	}
	again, err := mcpb.PackSite(t.Context(), dir, filepath.Join(out, "again.mcpb"), programs, &mcpb.SiteOptions{Author: "Ann"}, nil)
	if err != nil || again.SHA256 != report.SHA256 {
		t.Errorf("a second time: %v, other bytes: %v", err, again.SHA256 != report.SHA256)
	}
}
