package project

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// below returns a relative path of the configuration in a folder, or the usual one if the
// configured one leads elsewhere, or cannot be a line of a file.
func below(folder, configured, usual string) string {
	name := path.Clean(cmp.Or(strings.TrimSpace(configured), usual))
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsFunc(name, unicode.IsControl) {
		name = usual
	}
	return in(folder, name)
}

// documents returns the folder that a site is built from: that of the configuration, or the configured
// folder of the documents if that is elsewhere in the repository. If a build would not find the
// configuration from there, which may exclude pages, it is the rendered one.
func (i *inspector) documents(folder, configured, rendered string) string {
	name := in(folder, filepath.ToSlash(strings.TrimSpace(configured)))
	within := folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
	if within || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsFunc(name, unicode.IsControl) ||
		!i.hasDir(name) {
		return folder
	}
	next, above := path.Base(folder), path.Dir(name)
	if above == folder || path.Dir(folder) == above && slices.Contains(sitewriter.GeneratorFolders(), next) {
		return name
	}
	return rendered
}

// document parses a YAML, TOML or JSON file. It returns nil if it cannot be read.
func (i *inspector) document(file string) *tree.Node {
	kind := tree.YAML
	switch path.Ext(file) {
	case ".toml":
		kind = tree.TOML
	case ".json":
		kind = tree.JSON
	}
	root, _ := tree.Parse([]byte(i.read(file)), kind)
	return root
}

// text returns a scalar of a document, or "".
func text(n *tree.Node) string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.String())
}

// named says what a project is called, if its configuration does.
func named(file, member, name string) string {
	if name == "" {
		return file
	}
	return says(file, "%s is %s", member, name)
}

func (i *inspector) mkdocs(folder string) *Project {
	file := i.has(folder, "mkdocs.yml", "mkdocs.yaml")
	if file == "" {
		return nil
	}
	root := i.document(file)
	packages := []string{"mkdocs"}
	if theme := text(root.Get("theme", "name")); theme == "material" || text(root.Get("theme")) == "material" {
		packages = []string{"mkdocs-material"}
	}
	published := below(folder, text(root.Get("site_dir")), "site")
	return &Project{
		Why:       []string{named(file, "site_name", text(root.Get("site_name")))},
		Inputs:    []Input{{"docs", i.documents(folder, text(root.Get("docs_dir")), published)}},
		Published: published,
		Language:  "python",
		Generate:  []string{i.requirements(folder, packages...), "mkdocs build"},
	}
}

func (i *inspector) docusaurus(folder string) *Project {
	file := i.has(folder, endings("docusaurus.config", ".js", ".ts", ".mjs", ".cjs", ".mts")...)
	if file == "" {
		return nil
	}
	root := js.Read([]byte(i.read(file)), &js.Options{Name: file, Lenient: true}).Root
	configured := ""
	for _, preset := range root.Get("presets").Elements() {
		if len(preset.Items) == 2 {
			configured = cmp.Or(configured, text(preset.Items[1].Get("docs", "path")))
		}
	}
	return &Project{
		Why:       []string{named(file, "title", text(root.Get("title")))},
		Inputs:    []Input{{"docs", i.documents(folder, configured, in(folder, "build"))}},
		Published: in(folder, "build"),
		Language:  "node",
		Generate:  i.packages(folder, "npx docusaurus build", "build"),
	}
}

func (i *inspector) vitepress(folder string) *Project {
	file := i.has(folder, endings(".vitepress/config", ".js", ".ts", ".mjs", ".mts", "/index.js", "/index.ts",
		"/index.mts")...)
	if file == "" {
		return nil
	}
	root := js.Read([]byte(i.read(file)), &js.Options{Name: file, Lenient: true}).Root
	commands := i.packages(folder, "npx vitepress build", "docs:build", "build")
	if i.has(folder, "package.json") == "" && i.has(".", "package.json") != "" {
		commands = i.packages(".", "npx vitepress build "+folder, "docs:build", "build")
	}
	return &Project{
		Why:       []string{named(file, "title", text(root.Get("title")))},
		Inputs:    []Input{{"docs", folder}},
		Published: below(folder, text(root.Get("outDir")), ".vitepress/dist"),
		Language:  "node",
		Generate:  commands,
	}
}

func (i *inspector) antora(folder string) *Project {
	file := i.has(folder, "antora-playbook.yml", "antora-playbook.yaml")
	if file == "" {
		return nil
	}
	root := i.document(file)
	published := below(folder, text(root.Get("output", "dir")), "build/site")
	return &Project{
		Why:       []string{named(file, "title", text(root.Get("site", "title")))},
		Inputs:    []Input{{"docs", published}},
		Published: published,
		Rendered:  true,
		Language:  "node",
		Generate:  []string{"npm install --no-save antora", "npx antora " + pathWord(path.Base(file))},
	}
}

func (i *inspector) mdbook(folder string) *Project {
	file := i.has(folder, "book.toml")
	if file == "" {
		return nil
	}
	root := i.document(file)
	return &Project{
		Why:       []string{named(file, "title", text(root.Get("book", "title")))},
		Inputs:    []Input{{"docs", folder}},
		Published: below(folder, text(root.Get("build", "build-dir")), "book"),
		Language:  "rust",
		Generate:  []string{"cargo install --locked mdbook", "mdbook build"},
	}
}

var (
	sphinxLine = lazyregexp.New(`(?m)^\s*(extensions|html_theme|master_doc|root_doc|source_suffix)\s*(?::[^=\n]*)?=`)
	sphinxName = lazyregexp.New(`(?m)^project\s*=\s*["']([^"'\n]{1,100})["']`)
)

// sphinx finds a conf.py in a folder or in its folder source.
func (i *inspector) sphinx(folder string) *Project {
	for _, source := range []string{folder, in(folder, "source"), in(folder, "src")} {
		file := i.has(source, "conf.py")
		if file == "" {
			continue
		}
		conf := i.read(file)
		if !sphinxLine().MatchString(conf) &&
			(!sphinxName().MatchString(conf) || i.has(source, "index.rst", "index.md") == "") {
			continue // of another program
		}
		published := "_build/html"
		if source != folder {
			published = "build/html"
		}
		name := ""
		if m := sphinxName().FindStringSubmatch(conf); m != nil {
			name = m[1]
		}
		from, err := filepath.Rel(filepath.FromSlash(folder), filepath.FromSlash(source))
		if err != nil {
			continue
		}
		return &Project{
			Why:       []string{named(file, "project", name)},
			Inputs:    []Input{{"docs", in(folder, published)}},
			Published: in(folder, published),
			Rendered:  true,
			Language:  "python",
			Generate: []string{i.requirements(folder, "sphinx"),
				"sphinx-build -b html " + filepath.ToSlash(from) + " " + published},
		}
	}
	return nil
}

func (i *inspector) hugo(folder string) *Project {
	file := i.has(folder, endings("hugo", ".toml", ".yaml", ".yml", ".json")...)
	if file == "" {
		file = i.has(folder, endings("config/_default/hugo", ".toml", ".yaml", ".yml")...)
	}
	if file == "" {
		old := i.has(folder, endings("config", ".toml", ".yaml", ".yml", ".json")...)
		if old == "" || !strings.Contains(strings.ToLower(i.read(old)), "baseurl") {
			return nil
		}
		file = old
	}
	if !i.hasDir(in(folder, "content")) {
		return nil
	}
	root := i.document(file)
	return &Project{
		Why:       []string{named(file, "title", text(root.Get("title")))},
		Inputs:    []Input{{"docs", folder}},
		Published: below(folder, text(root.Get("publishDir")), "public"),
		Language:  "go",
		Generate: []string{"CGO_ENABLED=1 go install -tags extended github.com/gohugoio/hugo@latest",
			"hugo --minify --cleanDestinationDir"},
	}
}

// jekyll finds a _config.yml next to a Gemfile or pages. Its pages contain Liquid, so the
// site is built from what Jekyll makes of them.
func (i *inspector) jekyll(folder string) *Project {
	file := i.has(folder, "_config.yml", "_config.yaml")
	if file == "" {
		return nil
	}
	root := i.document(file)
	gems := i.has(folder, "Gemfile")
	if gems == "" && i.has(folder, "index.md", "index.html", "README.md") == "" ||
		i.has(folder, "_toc.yml") != "" { // of Jupyter Book
		return nil
	}
	published := below(folder, text(root.Get("destination")), "_site")
	commands := []string{"bundle install", "bundle exec jekyll build"}
	if gems == "" {
		commands = []string{"gem install jekyll github-pages", "jekyll build"}
	}
	return &Project{
		Why:       []string{named(file, "title", text(root.Get("title")))},
		Inputs:    []Input{{"docs", published}},
		Published: published,
		Rendered:  true,
		Language:  "ruby",
		Generate:  commands,
	}
}

// markdown finds a folder of Markdown without a generator.
func (i *inspector) markdown() *Project {
	for _, folder := range []string{"docs", "doc", "documentation", "guide", "."} {
		count := 0
		first := ""
		for _, name := range i.names(folder) {
			if ext := strings.ToLower(path.Ext(name)); ext == ".md" || ext == ".mdx" || ext == ".markdown" {
				first = cmp.Or(first, name)
				count++
			}
		}
		if count == 0 || folder == "." && count < 3 { // most repositories have a README and a licence
			continue
		}
		return &Project{
			Kind:      "markdown",
			Name:      "Markdown without a generator",
			Why:       []string{says(in(folder, first), "%s", amongMarkdown(count))},
			Folder:    ".",
			Inputs:    []Input{{"docs", folder}},
			Published: "public",
		}
	}
	return nil
}

// amongMarkdown describes one of the Markdown files of a folder.
func amongMarkdown(count int) string {
	if count == 1 {
		return "the only Markdown file in the folder"
	}
	return fmt.Sprintf("one of %d Markdown files in the folder", count)
}

var openAPI3 = lazyregexp.New(`(?m)^\s*\{?\s*["']?openapi["']?\s*:\s*["']?3\.`)

func (i *inspector) openapi() *Project {
	for _, folder := range []string{".", "api", "openapi", "spec", "docs"} {
		for _, base := range []string{"openapi", "swagger", "api"} {
			file := i.has(folder, endings(base, ".yaml", ".yml", ".json")...)
			if file == "" || !openAPI3().MatchString(i.read(file)) {
				continue
			}
			return &Project{
				Kind:      "openapi",
				Name:      "OpenAPI",
				Why:       []string{says(file, "an OpenAPI 3 document")},
				Folder:    ".",
				Inputs:    []Input{{"openapi", file}},
				Published: "public",
			}
		}
	}
	return nil
}

var moduleLine = lazyregexp.New(`(?m)^module\s+(\S+)`)

func (i *inspector) goModule() *Project {
	file := i.has(".", "go.mod")
	if file == "" {
		return nil
	}
	name := ""
	if m := moduleLine().FindStringSubmatch(i.read(file)); m != nil {
		name = m[1]
	}
	return &Project{
		Kind:      "go",
		Name:      "Go packages",
		Why:       []string{named(file, "module", name)},
		Folder:    ".",
		Inputs:    []Input{{"go", "."}},
		Published: "public",
	}
}
