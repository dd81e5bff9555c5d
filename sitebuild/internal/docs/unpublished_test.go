package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// pageIDs returns the ids of the pages of a set, sorted, in one line.
func pageIDs(set *docs.Set) string {
	var list []string
	for _, p := range set.Pages {
		list = append(list, p.ID)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Pages that the generator is configured not to publish are not in the site, and settings that only
// running it would reveal are reported.
func TestUnpublished(t *testing.T) {
	page := "# Page\n\nText.\n"
	for _, test := range []struct {
		name           string
		files          map[string]string
		want, findings string
		drafts         string // the pages with Options.Drafts
	}{
		{"mkdocs", map[string]string{
			"mkdocs.yml": "site_name: K\nexclude_docs: |\n  # why\n  internal/\n  !internal/public.md\n  " +
				"/top.md\n  *.part.md\n" +
				"draft_docs: |\n  drafts/\n  _unpublished.md\nplugins:\n  - search\n  - exclude:\n      glob:\n" +
				"        - plans/*\n      regex:\n        - '.*\\.(tmp|bak)\\.md'\n",
			"docs/index.md": page, "docs/internal/a.md": page, "docs/internal/public.md": page, "docs/top.md": page,
			"docs/sub/top.md": page, "docs/x.part.md": page, "docs/drafts/b.md": page, "docs/plans/q/c.md": page,
			"docs/d.tmp.md": page, "docs/templates/t.md": page, "docs/sub/templates/t.md": page,
			"docs/.hidden.md": page,
		}, "home internal/public sub/templates/t sub/top", "",
			"drafts/b home internal/public sub/templates/t sub/top"},
		{"mkdocs unclear", map[string]string{
			"mkdocs.yml":    "site_name: K\nexclude_docs:\n  - a.md\ndraft_docs: |\n  [a\n",
			"docs/index.md": page, "docs/a.md": page,
		}, "a home", "mkdocs.yml:3: warning: exclude_docs is ignored: it is not a text with a pattern on " +
			"each line; pages that " +
			"it keeps unpublished may be in the site [docs/unpublished]\n" +
			"mkdocs.yml:4: warning: draft_docs is ignored: \"[a\" is not a pattern; pages that it keeps " +
			"unpublished may be " +
			"in the site [docs/unpublished]\n", ""},
		{"vitepress", map[string]string{
			".vitepress/config.mts": "export default {srcDir: 'src', srcExclude: ['**/todo.md', 'plans/**', " +
				"shared]}",
			"src/index.md": page, "src/todo.md": page, "src/a/todo.md": page,
			"src/plans/a.md": page, "src/a/b.md": page,
		}, "a/b home", ".vitepress/config.mts:1: warning: srcExclude is ignored: its value is only known " +
			"when the file " +
			"runs; pages that it keeps unpublished may be in the site [docs/unpublished]\n", ""},
		{"docusaurus", map[string]string{
			"docusaurus.config.js": "export default {presets: [['classic', {docs: {exclude: ['**/plans/**']}}]]}",
			"docs/index.md":        page, "docs/a/plans/b.md": page, "docs/c.md": page,
		}, "c home", "", ""},
		{"vitepress folders", map[string]string{
			".vitepress/config.mts": "export default {srcExclude: ['plans', 'notes/', '**/inner', 'some/*']}",
			"index.md":              page, "plans/a.md": page, "plans/b/c.md": page, "sub/plans/a.md": page,
			"notes/a/b.md": page, "sub/inner/a.md": page, "inner/a.md": page, "some/a.md": page, "some/a/b.md": page,
			"planset/a.md": page,
		}, "home planset/a sub/plans/a", "", ""},
		{"docusaurus folders", map[string]string{
			"docusaurus.config.js": "export default {presets: [['classic', {docs: {exclude: ['plans', " +
				"'**/notes', 'some/*']}}]]}",
			"docs/index.md": page, "docs/plans/a/b.md": page, "docs/sub/plans/a.md": page,
			"docs/sub/notes/a.md": page, "docs/notes/a.md": page, "docs/some/a/b.md": page,
		}, "home sub/plans/a", "", ""},
		{"docusaurus without current", map[string]string{
			"docusaurus.config.js": "export default {presets: [['classic', {docs: {includeCurrentVersion: " +
				"false}}]]}",
			"versions.json": `["2.0"]`, "docs/index.md": page, "docs/next.md": page,
			"versioned_docs/version-2.0/index.md": page, "versioned_docs/version-2.0/a.md": page,
		}, "a home", "", ""},
		{"docusaurus unclear", map[string]string{
			"docusaurus.config.js": "export default {presets: [['classic', {docs: {includeCurrentVersion: f()}}]]}",
			"versions.json":        `["2.0"]`, "docs/index.md": page, "docs/next.md": page,
			"versioned_docs/version-2.0/index.md": page,
		}, "home", "docusaurus.config.js:1: warning: docs.includeCurrentVersion is ignored: its value is " +
			"only known when the " +
			"file runs; pages that it keeps unpublished may be in the site [docs/unpublished]\n", ""},
		{"hugo", map[string]string{
			"hugo.toml":         "title = 'K'\nignoreFiles = ['plans/', '\\.tmp\\.md$']\n",
			"content/_index.md": page, "content/plans/a.md": page, "content/b.tmp.md": page,
			"content/future.md":     "---\ndate: 2999-01-01\n---\n" + page,
			"content/publish.md":    "---\npublishDate: 2999-01-01T10:00:00Z\ndate: 2001-01-01\n---\n" + page,
			"content/published.md":  "---\npublishDate: 2001-01-01\ndate: 2999-01-01\n---\n" + page,
			"content/expired.md":    "+++\nexpiryDate = 2001-01-01\n+++\n" + page,
			"content/expires.md":    "+++\nexpirydate = 2999-01-01\n+++\n" + page,
			"content/never.md":      "---\n_build: {render: never}\n---\n" + page,
			"content/false.md":      "---\nbuild: {render: false}\n---\n" + page,
			"content/Draft.md":      "---\nDraft: true\n---\n" + page,
			"content/soon.md":       "---\ndate: soon\n---\n" + page,
			"content/old/_index.md": "---\ncascade: {_build: {render: never}}\n---\n" + page,
			"content/old/a/b.md":    page,
			"content/part/_index.md": "---\ncascade:\n  - _target: {path: '{/part/secret/**}'}\n    draft: " +
				"true\n---\n" +
				page,
			"content/part/a.md": page, "content/part/secret/b.md": page,
			"content/part/secret/own.md": "---\ndraft: false\n---\n" + page,
		}, "expires home part part/a part/secret/own published", "content/soon.md:1: warning: the page is " +
			"skipped: its date " +
			"is not a date [docs/unpublished]\n",
			"Draft expired expires false future home never old old/a/b part part/a part/secret/b " +
				"part/secret/own publish " +
				"published soon"},
		{"hugo with future", map[string]string{
			"hugo.yaml":       "buildFuture: true\nbuildExpired: true\ncontentDir: pages\n",
			"pages/_index.md": page, "content/other.md": page,
			"pages/future.md":  "---\ndate: 2999-01-01\n---\n" + page,
			"pages/expired.md": "---\nexpiryDate: 2001-01-01\n---\n" + page,
		}, "expired future home", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := readFolder(t, test.files, nil)
			if got := pageIDs(set); got != test.want {
				t.Errorf("got pages %s, want %s", got, test.want)
			}
			if got := reported(set); got != test.findings {
				t.Errorf("got findings\n%swant\n%s", got, test.findings)
			}
			if test.drafts == "" {
				return
			}
			if got := pageIDs(readFolder(t, test.files, &docs.Options{Drafts: true})); got != test.drafts {
				t.Errorf("with drafts: got pages %s, want %s", got, test.drafts)
			}
		})
	}
}

// Versions that Docusaurus does not publish are no values of the argument.
func TestUnpublishedVersions(t *testing.T) {
	files := map[string]string{
		"docusaurus.config.js": "export default {presets: [['classic', {docs: {includeCurrentVersion: false, " +
			"onlyIncludeVersions: ['3.0', '2.0']}}]]}",
		"versions.json":                       `["3.0", "2.0", "1.0"]`,
		"docs/index.md":                       "# Next\n\nThe next version.\n",
		"versioned_docs/version-3.0/index.md": "# Three\n\nThe third version.\n",
		"versioned_docs/version-2.0/index.md": "# Two\n\nThe second version.\n",
		"versioned_docs/version-1.0/index.md": "# One\n\nThe first version.\n",
	}
	b := openFolder(t, files, nil, nil)
	for arguments, want := range map[string]string{
		`{"path":"home"}`:                  "# Three",
		`{"path":"home","version":"2.0"}`:  "# Two",
		`{"path":"home","version":"1.0"}`:  "",
		`{"path":"home","version":"next"}`: "",
	} {
		got := b.Call("get_page", arguments)
		if want == "" && strings.HasPrefix(got.Text, "#") || want != "" && !strings.HasPrefix(got.Text, want) {
			t.Errorf("get_page %s = %+v, want %q", arguments, got, want)
		}
	}
}

// An expired page is not taken from the cache, nor is one that a cascade hides since.
func TestUnpublishedCached(t *testing.T) {
	page := "# Page\n\nText.\n"
	files := map[string]string{
		"hugo.toml":         "buildExpired = true\n",
		"content/_index.md": page, "content/a/_index.md": page, "content/a/b.md": page,
		"content/expired.md": "---\nexpiryDate: 2001-01-01\n---\n" + page,
	}
	opts := &docs.Options{CacheDir: t.TempDir()}
	dir := sitetest.Folder(t, files)
	for _, step := range []struct{ name, text, want string }{
		{"hugo.toml", files["hugo.toml"], "a a/b expired home"},
		{"hugo.toml", "title = 'K'\n", "a a/b home"},
		{"content/a/_index.md", "---\ncascade: {draft: true}\n---\n" + page, "home"},
	} {
		file := filepath.Join(dir, filepath.FromSlash(step.name))
		if err := os.WriteFile(file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := docs.Dir(dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		set, err := in.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := pageIDs(set); got != step.want {
			t.Errorf("after %s: got pages %s, want %s", step.name, got, step.want)
		}
	}
}
