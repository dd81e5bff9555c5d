package sitewriter_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

// page returns a resource whose page is published at an address.
func page(address string) *sitewriter.Answer {
	a := sitewriter.TextResource("docs://"+address, "text/markdown", address)
	a.Twin = &sitewriter.Twin{Address: address, Text: func() string { return "# " + address + "\n" }}
	return a
}

func TestTwins(t *testing.T) {
	const home = "https://example.com/docs/"
	tests := []struct {
		name      string
		published []string // what the generator wrote
		addresses []string
		want      []string
		public    string
	}{
		{"folders", []string{"index.html", "guide/size/index.html"}, []string{home, home + "guide/size/"},
			[]string{"guide/size.md", "index.md"}, home},
		{"files", []string{"index.html", "guide/size.html"}, []string{home, home + "guide/size"},
			[]string{"guide/size.md", "index.md"}, home},
		{"addresses of files", []string{"index.html", "size.html"}, []string{home, home + "size.html"},
			[]string{"index.md", "size.html.md"}, home},
		{"the documents are a folder of the site", []string{"index.html", "docs/a/index.html", "docs/b/index.html"},
			[]string{home, home + "a", home + "b"}, []string{"docs/a.md", "docs/b.md"}, "https://example.com/"},
		{"the site has no known address", []string{"a/index.html"}, []string{"/a/", "/b/"}, []string{"a.md"}, ""},
		{"other pages", []string{"index.html"}, []string{home + "a", home + "b"}, nil, ""},
		{"outside", []string{"a/index.html"}, []string{home + "../../a/"}, nil, ""},
		{"no generator has run", nil, []string{home}, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, name := range tt.published {
				writeFile(t, filepath.Join(root, filepath.FromSlash(name)), "<p>")
			}
			var list []*sitewriter.Answer
			for _, address := range tt.addresses {
				list = append(list, page(address))
			}
			write := func(o sitewriter.Options) *sitewriter.Result {
				o.SiteRoot = root
				r, err := sitewriter.Write(t.Context(), site(list...), sitewriter.Dir(filepath.Join(root, "mcp")), &o)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if write(sitewriter.Options{NoTwins: true}); len(markdown(t, root)) > 0 {
				t.Errorf("NoTwins writes %v", markdown(t, root))
			}
			if r := write(sitewriter.Options{DryRun: true}); r.Created != len(tt.want) || len(markdown(t, root)) > 0 {
				t.Errorf("a dry run reports %v and writes %v, want %v", r.Changes, markdown(t, root), tt.want)
			}
			r := write(sitewriter.Options{})
			if got := markdown(t, root); !slices.Equal(got, tt.want) || r.Public != tt.public {
				t.Errorf("files = %v below %q, want %v below %q", got, r.Public, tt.want, tt.public)
			}
			if r := write(sitewriter.Options{}); r.Stale() {
				t.Errorf("the second write changes %v", r.Changes)
			}
		})
	}
}

// Files of others stay, and one finding lists them.
func TestForeignTwins(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		writeFile(t, filepath.Join(root, name, "index.html"), "<p>")
	}
	writeFile(t, filepath.Join(root, "a.md"), "mine")
	writeFile(t, filepath.Join(root, "b.md"), "mine")
	writeFile(t, filepath.Join(root, "c.md"), "old\n\n"+sitewriter.TwinMark)
	list := []*sitewriter.Answer{page("/a/"), page("/b/"), page("/c/")}
	r, err := sitewriter.Write(t.Context(), site(list...), sitewriter.Dir(filepath.Join(root, "mcp")),
		&sitewriter.Options{SiteRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.md": "mine", "c.md": "# /c/\n\n" + sitewriter.TwinMark} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s = %q, %v, want %q", name, got, err, want)
		}
	}
	found := ruletest.Findings(&r.Report)
	if n := count(found, "site/markdown-kept"); n != 1 || !strings.Contains(found[0].Message, "1 more") {
		t.Errorf("findings = %v, want one for both files", found)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// markdown returns the Markdown files below a folder.
func markdown(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
		if below, _ := filepath.Rel(root, name); filepath.Ext(name) == ".md" {
			names = append(names, filepath.ToSlash(below))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
