package staticmcp_test

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// below returns the files of a small site under a prefix, and additional ones.
func below(prefix string, more ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, f := range webFiles() {
		files[prefix+name] = f
	}
	for _, name := range more {
		files[name] = &fstest.MapFile{}
	}
	return files
}

func TestZip(t *testing.T) {
	for name, tt := range map[string]struct {
		files fstest.MapFS
		opts  *staticmcp.Options
		want  string // part of the error
	}{
		"at the root":             {files: below("")},
		"in a folder":             {files: below("my-site/")},
		"in a folder with debris": {files: below("my-site/", "__MACOSX/my-site/._mcp.json", ".DS_Store", "my-site/")},
		"with a dot in front":     {files: below("./")},
		"backslashes":             {files: below(`my-site\`)},
		"in one of two folders":   {files: below("my-site/", "other/x.txt"), want: "there is neither mcp.json"},
		"slip":                    {files: below("", "../evil.json"), want: `"../evil.json", which points outside it`},
		"slip within":             {files: below("", "tools/../../evil.json"), want: "points outside it"},
		"slip that comes back":    {files: below("", "tools/../mcp.json"), want: "points outside it"},
		"slip with backslashes":   {files: below("", `..\evil.json`), want: "points outside it"},
		"absolute":                {files: below("", "/etc/passwd"), want: "points outside it"},
		"NUL":                     {files: below("", "a\x00b"), want: "points outside it"},
		"too many files": {
			files: below(""),
			opts:  &staticmcp.Options{MaxEntries: 3},
			want:  "4 files are more than the limit of 3",
		},
		"a manifest that is a bomb": {
			files: fstest.MapFS{"mcp.json": {Data: bytes.Repeat([]byte(" "), 1<<20)}},
			opts:  &staticmcp.Options{MaxManifestBytes: 1 << 16},
			want:  "limit of 65536 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := zipOf(t, tt.files)
			site, err := staticmcp.OpenZipReader(t.Context(), r, r.Size(), tt.opts)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got error %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			wantText(t, site, "a", "first")
			wantText(t, site, "none", "miss")
			if got := readText(t, site, "r://a"); got != "first" {
				t.Errorf("r://a = %q, want first", got)
			}
		})
	}
}

func TestZipFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "my site.zip")
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	files := webFiles()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(files[file].Data), `"name":"web",`, "", 1)
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	site, err := staticmcp.OpenZip(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	if c, _ := site.Catalog(t.Context()); c.Server.Name != "my site" {
		t.Errorf("a site without a name is called %q, want the name of its file", c.Server.Name)
	}
	wantText(t, site, "a", "first")
	for _, other := range []string{filepath.Join(dir, "none.zip"), dir} {
		if _, err := staticmcp.OpenZip(t.Context(), other, nil); err == nil {
			t.Errorf("%s opens", other)
		}
	}
	if err := os.WriteFile(name, []byte("no zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := staticmcp.OpenZip(t.Context(), name, nil); err == nil ||
		!strings.Contains(err.Error(), "not a valid zip") {
		t.Errorf("got error %v, want one about the zip", err)
	}
}
