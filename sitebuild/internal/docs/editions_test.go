package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// versioned is a documentation with two versions, of which one has a translation.
var versioned = map[string]string{
	"v2/en/index.md": "# Larder\n\nLarder is a cache for the packages of a team. " +
		"Start with [the installation](install.md#on-linux).\n",
	"v2/en/install.md": "# Install\n\nLarder is one program without dependencies.\n\n## On Linux\n\n" +
		"Unpack the archive, and start it on port 8400.\n",
	"v2/en/guide/limits.md": "# Limit its size\n\nOld files are deleted. See [the installation](../install.md).\n",
	"v2/de/index.md": "# Larder\n\nLarder ist ein Zwischenspeicher für die Pakete einer Gruppe. " +
		"Am Anfang steht [die Installation](install.md#unter-linux).\n",
	"v2/de/install.md": "# Installieren\n\nLarder ist ein Programm ohne Abhängigkeiten.\n\n## Unter Linux\n\n" +
		"In großen Häusern läuft der Speicher auf einem eigenen Rechner.\n",
	"v1/en/index.md":   "# Larder\n\nLarder is a cache for packages. See [the installation](install.md).\n",
	"v1/en/install.md": "# Install\n\nCompile the first version with make.\n" + strings.Repeat("\nOne more step.\n", 200),
}

// openFolder builds the site of a folder of documents.
func openFolder(t *testing.T, files map[string]string, opts *docs.Options, write *sitewriter.Options) *sitetest.Built {
	t.Helper()
	in, err := docs.Dir(sitetest.Folder(t, files), opts)
	if err != nil {
		t.Fatal(err)
	}
	b, err := sitetest.Open(t, in, write)
	if err != nil {
		t.Fatal(err)
	}
	// Only a reader that is not strict knows that an argument can be left out or have its default.
	if b.Site, err = staticmcp.Open(t.Context(), b.Files, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Site.Close() })
	return b
}

// Versions and languages are arguments with a default, and no answer of one is given for another.
func TestEditions(t *testing.T) {
	for _, layout := range []sitewriter.Layout{sitewriter.Packed, sitewriter.OneFile} {
		b := openFolder(t, versioned, &docs.Options{BaseURL: "https://larder.example.com/", PartBytes: 1000},
			&sitewriter.Options{Layout: layout})
		for _, test := range []struct{ tool, arguments, want string }{
			{"get_page", `{"path":"install"}`, "# Install\n\nLarder is one program"},
			{"get_page", `{"path":"install","version":"v2","language":"en"}`, "# Install\n\nLarder is one program"},
			{"get_page", `{"path":"install","language":"de"}`, "# Installieren"},
			{"get_page", `{"path":"install","language":"de","version":"v2"}`, "# Installieren"},
			{"get_page", `{"path":"install","version":"v1"}`, "get_page with part=2 and version=v1."},
			{"get_page", `{"path":"install","version":"v1","part":2}`, "This is part 2 of"},
			{"get_page", `{"path":"install","version":"v1"}`, "Published at https://larder.example.com/v1/en/install"},
			{"get_page", `{"path":"install","language":"de"}`, "Published at https://larder.example.com/v2/de/install"},
			{"get_page", `{"path":"home","language":"de"}`, "[die Installation](docs://@de/install#unter-linux)"},
			{"get_page", `{"path":"home","version":"v1"}`, "[the installation](docs://@v1/install)"},
			{"get_page", `{"path":"home"}`, "[the installation](docs://install#on-linux)"},
			{"get_section", `{"path":"install","heading":"unter-linux","language":"de"}`, "## Unter Linux"},
			{"list_pages", `{}`, "- guide/limits: Limit its size"},
			{"list_pages", `{"language":"de"}`, "2 pages:"},
			{"get_nav", `{"version":"v1"}`, "Install — install"},
			{"search", `{"query":"haus","language":"de"}`, "1 page matches"}, // a stem of German
			{"search", `{"query":"haus","language":"de"}`, "get_page (path), language=de."},
			{"search", `{"query":"haus","language":"de"}`, "url: https://larder.example.com/v2/de/install"},
			{"search", `{"query":"haus"}`, "No page matches"},
			{"search", `{"query":"make","version":"v1"}`, "path: install"},
			{"search", `{"query":"make"}`, "No page matches"},
			{"search", `{"query":"cache","version":"v2"}`, "packages of a team"},
			{"search", `{"query":"make","version":"v1","language":"de"}`, "search has no stored answer"},
			{"get_page", `{"path":"guide/limits","version":"v1"}`, "no stored answer"},
			{"get_page", `{"path":"home","version":"v3"}`, `must be one of "v2", "v1"`},
		} {
			if got := b.Call(test.tool, test.arguments).Text; !strings.Contains(got, test.want) {
				t.Errorf("layout %v: %s %s: %s\nwithout %s", layout, test.tool, test.arguments, got, test.want)
			}
		}
		for uri, want := range map[string]string{
			"docs://home": "packages of a team", "docs://@v1/home": "cache for packages",
			"docs://@de/home": "Zwischenspeicher",
		} {
			r, err := b.Site.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil || !strings.Contains(string(mustJSON(t, r)), want) {
				t.Errorf("%s: %v, %v, want %s", uri, r, err, want)
			}
		}
		for name, want := range map[string]string{
			"llms.txt":    "(https://larder.example.com/v2/en/guide/limits)",
			"llms-de.txt": "[Installieren](https://larder.example.com/v2/de/install)",
			"llms-v1.txt": "(https://larder.example.com/v1/en/install)",
		} {
			if text, err := b.Files.ReadFile(name); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %s, %v, want %s", name, text, err, want)
			}
		}
		if text, _ := b.Files.ReadFile("llms.txt"); !strings.Contains(string(text), "- [v1](llms-v1.txt)\n- [de]") &&
			!strings.Contains(string(text), "- [de](llms-de.txt)\n- [v1](llms-v1.txt)") {
			t.Errorf("llms.txt does not lead to the others: %s", text)
		}
		text, _ := b.Files.ReadFile("llms-v1.txt")
		if !strings.HasPrefix(string(text), "# Larder (v1)\n") || strings.Contains(string(text), "llms-full.txt") {
			t.Errorf("the list of v1 has another title, or leads to all pages of v2: %s", text)
		}
	}
}

// A page of one language is none of another, and findings name the file on disk.
func TestLanguageSuffix(t *testing.T) {
	b := openFolder(t, map[string]string{
		"index.md":      "# Larder\n\nSee [the installation](install.md).\n",
		"install.md":    "# Install\n\nUnpack it.\n",
		"index.de.md":   "# Larder\n\nSiehe [die Installation](install.md).\n",
		"install.de.md": "# Installieren\n\nAuspacken. Siehe [nichts](gone.md).\n",
		"nur.de.md":     "# Nur hier\n\nDas gibt es nur auf Deutsch.\n",
	}, nil, nil)
	for arguments, want := range map[string]string{
		`{}`:                "2 pages:\n\n- home: Larder. See the installation.\n- install: Install. Unpack it.\n",
		`{"language":"de"}`: "3 pages:\n\n- home: Larder. Siehe die Installation.\n- install: Installieren.",
	} {
		if got := b.Call("list_pages", arguments).Text; !strings.HasPrefix(got, want) {
			t.Errorf("list_pages %s: %s, want %s", arguments, got, want)
		}
	}
	if got := b.Call("get_page", `{"path":"home","language":"de"}`).Text; !strings.Contains(got, "(docs://@de/install)") {
		t.Errorf("the German page is %s", got)
	}
	found := ruletest.Record(b.From.Findings...)
	if len(found) != 1 || filepath.Base(found[0].File) != "install.de.md" || found[0].Line != 3 {
		t.Errorf("findings %v", found)
	}
}

// Pages in the folder of a language are no pages of the language at the top.
func TestLanguageAtTheTop(t *testing.T) {
	b := openFolder(t, map[string]string{
		"index.md": "# Larder\n\nA cache.\n", "guide/a.md": "# A\n\nThe guide.\n",
		"de/index.md": "# Larder\n\nEin Speicher.\n", "de/guide/a.md": "# A\n\nDie Anleitung.\n",
	}, nil, nil)
	for arguments, want := range map[string]string{
		`{}`: "- guide/a: A. The guide.\n", `{"language":"de"}`: "- guide/a: A. Die Anleitung.\n",
	} {
		got := b.Call("list_pages", arguments).Text
		if !strings.HasPrefix(got, "2 pages") || !strings.Contains(got, want) {
			t.Errorf("list_pages %s: %s, want %s", arguments, got, want)
		}
	}
}

// A link to a page that only another language has is not broken.
func TestLinksToOtherEditions(t *testing.T) {
	for _, files := range []map[string]string{
		{"a.md": "# A\n\nOne.\n", "b.md": "# B\n\nTwo.\n", "b.de.md": "# B\n\n[Eins](a.md)\n"},
		{
			"a.md": "# A\n\n[Deutsch](de/a.md)\n", "b/c.md": "# C\n\nTwo.\n",
			"de/a.md": "# A\n\nEins.\n", "de/b/c.md": "# C\n\n2.\n",
		},
	} {
		b := openFolder(t, files, nil, nil)
		found := ruletest.Record(b.From.Findings...)
		if len(found) != 1 || found[0].Severity != check.Note ||
			!strings.Contains(found[0].Message, "another version or language") {
			t.Errorf("findings %v", found)
		}
	}
}

// Published Markdown of an edition leads to pages of the same edition.
func TestEditionTwins(t *testing.T) {
	b := openFolder(t, versioned, &docs.Options{BaseURL: "https://larder.example.com/"}, nil)
	for a, err := range b.From.Answers {
		if err != nil {
			t.Fatal(err)
		}
		if a.URI != "docs://@de/home" {
			continue
		}
		want := "[die Installation](https://larder.example.com/v2/de/install#unter-linux)"
		if a.Twin == nil || a.Twin.Address != "https://larder.example.com/v2/de/" || !strings.Contains(a.Twin.Text(), want) {
			t.Errorf("twin %+v", a.Twin)
		}
		return
	}
	t.Error("the page has no resource")
}

// The llms.txt of another edition is no page.
func TestListsOfEditionsAreNoPages(t *testing.T) {
	dir := sitetest.Folder(t, map[string]string{
		"llms.txt":    "# Kit\n\n## Docs\n\n- [Start](start.md)\n\n## Other versions\n\n- [v1](llms-v1.txt)\n",
		"llms-v1.txt": "# Kit\n\n- [Start](v1.md)\n",
		"start.md":    "# Start\n\nHow to start.\n",
	})
	in, err := docs.LLMS(filepath.Join(dir, "llms.txt"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := sitetest.Open(t, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Call("list_pages", `{}`).Text; !strings.Contains(got, "1 pages") {
		t.Errorf("list_pages: %s", got)
	}
}

// What the manifest says of editions does not grow with their pages.
func TestEditionsInManifest(t *testing.T) {
	b := openFolder(t, versioned, nil, nil)
	cat, err := b.Site.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range cat.Resources {
		uris = append(uris, r.URI)
	}
	for _, r := range cat.Templates {
		uris = append(uris, r.URITemplate)
	}
	slices.Sort(uris)
	want := []string{"docs://@de/{+path}", "docs://@v1/{+path}", "docs://guide/limits", "docs://home", "docs://install"}
	if diff := cmp.Diff(want, uris); diff != "" {
		t.Error(diff)
	}
	schema := string(cat.Tool("get_page").InputSchema)
	for _, want := range []string{`"enum":["v2","v1"],"default":"v2"`, `"enum":["en","de"],"default":"en"`, "de: v2."} {
		if !strings.Contains(schema, want) {
			t.Errorf("the schema %s has no %s", schema, want)
		}
	}
	if want := "docs://@v1/guide/install means path guide/install, version v1"; !strings.Contains(cat.Instructions, want) {
		t.Errorf("the instructions %q do not say %s", cat.Instructions, want)
	}
}

// The editions of generators, and those that the names of folders tell.
func TestFindEditions(t *testing.T) {
	const page = "# Page\n\nText of the page.\n"
	docusaurus := map[string]string{
		"docusaurus.config.js": `module.exports = {title: "Kit", url: "https://kit.example.com", baseUrl: "/",
  i18n: {defaultLocale: "en", locales: ["en", "fr"]}, presets: [["classic", {docs: {routeBasePath: "guide"}}]]};`,
		"versions.json": `["2.1", "1.0"]`,
		"sidebars.js":   `module.exports = {docs: ["intro"]};`,
		"versioned_sidebars/version-1.0-sidebars.json": `{"docs": ["intro"]}`,
		"docs/intro.md":                                               page,
		"versioned_docs/version-2.1/intro.md":                         page,
		"versioned_docs/version-1.0/intro.md":                         page,
		"i18n/fr/docusaurus-plugin-content-docs/version-2.1/intro.md": "# Page\n\nLe texte de la page.\n",
	}
	for _, test := range []struct {
		name                string
		files               map[string]string
		opts                *docs.Options
		versions, languages string
		call                string // of get_page
		published           string
	}{
		{name: "Docusaurus", files: docusaurus, versions: `["2.1","1.0","next"]`, languages: `["en","fr"]`,
			call: `{"path":"intro","version":"1.0"}`, published: "https://kit.example.com/guide/1.0/intro"},
		{name: "locale of Docusaurus", files: docusaurus, versions: `["2.1","1.0","next"]`, languages: `["en","fr"]`,
			call: `{"path":"intro","language":"fr"}`, published: "https://kit.example.com/fr/guide/intro"},
		{name: "routes of versions of Docusaurus", files: map[string]string{
			"docusaurus.config.js": `export default {url: "https://kit.example.com", baseUrl: "/", presets: [["classic", {docs: {
  lastVersion: "current", versions: {current: {label: "3.0", path: "latest"}, "1.0": {path: "old"}}}}]]};`,
			"versions.json":                       `["2.1", "1.0"]`,
			"docs/intro.md":                       page,
			"versioned_docs/version-2.1/intro.md": page,
			"versioned_docs/version-1.0/intro.md": page,
		}, versions: `["3.0","2.1","1.0"]`, call: `{"path":"intro","version":"1.0"}`,
			published: "https://kit.example.com/docs/old/intro"},
		{name: "mike", files: map[string]string{
			"versions.json": `[{"version": "3", "aliases": ["dev"]}, ` +
				`{"version": "2", "aliases": ["latest"]}, {"version": "gone"}]`,
			"2/index.html":  "<main><h1>Two</h1><p>The second version.</p></main>",
			"3/index.html":  "<main><h1>Three</h1><p>The third version.</p></main>",
			"latest/x.html": "<main><h1>A copy</h1></main>",
			"index.html":    `<meta http-equiv="refresh" content="0; url=latest/">`,
		}, opts: &docs.Options{BaseURL: "https://mike.example.com/"}, versions: `["v2","v3"]`,
			call: `{"path":"home","version":"v3"}`, published: "https://mike.example.com/3/"},
		{name: "folders", files: map[string]string{"v1.9/a.md": page, "v1.10/a.md": page, "main/a.md": page},
			opts: &docs.Options{BaseURL: "https://x.example.com"}, versions: `["v1.10","v1.9","main"]`,
			call: `{"path":"a","version":"main"}`, published: "https://x.example.com/main/a"},
		{name: "latest", files: map[string]string{"v1/a.md": page, "latest/a.md": page, "next/a.md": page},
			versions: `["latest","v1","next"]`},
		{name: "languages of MkDocs", files: map[string]string{
			"mkdocs.yml":       "site_name: Kit\nsite_url: https://mk.example.com/\nnav: [{Start: index.md}, {More: b.md}]\n",
			"docs/de/index.md": page, "docs/de/b.md": page, "docs/en/index.md": page, "docs/en/b.md": page,
		}, languages: `["en","de"]`, call: `{"path":"b","language":"de"}`, published: "https://mk.example.com/de/b"},
		{name: "languages of Hugo", files: map[string]string{
			"hugo.toml":            "baseURL = 'https://hugo.example.com/'\ndefaultContentLanguage = 'no'\n",
			"content/en/_index.md": page, "content/no/_index.md": page, "content/pt-br/_index.md": page,
		}, languages: `["no","en","pt-br"]`,
			call: `{"path":"home","language":"en"}`, published: "https://hugo.example.com/en/"},
		{name: "languages in names", files: map[string]string{
			"mkdocs.yml":    "site_name: Kit\nsite_url: https://mk.example.com/\ntheme: {language: en}\n",
			"docs/index.md": page, "docs/b.md": page, "docs/b.de.md": "# Seite\n\nText der Seite.\n", "docs/index.fr.md": page,
			"docs/index.de.md": page,
		}, languages: `["en","de","fr"]`, call: `{"path":"b","language":"de"}`, published: "https://mk.example.com/de/b"},
		{name: "all languages in names", files: map[string]string{"a.en.md": page, "a.pt-BR.md": page},
			opts:      &docs.Options{BaseURL: "https://x.example.com"},
			languages: `["en","pt-BR"]`, call: `{"path":"a","language":"pt-BR"}`, published: "https://x.example.com/pt-BR/a"},
		{name: "one translated file", files: map[string]string{
			"a.md": page, "b.md": page, "c.md": page, "d.md": page, "e.md": page, "f.md": page, "README.zh-CN.md": page,
		}},
		{name: "a language at the top", files: map[string]string{
			".vitepress/config.js": `export default {title: "Kit", lang: "en-US"}`,
			"index.md":             page, "guide/a.md": page, "zh/index.md": page, "zh/guide/a.md": page,
		}, opts: &docs.Options{BaseURL: "https://x.example.com"}, languages: `["en","zh"]`,
			call: `{"path":"guide/a","language":"zh"}`, published: "https://x.example.com/zh/guide/a.html"},
		{name: "a folder with the name of a language", files: map[string]string{
			"index.md": page, "guide/a.md": page, "no/b.md": page,
		}},
		{name: "declared at the top", files: map[string]string{"a.md": page, "deutsch/b.md": page},
			opts: &docs.Options{BaseURL: "https://x.example.com", Languages: docs.Variants{List: []docs.Variant{
				{Name: "en", Folder: "."}, {Name: "de", Folder: "deutsch"}}}},
			languages: `["en","de"]`, call: `{"path":"b","language":"de"}`, published: "https://x.example.com/deutsch/b"},
		{name: "declared", files: map[string]string{"new/a.md": page, "old/a.md": page},
			opts: &docs.Options{Versions: docs.Variants{List: []docs.Variant{
				{Name: "5.0", Folder: "new"}, {Name: "4.0", Folder: "old", BaseURL: "https://old.example.com/docs/"}}}},
			versions: `["5.0","4.0"]`, call: `{"path":"a","version":"4.0"}`, published: "https://old.example.com/docs/a"},
		{name: "the path of documents of Docusaurus", files: map[string]string{
			"docusaurus.config.js": `module.exports = {title: "Kit", url: "https://kit.example.com",
  i18n: {defaultLocale: "en"}, presets: [["classic", {docs: {path: "handbook"}}]]};`,
			"handbook/intro.md": page,
			"i18n/de/docusaurus-plugin-content-docs/current/intro.md": page,
			"i18n/fr/docusaurus-plugin-content-docs/current/intro.md": page,
		}, languages: `["en","de","fr"]`,
			call: `{"path":"intro","language":"fr"}`, published: "https://kit.example.com/fr/docs/intro"},
		{name: "mike without an alias", files: map[string]string{
			"versions.json":  `[{"version": "dev"}, {"version": "1.1"}, {"version": "1.0"}]`,
			"dev/index.html": "<main><h1>Next</h1><p>The next version.</p></main>",
			"1.0/index.html": "<main><h1>One</h1><p>The first version.</p></main>",
			"1.1/index.html": "<main><h1>More</h1><p>The second version.</p></main>",
		}, versions: `["1.1","dev","1.0"]`},
		{name: "folders of languages without a generator", files: map[string]string{"en/a.md": page, "de/a.md": page},
			opts: &docs.Options{BaseURL: "https://x.example.com"}, languages: `["en","de"]`,
			call: `{"path":"a"}`, published: "https://x.example.com/en/a"},
		{name: "versions in languages", files: map[string]string{
			"en/v1/a.md": page, "en/v2/a.md": page, "de/v1/a.md": page, "de/v2/a.md": page,
		}, opts: &docs.Options{BaseURL: "https://x.example.com"}, versions: `["v2","v1"]`, languages: `["en","de"]`,
			call: `{"path":"a","version":"v1","language":"de"}`, published: "https://x.example.com/de/v1/a"},
		{name: "the address of a version and its languages", files: map[string]string{
			"new/en/a.md": page, "new/de/a.md": page, "old/en/a.md": page, "old/de/a.md": page,
		}, opts: &docs.Options{
			Versions: docs.Variants{List: []docs.Variant{
				{Name: "5.0", Folder: "new"}, {Name: "4.0", Folder: "old", BaseURL: "https://old.example.com/docs/"}}},
			Languages: docs.Variants{List: []docs.Variant{{Name: "en", Folder: "en"}, {Name: "de", Folder: "de"}}},
		}, versions: `["5.0","4.0"]`, languages: `["en","de"]`,
			call: `{"path":"a","version":"4.0","language":"de"}`, published: "https://old.example.com/docs/de/a"},
		{name: "a language that only an old version has", files: map[string]string{
			"v2/en/a.md": page, "v2/de/a.md": page, "v1/en/a.md": page, "v1/fr/a.md": page,
		}, opts: &docs.Options{BaseURL: "https://x.example.com"}, versions: `["v2","v1"]`, languages: `["en","de","fr"]`,
			call: `{"path":"a","version":"v1","language":"fr"}`, published: "https://x.example.com/v1/fr/a"},
		{name: "a version without folders of languages", files: map[string]string{
			"v2/en/a.md": page, "v2/de/a.md": page, "v1/a.md": page,
		}, opts: &docs.Options{BaseURL: "https://x.example.com"}, versions: `["v2","v1"]`, languages: `["en","de"]`,
			call: `{"path":"a","version":"v1"}`, published: "https://x.example.com/v1/a"},
		{name: "a version with other folders beside those of languages", files: map[string]string{
			"v2/en/a.md": page, "v2/de/a.md": page, "v1/en/a.md": page, "v1/guide/a.md": page,
		}, opts: &docs.Options{BaseURL: "https://x.example.com"}, versions: `["v2","v1"]`,
			call: `{"path":"guide/a","version":"v1"}`, published: "https://x.example.com/v1/guide/a"},
		{name: "documents in no version", files: map[string]string{
			"v1/a.md": page, "v2/a.md": page, "a.md": page, "b.md": page,
		}},
		{name: "chapters", files: map[string]string{"1/a.md": page, "2/a.md": page}},
		{name: "an API with versions beside guides",
			files: map[string]string{"v1/a.md": page, "v2/a.md": page, "guide/a.md": page}},
		{name: "languages beside guides",
			files: map[string]string{"de/a.md": page, "en/a.md": page, "guide/a.md": page}},
		{name: "off", files: map[string]string{"v1/a.md": page, "v2/a.md": page},
			opts: &docs.Options{Versions: docs.Variants{Off: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := openFolder(t, test.files, test.opts, nil)
			schema := string(b.From.Tools[0].InputSchema)
			for name, want := range map[string]string{"version": test.versions, "language": test.languages} {
				_, rest, found := strings.Cut(schema, `"`+name+`":{"type":"string","enum":`)
				got, _, _ := strings.Cut(rest, `,"default"`)
				if got != want || found != (want != "") {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
			if test.call == "" {
				return
			}
			if got := b.Call("get_page", test.call).Text; !strings.Contains(got, "Published at "+test.published+"\n") {
				t.Errorf("get_page %s: %s\nwant the address %s", test.call, got, test.published)
			}
		})
	}
}

// Each version has the sidebars of its own.
func TestEditionSidebars(t *testing.T) {
	b := openFolder(t, map[string]string{
		"docusaurus.config.js": `module.exports = {title: "Kit"};`,
		"versions.json":        `["2.0", "1.0"]`,
		"versioned_sidebars/version-2.0-sidebars.json": `{"docs": [{"type": "category", "label": "New", "items": ["a"]}]}`,
		"versioned_sidebars/version-1.0-sidebars.json": `{"docs": [{"type": "category", "label": "Old", "items": ["a"]}]}`,
		"versioned_docs/version-2.0/a.md":              "# A\n\nText of two.\n",
		"versioned_docs/version-1.0/a.md":              "# A\n\nText of one.\n",
	}, nil, nil)
	for arguments, want := range map[string]string{`{}`: "- New\n", `{"version":"1.0"}`: "- Old\n"} {
		if got := b.Call("get_nav", arguments).Text; !strings.Contains(got, want) {
			t.Errorf("get_nav %s: %s, want %s", arguments, got, want)
		}
	}
}

// A declared version without documents is reported.
func TestMissingEdition(t *testing.T) {
	files := maps.Clone(versioned)
	b := openFolder(t, files, &docs.Options{
		Versions: docs.Variants{List: []docs.Variant{
			{Name: "v2", Folder: "v2"}, {Name: "v1", Folder: "v1"}, {Name: "v0", Folder: "v0"},
		}},
	}, nil)
	found := b.From.Findings
	ruletest.Record(found...)
	if len(found) != 1 || found[0].Rule.ID != "docs/variant" || filepath.Base(found[0].File) != "v0" ||
		!strings.Contains(found[0].Message, `the version "v0" has no documents`) {
		t.Errorf("findings %v", found)
	}
}

// Documents beside the versions, and declared ones of which none exists, are not lost in silence.
func TestLooseDocuments(t *testing.T) {
	files := maps.Clone(versioned)
	files["index.md"] = "# Start\n"
	files["notes.md"] = "# Notes\n"
	b := openFolder(t, files, nil, nil)
	found := ruletest.Record(b.From.Findings...)
	if len(found) != 1 || found[0].Severity != check.Note || filepath.Base(found[0].File) != "notes.md" {
		t.Errorf("findings %v", found)
	}
	in, err := docs.Dir(sitetest.Folder(t, files), &docs.Options{
		Versions: docs.Variants{List: []docs.Variant{{Name: "9", Folder: "9"}, {Name: "8", Folder: "8"}}},
	})
	if err == nil {
		_, err = in.Site(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), `the version "8" has no documents`) {
		t.Errorf("error %v", err)
	}
}

// If one declared version is left, the site has its documents alone, and a warning.
func TestOneEditionIsLeft(t *testing.T) {
	b := openFolder(t, versioned, &docs.Options{Languages: docs.Variants{Off: true}, Versions: docs.Variants{
		List: []docs.Variant{{Name: "1", Folder: "v1/en"}, {Name: "0", Folder: "v0"}},
	}}, nil)
	if got := b.Call("list_pages", `{}`).Text; !strings.HasPrefix(got, "2 pages:\n\n- home: Larder. Larder is a cache") {
		t.Errorf("list_pages: %s", got)
	}
	found := ruletest.Record(b.From.Findings...)
	if len(found) != 1 || found[0].Rule.ID != "docs/variant" || filepath.Base(found[0].File) != "v0" {
		t.Errorf("findings %v", found)
	}
	if text, err := b.Files.ReadFile("llms.txt"); err != nil || strings.Contains(string(text), "Other versions") {
		t.Errorf("llms.txt: %s, %v", text, err)
	}
}

// Documents of a version are none of the version in the folder above.
func TestVersionAtTheTop(t *testing.T) {
	b := openFolder(t, map[string]string{
		"a.md": "# A\n\nApples.\n", "more/b.md": "# B\n\nBerries.\n", "more/old/c.md": "# C\n\nCherries.\n",
	}, &docs.Options{Versions: docs.Variants{List: []docs.Variant{
		{Name: "3.0", Folder: "."}, {Name: "2.0", Folder: "more"}, {Name: "1.0", Folder: "more/old"},
	}}}, nil)
	for arguments, want := range map[string]string{
		`{}`: "- a: A.", `{"version":"2.0"}`: "- b: B.", `{"version":"1.0"}`: "- c: C.",
	} {
		if got := b.Call("list_pages", arguments).Text; !strings.HasPrefix(got, "1 pages:\n\n"+want) {
			t.Errorf("list_pages %s: %s, want %s", arguments, got, want)
		}
	}
}

// Names of versions that are the same in the name of a file have a search index each.
func TestNamesOfEditions(t *testing.T) {
	names := []string{"now", "2 lts", "2-LTS", "..", "index.json", "最新版"}
	files := make(map[string]string)
	var list []docs.Variant
	for i, name := range names {
		folder := string(rune('a' + i))
		files[folder+"/page.md"] = "# Page\n\nApples of " + folder + ".\n"
		list = append(list, docs.Variant{Name: name, Folder: folder})
	}
	b := openFolder(t, files, &docs.Options{Versions: docs.Variants{List: list}}, nil)
	for _, v := range list {
		for tool, argument := range map[string]string{"search": "query", "get_page": "path"} {
			arguments := string(mustJSON(t, map[string]string{argument: "page", "version": v.Name}))
			if got := b.Call(tool, arguments).Text; !strings.Contains(got, "Apples of "+v.Folder) {
				t.Errorf("%s %s: %s", tool, arguments, got)
			}
		}
	}
	lists := make(map[string]bool)
	for a, err := range b.From.Answers {
		if err == nil && strings.HasSuffix(a.Path, ".txt") {
			lists[strings.ToLower(a.Path)] = true
		}
	}
	if len(lists) != len(names)+1 {
		t.Errorf("lists %v", lists)
	}
}

// Two editions of one name are refused.
func TestSameNames(t *testing.T) {
	for _, opts := range []*docs.Options{
		{Versions: docs.Variants{List: []docs.Variant{
			{Name: "3", Folder: "v1"}, {Name: "2", Folder: "v2/en"}, {Name: "v2", Folder: "v2/de"},
		}}},
		{Versions: docs.Variants{List: []docs.Variant{{Name: "v2", Folder: "v1"}, {Name: "v2", Folder: "v2"}}}},
	} {
		opts.Languages.Off = true
		in, err := docs.Dir(sitetest.Folder(t, versioned), opts)
		if err == nil {
			_, err = in.Site(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), `two versions or languages are called "v2"`) {
			t.Errorf("error %v", err)
		}
	}
}

// The tools list every version, so there is a limit of them.
func TestTooManyEditions(t *testing.T) {
	files := make(map[string]string)
	for i := range 200 {
		files[fmt.Sprintf("v%d/a.md", i+1)] = "# A\n\nText.\n"
	}
	site := func() error {
		in, err := docs.Dir(sitetest.Folder(t, files), nil)
		if err == nil {
			_, err = in.Site(t.Context())
		}
		return err
	}
	if err := site(); err != nil {
		t.Errorf("200 versions: %v", err)
	}
	files["v201/a.md"] = "# A\n\nText.\n"
	if err := site(); err == nil || !strings.Contains(err.Error(), "more than 200 versions and languages") {
		t.Errorf("201 versions: %v", err)
	}
}

// A group of the navigation may have the name of a version.
func TestGroupLikeAVersion(t *testing.T) {
	b := openFolder(t, map[string]string{
		"next/v1/a.md": "# Next of one\n\nText.\n", "v1/b.md": "# One\n\nText.\n",
		"v2/v1/c.md": "# About one\n\nText.\n", "v2/v1/d.md": "# More about one\n\nText.\n",
	}, &docs.Options{Languages: docs.Variants{Off: true}}, nil)
	for arguments, want := range map[string]string{
		`{"version":"v1"}`: "One — b", `{"group":"v1-1"}`: "About one — v1/c",
		`{"group":"v1-1","version":"next"}`: "Next of one",
	} {
		if got := b.Call("get_nav", arguments).Text; !strings.Contains(got, want) {
			t.Errorf("get_nav %s: %s, want %s", arguments, got, want)
		}
	}
}

// The limits are those of all editions together.
func TestLimitsOfEditions(t *testing.T) {
	dir := sitetest.Folder(t, versioned) // 7 documents
	for _, test := range []struct {
		opts docs.Options
		want string
	}{
		{docs.Options{MaxPages: 7}, ""},
		{docs.Options{MaxPages: 6}, "more than 6 documents"},
		{docs.Options{MaxTotalBytes: 3500}, "the documents have more than 3500 bytes"},
	} {
		in, err := docs.Dir(dir, &test.opts)
		if err == nil {
			_, err = in.Site(t.Context())
		}
		if got := fmt.Sprint(err); err != nil && test.want == "" || !strings.Contains(got, test.want) {
			t.Errorf("%+v: %s, want %q", test.opts, got, test.want)
		}
	}
}

// The files for single words are divided among the editions, and not multiplied.
func TestWordFilesOfEditions(t *testing.T) {
	count := func(words int) (n int) {
		b := openFolder(t, versioned, &docs.Options{TermFiles: words}, nil)
		for a, err := range b.From.Answers {
			if err == nil && a.Tool == "search" {
				n++
			}
		}
		return n
	}
	if few := count(2); few > 3 {
		t.Errorf("%d files for words of 3 editions, want one each", few)
	}
}

// Languages in one folder do not remove the pages of each other from the cache.
func TestCacheOfLanguages(t *testing.T) {
	dir := sitetest.Folder(t, map[string]string{
		"a.md": "# A\n\nOne.\n", "a.de.md": "# A\n\nEins.\n", "b.md": "# B\n\nTwo.\n", "b.de.md": "# B\n\nZwei.\n",
	})
	cache := t.TempDir()
	var before []string
	for range 3 {
		in, err := docs.Dir(dir, &docs.Options{CacheDir: filepath.Join(cache, "pages")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Site(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored, err := filepath.Glob(filepath.Join(cache, "pages", "*", "*.pages"))
		if err != nil || len(stored) != 2 || before != nil && !slices.Equal(stored, before) {
			t.Errorf("stored pages %q, %v; before: %q", stored, err, before)
		}
		before = stored
	}
}

// A survey offers the tools that the site will have.
func TestSurveyOfEditions(t *testing.T) {
	in, err := docs.Dir(sitetest.Folder(t, versioned), nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := in.Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	site, err := in.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(site.Tools, before.Tools); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(site.Templates, before.Templates); diff != "" {
		t.Error(diff)
	}
}

// mustJSON encodes a value.
func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
