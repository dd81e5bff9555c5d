package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/project"
	internaltree "github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// tree writes the files of a repository, by path.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const sphinxConf = "project = 'Tide tables'\nextensions = ['sphinx.ext.autodoc']\n"

// projects are trees in the layouts that real repositories have.
var projects = []struct {
	name      string
	files     map[string]string
	kind, why string
	inputs    []project.Input
	published string
	generate  []string
}{
	{"MkDocs", map[string]string{"mkdocs.yml": "site_name: Tides\n", "docs/index.md": "# Tides\n", "README.md": ""},
		"mkdocs", "mkdocs.yml: site_name is Tides", []project.Input{{"docs", "."}}, "site",
		[]string{"pip install mkdocs", "mkdocs build"}},
	{"MkDocs with a theme, a folder and requirements",
		map[string]string{
			"mkdocs.yml": "site_name: Tides\nsite_dir: out/html\ntheme:\n  name: material\n" +
				"markdown_extensions:\n  - pymdownx.emoji:\n      emoji_index: !!python/name:material.extensions.emoji.twemoji\n",
			"docs/index.md": "# Tides\n", "docs/requirements.txt": "mkdocs-material==9.5\n", "requirements.txt": "requests\n"},
		"mkdocs", "mkdocs.yml: site_name is Tides", []project.Input{{"docs", "."}}, "out/html",
		[]string{"pip install -r docs/requirements.txt", "mkdocs build"}},
	{"MkDocs that publishes outside the repository", map[string]string{"mkdocs.yml": "site_dir: ../public\n"},
		"mkdocs", "mkdocs.yml", []project.Input{{"docs", "."}}, "site", []string{"pip install mkdocs", "mkdocs build"}},
	{"Docusaurus in a folder, of a project with a Go module",
		map[string]string{"website/docusaurus.config.ts": "export default {title: 'Tides'};\n", "website/yarn.lock": "",
			"website/package.json": `{"scripts": {"build": "docusaurus build"}}`, "go.mod": "module example.com/tides\n",
			"docs/a.md": "# A\n"},
		"docusaurus", "website/docusaurus.config.ts: title is Tides", []project.Input{{"docs", "website"}},
		"website/build",
		[]string{"npx --yes yarn install --frozen-lockfile", "npx --yes yarn run build"}},
	{"Docusaurus with documents next to it",
		map[string]string{
			"website/docusaurus.config.js": "export default {presets: [['classic', {docs: {path: '../docs'}}]]};\n",
			"website/README.md":            "# Website\n", "docs/a.md": "# A\n"},
		"docusaurus", "website/docusaurus.config.js", []project.Input{{"docs", "docs"}}, "website/build", nil},
	{"Docusaurus whose configuration is not found from its documents",
		map[string]string{
			"apps/website/docusaurus.config.js": "export default {presets: [['classic', {docs: {path: '../../docs'}}]]};\n",
			"docs/a.md":                         "# A\n"},
		"docusaurus", "apps/website/docusaurus.config.js", []project.Input{{"docs", "apps/website/build"}},
		"apps/website/build", nil},
	{"MkDocs with documents outside the repository", map[string]string{"docs/mkdocs.yml": "docs_dir: ../../x\n"},
		"mkdocs", "docs/mkdocs.yml", []project.Input{{"docs", "docs"}}, "docs/site", nil},
	{"VitePress next to the program", map[string]string{"docs/.vitepress/config.mts": "export default {title: 'Tides'}\n",
		"docs/index.md": "# Tides\n", "package.json": `{"scripts": {"docs:build": "vitepress build docs"}}`,
		"package-lock.json": "{}"},
		"vitepress", "docs/.vitepress/config.mts: title is Tides", []project.Input{{"docs", "docs"}},
		"docs/.vitepress/dist",
		[]string{"npm ci", "npm run docs:build"}},
	{"Sphinx", map[string]string{"docs/conf.py": sphinxConf, "docs/index.rst": "Tides\n=====\n", "setup.py": ""},
		"sphinx", "docs/conf.py: project is Tide tables", []project.Input{{"docs", "docs/_build/html"}},
		"docs/_build/html",
		[]string{"pip install sphinx", "sphinx-build -b html . _build/html"}},
	{"Sphinx with a name only",
		map[string]string{"docs/conf.py": "project = 'Tides'\n", "docs/index.rst": "Tides\n=====\n"},
		"sphinx", "docs/conf.py: project is Tides", []project.Input{{"docs", "docs/_build/html"}},
		"docs/_build/html", nil},
	{"Sphinx with separate folders",
		map[string]string{"docs/source/conf.py": sphinxConf, "docs/requirements.txt": "Sphinx>=8\n"},
		"sphinx", "docs/source/conf.py: project is Tide tables", []project.Input{{"docs", "docs/build/html"}},
		"docs/build/html",
		[]string{"pip install -r requirements.txt", "sphinx-build -b html source build/html"}},
	{"Sphinx with a group of packages",
		map[string]string{"docs/conf.py": sphinxConf, "pyproject.toml": "[dependency-groups]\ndocs = ['sphinx']\n"},
		"sphinx", "docs/conf.py: project is Tide tables", []project.Input{{"docs", "docs/_build/html"}},
		"docs/_build/html",
		[]string{"pip install .. --group ../pyproject.toml:docs", "sphinx-build -b html . _build/html"}},
	{"MkDocs with an extra of the package", map[string]string{"mkdocs.yml": "",
		"pyproject.toml": "[project.optional-dependencies]\ndocs = ['mkdocs']\n"},
		"mkdocs", "mkdocs.yml", []project.Input{{"docs", "."}}, "site",
		[]string{"pip install '.[docs]'", "mkdocs build"}},
	{"VitePress in a monorepo", map[string]string{"packages/docs/.vitepress/config.ts": "export default {}\n",
		"packages/docs/index.md": "# A\n", "pnpm-lock.yaml": "",
		"packages/docs/package.json": `{"scripts": {"build": "x"}}`},
		"vitepress", "packages/docs/.vitepress/config.ts", []project.Input{{"docs", "packages/docs"}},
		"packages/docs/.vitepress/dist", []string{"npx --yes pnpm install --frozen-lockfile", "npx --yes pnpm run build"}},
	{"Hugo", map[string]string{"hugo.toml": "title = 'Tides'\n", "content/_index.md": "# Tides\n"},
		"hugo", "hugo.toml: title is Tides", []project.Input{{"docs", "."}}, "public", nil},
	{"an older Hugo",
		map[string]string{"docs/config.yaml": "baseURL: https://example.com/\n", "docs/content/a.md": "# A\n"},
		"hugo", "docs/config.yaml", []project.Input{{"docs", "docs"}}, "docs/public", nil},
	{"Antora", map[string]string{"antora-playbook.yml": "site:\n  title: Tides\noutput:\n  dir: public\n"},
		"antora", "antora-playbook.yml: title is Tides", []project.Input{{"docs", "public"}}, "public", nil},
	{"mdBook", map[string]string{"guide/book.toml": "[book]\ntitle = 'Tides'\n", "guide/src/SUMMARY.md": "# Summary\n"},
		"mdbook", "guide/book.toml: title is Tides", []project.Input{{"docs", "guide"}}, "guide/book", nil},
	{"Jekyll", map[string]string{"docs/_config.yml": "title: Tides\n", "docs/index.md": "# {{ site.title }}\n"},
		"jekyll", "docs/_config.yml: title is Tides", []project.Input{{"docs", "docs/_site"}}, "docs/_site",
		[]string{"gem install jekyll github-pages", "jekyll build"}},
	{"Markdown", map[string]string{"docs/a.md": "# A\n", "docs/b.md": "# B\n", "README.md": "# Tides\n"},
		"markdown", "docs/a.md: one of 2 Markdown files in the folder", []project.Input{{"docs", "docs"}}, "public", nil},
	{"Markdown with an API", map[string]string{"docs/a.md": "# A\n", "api/openapi.yaml": "openapi: 3.1.0\n"},
		"markdown", "docs/a.md: the only Markdown file in the folder",
		[]project.Input{{"docs", "docs"}, {"openapi", "api/openapi.yaml"}}, "public", nil},
	{"an API", map[string]string{"openapi.json": `{"openapi": "3.0.3"}`, "README.md": "# Tides\n"},
		"openapi", "openapi.json: an OpenAPI 3 document", []project.Input{{"openapi", "openapi.json"}}, "public", nil},
	{"a Go module", map[string]string{"go.mod": "module example.com/tides\n\ngo 1.26\n", "tides.go": "package tides\n"},
		"go", "go.mod: module is example.com/tides", []project.Input{{"go", "."}}, "public", nil},
}

func TestInspect(t *testing.T) {
	for _, tt := range projects {
		t.Run(tt.name, func(t *testing.T) {
			p, err := project.Inspect(tree(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			if p.Kind != tt.kind || p.Why[0] != tt.why || !slices.Equal(p.Inputs, tt.inputs) || p.Published != tt.published {
				t.Errorf("Inspect = %s, %q, %v, published in %s; want %s, %q, %v, %s",
					p.Kind, p.Why[0], p.Inputs, p.Published, tt.kind, tt.why, tt.inputs, tt.published)
			}
			if tt.generate != nil && !slices.Equal(p.Generate, tt.generate) {
				t.Errorf("commands = %q, want %q", p.Generate, tt.generate)
			}
		})
	}
}

// What other programs configure in files of these names is no documentation.
func TestInspectOthers(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"an empty folder":            nil,
		"a README":                   {"README.md": "# Tides\n", "LICENSE.md": "", "main.py": ""},
		"conf.py of a program":       {"conf.py": "port = 80\n"},
		"config.toml of a program":   {"config.toml": "port = 80\n"},
		"Swagger 2":                  {"swagger.json": `{"swagger": "2.0"}`},
		"_config.yml of a program":   {"_config.yml": "port: 80\n"},
		"a folder called mkdocs.yml": {"mkdocs.yml/a.txt": ""},
	} {
		if p, err := project.Inspect(tree(t, files)); !errors.Is(err, project.ErrUnknown) {
			t.Errorf("%s: Inspect = %+v, %v, want ErrUnknown", name, p, err)
		}
	}
	if _, err := project.Inspect(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

// The files for every project and host are valid: the settings are those of a site, and the
// workflow is YAML that names the folders.
func TestWrite(t *testing.T) {
	for _, tt := range projects {
		t.Run(tt.name, func(t *testing.T) {
			for _, host := range staticmcp.HostNames() {
				dir := tree(t, tt.files)
				p, err := project.Inspect(dir)
				if err != nil {
					t.Fatal(err)
				}
				o := &project.Options{Host: host, BaseURL: "https://example.com/it's/"}
				planned, err := project.Write(dir, p, &project.Options{Host: host, DryRun: true})
				if err != nil || planned[0].Action != project.Create {
					t.Fatalf("a dry run: %v, %v", planned, err)
				}
				if _, err := os.Stat(filepath.Join(dir, "slipway.site.yaml")); err == nil {
					t.Fatal("a dry run writes")
				}
				files, err := project.Write(dir, p, o)
				if err != nil {
					t.Fatal(err)
				}
				settings := filepath.Join(dir, "slipway.site.yaml")
				for _, input := range tt.inputs { // the generator has not run
					_ = os.MkdirAll(filepath.Join(dir, filepath.FromSlash(input.Path)), 0o755)
				}
				if found, err := sitebuild.CheckMapping(settings); err != nil || len(found) > 0 {
					t.Errorf("%s: %v, %v in\n%s", host, found, err, files[0].Text)
				}
				if _, err := internaltree.ReadDocument("docs.yml", []byte(files[1].Text)); err != nil ||
					!strings.Contains(files[1].Text, p.Published) || strings.ContainsAny(files[1].Text, "<>") {
					t.Errorf("%s: %v in\n%s", host, err, files[1].Text)
				}
				if again, err := project.Write(dir, p, o); err != nil || again[0].Action != project.Unchanged {
					t.Errorf("%s: a second time: %v, %v", host, again, err)
				}
			}
		})
	}
}

// Secrets and variables of a workflow have the names of the environment variables that they are for.
func TestWriteEnvironment(t *testing.T) {
	reference := regexp.MustCompile(`^(\w+): \$\{\{ (?:secrets|vars)\.(\w+) \}\}$`)
	for host, want := range map[string]int{"cloudflare": 2, "cloudflare-pages": 2, "netlify": 2, "s3": 4} {
		dir := tree(t, map[string]string{"mkdocs.yml": "site_name: x\n"})
		p, err := project.Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		files, err := project.Write(dir, p, &project.Options{Host: host, DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(files[1].Text) {
			line = strings.TrimSpace(line)
			if !strings.Contains(line, "{{ secrets.") && !strings.Contains(line, "{{ vars.") {
				continue
			}
			if m := reference.FindStringSubmatch(line); m == nil || m[1] != m[2] {
				t.Errorf("%s: %s", host, line)
			}
			n++
		}
		if n != want {
			t.Errorf("%s: %d references, want %d in\n%s", host, n, want, files[1].Text)
		}
	}
}

// members returns the texts of all members with a name.
func members(n *internaltree.Node, name string) (all []string) {
	for _, m := range n.Fields() {
		if m.Key == name {
			all = append(all, strings.TrimSpace(m.Value.String()))
		}
		all = append(all, members(m.Value, name)...)
	}
	for _, item := range n.Elements() {
		all = append(all, members(item, name)...)
	}
	return all
}

// A published folder with characters that YAML and shells read otherwise is the same folder in
// every workflow.
func TestWriteQuotes(t *testing.T) {
	const folder = "my 'site': #1 [x]"
	word := `'my '\''site'\'': #1 [x]'`
	for host, want := range map[string]map[string]string{
		"github-pages":     {"path": folder},
		"cloudflare-pages": {"run": `npx --yes wrangler@4 pages deploy ` + word + ` --project-name "$PROJECT"`},
		"netlify":          {"run": "npx --yes netlify-cli deploy --prod --no-build --dir " + word},
		"s3":               {"run": "aws s3 sync " + word + ` "s3://$BUCKET" --delete`},
		"node":             {"path": folder + "\nmcp-server.mjs"},
		"gitlab-pages":     {"publish": folder},
	} {
		dir := tree(t, map[string]string{"mkdocs.yml": "site_dir: \"" + folder + "\"\n"})
		p, err := project.Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		files, err := project.Write(dir, p, &project.Options{Host: host, DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if _, err := internaltree.ReadDocument(f.Path, []byte(f.Text)); err != nil {
				t.Errorf("%s: %v in\n%s", host, err, f.Text)
			}
		}
		root, problems := internaltree.Parse([]byte(files[1].Text), internaltree.YAML)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for name, value := range want {
			if got := members(root, name); !slices.Contains(got, value) {
				t.Errorf("%s: %s is one of %q, want %q in\n%s", host, name, got, value, files[1].Text)
			}
		}
	}
}

// Existing files stay as they are.
func TestWriteKeeps(t *testing.T) {
	const mine = "name: mine\n"
	dir := tree(t, map[string]string{"mkdocs.yml": "", "slipway.site.yaml": mine, ".github/workflows/docs.yml": mine})
	p, err := project.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := project.Write(dir, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if f.Action != project.Kept || string(text) != mine || err != nil {
			t.Errorf("%s: %s, %q, %v", f.Path, f.Action, text, err)
		}
	}
	if _, err := project.Write(dir, p, &project.Options{Host: "geocities"}); err == nil {
		t.Error("an unknown host is accepted")
	}
}
