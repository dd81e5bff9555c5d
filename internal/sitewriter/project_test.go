package sitewriter_test

import (
	"bytes"
	"compress/zlib"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
)

func TestServerName(t *testing.T) {
	for title, want := range map[string]string{
		"Argo CD - Declarative GitOps CD for Kubernetes":     "argo-cd",
		"GitHub's official OpenAPI spec + Octokit extension": "github",
		"Kids’ and parents' guide":                           "kids-and-parents-guide",
		"OpenAPI":                                            "openapi",
		"a---b__c":                                           "a-b-c",
		"A very long title that has many more words than it needs": "a-very-long-title-that-has-many",
		strings.Repeat("x", 50): strings.Repeat("x", 32),
		"- + -":                 "",
	} {
		if got := sitewriter.ServerName(title, "-", "official", "openapi", "spec"); got != want {
			t.Errorf("ServerName(%q) = %q, want %q", title, got, want)
		}
	}
}

func TestProjectVersion(t *testing.T) {
	const commit, tag, other = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222",
		"3333333333333333333333333333333333333333"
	var annotated bytes.Buffer
	w := zlib.NewWriter(&annotated)
	_, _ = w.Write([]byte("tag 60\x00object " + commit + "\ntype commit\n"))
	_ = w.Close()
	branch := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": commit + "\n"}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no project":   {nil, ""},
		"package.json": {map[string]string{"package.json": `{"version": "4.5.6"}`}, "4.5.6"},
		"no release":   {map[string]string{"package.json": `{"version": "0.0.0"}`}, ""},
		"no version":   {map[string]string{"package.json": `{"version": "workspace:*"}`}, ""},
		"tag":          {map[string]string{".git/refs/tags/v1.2.3": commit}, "1.2.3"},
		"tag and package": {map[string]string{".git/refs/tags/v1.2.3": commit,
			"package.json": `{"version": "4.5.6"}`}, "1.2.3"},
		"several tags": {map[string]string{".git/refs/tags/v1.9.0": commit, ".git/refs/tags/v1.10.0": commit,
			".git/refs/tags/v1.10.0-rc.2": commit, ".git/refs/tags/v1.2.30": commit}, "1.10.0"},
		"another commit": {map[string]string{".git/refs/tags/v1.2.3": other,
			".git/refs/tags/v2.0.0-rc.1": other}, "1.2.3"},
		"only pre-releases elsewhere": {map[string]string{".git/refs/tags/v2.0.0-rc.1": other}, ""},
		"package, not the old tag": {map[string]string{".git/refs/tags/v1.2.3": other,
			"package.json": `{"version": "4.5.6"}`}, "4.5.6"},
		"of several packages": {map[string]string{".git/refs/tags/project@1.2.3": other,
			".git/refs/tags/v0.5.0": other, ".git/refs/tags/else@9.9.9": other}, "1.2.3"},
		"pyproject.toml": {map[string]string{"pyproject.toml": "[project]\nname = 'x'\nversion = '2.3.4'\n"}, "2.3.4"},
		"poetry":         {map[string]string{"pyproject.toml": "[tool.poetry]\nversion = '2.3.4'\n"}, "2.3.4"},
		"dynamic":        {map[string]string{"pyproject.toml": "[project]\ndynamic = ['version']\n"}, ""},
		"Cargo.toml":     {map[string]string{"Cargo.toml": "[package]\nversion = '0.4.1'\n"}, "0.4.1"},
		"workspace":      {map[string]string{"Cargo.toml": "[workspace.package]\nversion = '0.4.1'\n"}, "0.4.1"},
		"inherited":      {map[string]string{"Cargo.toml": "[package]\nversion.workspace = true\n"}, ""},
		"malformed":      {map[string]string{"Cargo.toml": "[package", "package.json": "{"}, ""},
		"no version tag": {map[string]string{".git/refs/tags/latest": commit}, ""},
		"annotated": {map[string]string{".git/refs/tags/v1.2.3": tag,
			".git/objects/22/" + tag[2:]: annotated.String()}, "1.2.3"},
		"packed": {map[string]string{".git/packed-refs": "# pack-refs with: peeled\n" + other + " refs/tags/v1.0.0\n" +
			tag + " refs/tags/v1.2.3\n^" + commit + "\n"}, "1.2.3"},
		"detached": {map[string]string{".git/HEAD": other, ".git/refs/tags/v2.0.0-rc.1": other}, "2.0.0-rc.1"},
		"outside": {map[string]string{".git/HEAD": "ref: refs/heads/../../../x", "x": commit,
			".git/refs/tags/v1.2.3": commit}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "project")
			for _, files := range []map[string]string{branch, test.files} {
				for file, text := range files {
					path := filepath.Join(root, filepath.FromSlash(file))
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, dir := range []string{root, filepath.Join(root, "website", "docs")} {
				if got := sitewriter.ProjectVersion(dir); got != test.want {
					t.Errorf("ProjectVersion(%q) = %q, want %q", dir, got, test.want)
				}
			}
		})
	}
}

// TestVersionOfRepository verifies that a folder in a repository has its own version, or that of the
// repository.
func TestVersionOfRepository(t *testing.T) {
	const commit = "1111111111111111111111111111111111111111"
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for file, text := range map[string]string{
		".git/HEAD":                       commit, // of the home folder
		".git/refs/tags/v9.9.9":           commit,
		"work/repo/.git/HEAD":             commit,
		"work/repo/.git/refs/tags/v2.3.4": commit,
		"work/repo/package.json":          `{"version": "8.8.8"}`,
		"work/repo/tool/package.json":     `{"version": "4.5.6"}`,
		"work/repo/handbook/index.md":     "# Home\n",
		"notes/index.md":                  "# Home\n",
	} {
		path := filepath.Join(home, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{
		"work/repo":          "2.3.4",
		"work/repo/handbook": "2.3.4",
		"work/repo/tool":     "4.5.6",
		"notes":              "",
	} {
		if got := sitewriter.ProjectVersion(filepath.Join(home, filepath.FromSlash(dir))); got != want {
			t.Errorf("ProjectVersion(%q) = %q, want %q", dir, got, want)
		}
	}
}
