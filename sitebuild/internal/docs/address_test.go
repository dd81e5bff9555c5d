package docs_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Pages have the addresses that their generator publishes them at. Those of MkDocs, Hugo and VitePress
// are from builds with MkDocs 1.4, Hugo 0.111 and VitePress 1.6, those of Docusaurus from its getSlug.
func TestAddresses(t *testing.T) {
	indexed := []string{"index.md", "README.md", "guide/README.md", "guide/index.md", "guide/install.md", "only/README.md"}
	in := func(folder string, names ...string) []string {
		var files []string
		for _, name := range names {
			files = append(files, folder+name)
		}
		return files
	}
	for _, test := range []struct {
		name   string
		config map[string]string
		pages  []string
		front  map[string]string
		want   map[string]string
	}{
		{
			name:  "no system",
			pages: indexed,
			want: map[string]string{"home": "", "README": "README", "guide": "guide", "guide/README": "guide/README",
				"guide/install": "guide/install", "only": "only"},
		},
		{
			name:   "MkDocs",
			config: map[string]string{"mkdocs.yml": "site_name: x\n"},
			pages:  append(in("docs/", indexed...), "docs/guide/readme.md"),
			want: map[string]string{"home": "", "guide": "guide", "guide/install": "guide/install",
				"guide/readme": "guide/readme", "only": "only"},
		},
		{
			name:   "MkDocs with files",
			config: map[string]string{"mkdocs.yml": "site_name: x\nuse_directory_urls: false\n"},
			pages:  in("docs/", indexed...),
			want: map[string]string{"home": "", "guide": "guide/index.html", "guide/install": "guide/install.html",
				"only": "only/index.html"},
		},
		{
			name:   "VitePress",
			config: map[string]string{".vitepress/config.mts": "export default {title: 'x'}\n"},
			pages:  indexed,
			want: map[string]string{"home": "", "README": "README.html", "guide": "guide/",
				"guide/README": "guide/README.html", "guide/install": "guide/install.html", "only/README": "only/README.html"},
		},
		{
			name:   "VitePress with clean addresses",
			config: map[string]string{".vitepress/config.mts": "export default {cleanUrls: true}\n"},
			pages:  indexed,
			want: map[string]string{"home": "", "README": "README", "guide": "guide/", "guide/README": "guide/README",
				"guide/install": "guide/install", "only/README": "only/README"},
		},
		{
			name: "mdBook",
			config: map[string]string{"book.toml": "[book]\n",
				"src/SUMMARY.md": "# Summary\n\n- [Home](README.md)\n- [Guide](guide/README.md)\n- [Install](guide/install.md)\n"},
			pages: in("src/", "README.md", "guide/README.md", "guide/install.md"),
			want:  map[string]string{"home": "", "guide": "guide/index.html", "guide/install": "guide/install.html"},
		},
		{
			name:   "Hugo",
			config: map[string]string{"hugo.toml": "title = 'x'\n"},
			pages:  in("content/", "_index.md", "README.md", "Guide/_index.md", "Guide/To Install.md"),
			want: map[string]string{"home": "", "README": "readme", "Guide": "guide",
				"Guide/To%20Install": "guide/to-install"},
		},
		{
			name:   "Docusaurus",
			config: map[string]string{"docusaurus.config.js": "export default {title: 'x'}\n"},
			pages: in("docs/", "intro.md", "02-other/other.md", "01-guide/01-guide.md", "01-guide/02-install.md",
				"use/use.md", "use/ReadMe.md", "set/Index.md", "set/a.md", "set/b.md", "2020-01-02-rel.md", "2020-01-03-rel.md",
				"1.2-notes.md", "007_bond.md"),
			front: map[string]string{"docs/set/Index.md": "id: other", "docs/set/a.md": "id: c",
				"docs/set/b.md": "slug: ../up", "docs/intro.md": "slug: /"},
			want: map[string]string{"intro": "", "other/other": "other/other", "guide/guide": "guide",
				"guide/install": "guide/install", "use/use": "use", "use": "use", "set": "set", "set/a": "set/c", "set/b": "up",
				"2020-01-02-rel": "2020-01-02-rel", "2020-01-03-rel": "2020-01-03-rel", "1.2-notes": "1.2-notes", "bond": "bond"},
		},
		{
			name: "Docusaurus with numbers and a route",
			config: map[string]string{"docusaurus.config.js": "export default {url: 'https://e.com', baseUrl: '/', " +
				"presets: [['classic', {docs: {numberPrefixParser: false, versions: {current: {path: 'stable'}}}}]]}\n"},
			pages: in("docs/", "01-intro.md"),
			want:  map[string]string{"01-intro": "https://e.com/docs/stable/01-intro"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, text := range test.config {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			opts := &docs.Options{TermFiles: -1, BaseURL: "https://e.com/"}
			for _, address := range test.want {
				if strings.HasPrefix(address, "https:") {
					opts.BaseURL = ""
				}
			}
			for _, name := range test.pages {
				text := "# Page\n"
				if front := test.front[name]; front != "" {
					text = "---\n" + front + "\n---\n" + text
				}
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			set, err := docs.Read(t.Context(), files, "x", opts)
			if err != nil {
				t.Fatal(err)
			}
			site, err := set.Site(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]string)
			site.Resources(func(r *mcp.Resource, err error) bool {
				var meta map[string]string
				if err != nil || json.Unmarshal(r.Meta, &meta) != nil {
					t.Fatal(err, string(r.Meta))
				}
				address := meta[staticmcp.MetaURL]
				if opts.BaseURL != "" {
					address = strings.TrimPrefix(address, opts.BaseURL)
				}
				got[strings.TrimPrefix(r.URI, docs.Scheme)] = address
				return true
			})
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("addresses of %v (-got +want):\n%s", slices.Sorted(maps.Keys(got)), diff)
			}
			if len(set.Report.Findings()) != 0 {
				t.Error(set.Report.Findings())
			}
		})
	}
}
