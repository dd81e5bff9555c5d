package docs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// The documents are those of the configured folder, and nothing else in the project.
func TestConfiguredFolder(t *testing.T) {
	page := "# Page\n\nText.\n"
	for _, test := range []struct {
		name, folder string // the folder that is read
		files        map[string]string
		title, want  string
		findings     string
		err          string
	}{
		{"docusaurus", "", map[string]string{
			"docusaurus.config.js": "export default {title: 'K', presets: [['classic', {docs: {path: 'guides'}}]]}",
			"README.md":            page, "blog/a.md": page, "guides/intro.md": page,
		}, "K", "intro", "", ""},
		{"docusaurus by its plugin", "", map[string]string{
			"docusaurus.config.js": "export default {title: 'K', presets: [['classic', {docs: false}]], plugins: [" +
				"['@docusaurus/plugin-content-docs', {path: 'guides'}], 'other', " +
				"['@docusaurus/plugin-content-docs', {id: 'community', path: 'community'}]]}",
			"guides/intro.md": page, "community/team.md": page,
		}, "K", "intro", "docusaurus.config.js:1: warning: the documents of the instance \"community\", in the folder " +
			"community, are not in the site: build one from that folder [docs/navigation]\n", ""},
		{"docusaurus elsewhere", "website", map[string]string{
			"website/docusaurus.config.js": "export default {presets: [['classic', {docs: {path: '../docs'}}]]}",
			"website/README.md":            page, "docs/intro.md": page,
		}, "", "", "", "docs.path in docusaurus.config.js is ../docs, outside of the folder: build from that folder, or " +
			"from the pages that the generator writes"},
		{"translations of Docusaurus without their originals", "", map[string]string{
			"docusaurus.config.js": `module.exports = {presets: [["classic", {docs: {path: "../handbook"}}]]};`,
			"i18n/de/docusaurus-plugin-content-docs/current/intro.md": page,
			"i18n/fr/docusaurus-plugin-content-docs/current/intro.md": page,
		}, "", "", "", "docs.path in docusaurus.config.js is ../handbook, outside of the folder: build from that folder, " +
			"or from the pages that the generator writes"},
		{"docusaurus next to it", "docs", map[string]string{
			"website/docusaurus.config.js": "export default {title: 'K', presets: [['classic', {docs: {path: '../docs', " +
				"sidebarPath: './sidebars.js'}}]]}",
			"website/sidebars.js": "module.exports = {a: ['b', 'a']}",
			"docs/a.md":           page, "docs/b.md": page,
		}, "K", "a b", "", ""},
		{"mkdocs elsewhere", "site", map[string]string{"site/mkdocs.yml": "docs_dir: ../pages\n", "site/README.md": page},
			"", "", "", "docs_dir in mkdocs.yml is ../pages, outside of the folder: build from that folder, or from the " +
				"pages that the generator writes"},
		{"vitepress elsewhere", "site", map[string]string{
			"site/.vitepress/config.js": "export default {srcDir: '../pages'}", "site/README.md": page},
			"", "", "", "srcDir in .vitepress/config.js is ../pages, outside of the folder: build from that folder, or " +
				"from the pages that the generator writes"},
		{"mkdocs that inherits", "", map[string]string{
			"mkdocs.yml": "INHERIT: conf/base.yml\nsite_name: !ENV [NAME, 'Default']\nsite_url: !ENV URL\ntheme:\n" +
				"  language: de\n",
			"conf/base.yml": "site_name: Base\nsite_description: A kit\ndocs_dir: pages\ntheme:\n  name: material\nnav:\n" +
				"  - B: b.md\n  - Gone: gone.md\n",
			"README.md": page, "pages/index.md": page, "pages/b.md": page,
		}, "Default", "b home", "mkdocs.yml:1: warning: the navigation names gone.md, which is not a page in the folder " +
			"[docs/nav-missing]\n" +
			"mkdocs.yml:3: note: site_url is ignored: environment variables are not read, and it has no default " +
			"[docs/navigation]\n", ""},
		{"mkdocs that inherits from elsewhere", "site", map[string]string{
			"site/mkdocs.yml": "INHERIT: ../base.yml\nsite_name: K\n", "base.yml": "docs_dir: x\n", "site/docs/index.md": page,
		}, "K", "home", "mkdocs.yml:1: warning: INHERIT is ignored: ../base.yml is outside of the folder; build from a " +
			"folder with both files [docs/navigation]\n", ""},
		{"mkdocs next to it that inherits", "docs", map[string]string{
			"mkdocs.yml": "INHERIT: base.yml\n", "base.yml": "site_name: K\n", "docs/index.md": page,
		}, "K", "home", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := docs.Dir(filepath.Join(sitetest.Folder(t, test.files), test.folder), nil)
			if err != nil {
				t.Fatal(err)
			}
			set, err := in.Read(t.Context())
			if test.err != "" {
				if err == nil || !strings.HasSuffix(err.Error(), test.err) {
					t.Errorf("got error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := pageIDs(set); set.Title != test.title || got != test.want {
				t.Errorf("got %q with pages %s, want %q with %s", set.Title, got, test.title, test.want)
			}
			if got := strings.ReplaceAll(reported(set), test.folder+"/mkdocs", "mkdocs"); got != test.findings {
				t.Errorf("got findings\n%swant\n%s", got, test.findings)
			}
		})
	}
}
