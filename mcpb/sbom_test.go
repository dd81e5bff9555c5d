package mcpb_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcpb"
)

func TestSBOM(t *testing.T) {
	race.SkipLong(t)
	dir := server(t,
		"node_modules/a/package.json", `{"name": "a", "version": "1.0.0", "license": "MIT"}`,
		"node_modules/@s/b/package.json", `{"name": "@s/b", "version": "2.0.0+x"}`,
		"node_modules/@s/b/node_modules/a/package.json", `{"name": "a", "version": "1.0.0"}`,
		"node_modules/a/dist/package.json", `{"type": "module"}`,
		"server/lib/Foo_Bar-3.0.dist-info/METADATA",
		"Metadata-Version: 2.1\nName: Foo_Bar\nVersion: 3.0\nLicense: BSD\n\ntext",
	)
	// The test binary itself is a Go program.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server", "native"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "x.mcpb")
	if _, err := mcpb.Pack(t.Context(), dir, out, nil); err != nil {
		t.Fatal(err)
	}
	var texts [2][]byte
	for i := range texts {
		a, err := mcpb.OpenArchive(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if texts[i], err = mcpb.SBOM(a); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the same bundle makes two lists")
	}
	var got struct {
		Format     string `json:"bomFormat"`
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(texts[0], &got); err != nil {
		t.Fatal(err)
	}
	purls := map[string]bool{}
	for _, c := range got.Components {
		purls[c.PURL] = true
	}
	for _, want := range []string{
		"pkg:npm/a@1.0.0",
		"pkg:npm/%40s/b@2.0.0+x",
		"pkg:pypi/foo-bar@3.0",
		"pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"),
	} {
		if !purls[want] {
			t.Errorf("%s is not in %v", want, purls)
		}
	}
	names := []string{}
	for _, c := range got.Components[len(got.Components)-4:] {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff(names, []string{"@s/b", "a", "a", "Foo_Bar"}); diff != "" || got.Format != "CycloneDX" {
		t.Errorf("%s %s", got.Format, diff)
	}
}
