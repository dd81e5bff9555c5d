package edge_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/edge"
	"github.com/slipway-mcp/slipway/mcp"
)

// A site gets the files that its address and its host allow, and a second write changes none.
func TestWriteWeb(t *testing.T) {
	tests := []struct {
		name string
		o    edge.WebOptions
		want []string
		text map[string]string // parts of files
	}{
		{"an endpoint",
			edge.WebOptions{Site: "mcp", URL: "https://docs.example.com/mcp/", Endpoint: "/mcp", Searched: true},
			[]string{"mcp/search.js", "mcp/index.html", "mcp/server-card", ".well-known/ai-catalog.json"},
			map[string]string{
				"mcp/index.html":              "claude mcp add --transport http my-docs https://docs.example.com/mcp<",
				"mcp/server-card":             `"url": "https://docs.example.com/mcp"`,
				".well-known/ai-catalog.json": `"url": "https://docs.example.com/mcp/server-card"`,
			}},
		{"below a folder of the host",
			edge.WebOptions{Site: "mcp", URL: "https://example.com/docs/mcp/", Endpoint: "/docs/mcp"},
			[]string{"mcp/index.html", "mcp/server-card"}, nil},
		{"an endpoint elsewhere on the host",
			edge.WebOptions{Site: "mcp", URL: "https://example.com/docs/mcp/", Endpoint: "/mcp"},
			[]string{"mcp/index.html"}, nil},
		{"Vercel", edge.WebOptions{Site: "mcp", URL: "https://example.com/mcp/", Endpoint: "/mcp", Host: "vercel"},
			[]string{"mcp/add.html", "mcp/server-card", ".well-known/ai-catalog.json"}, nil},
		{"no code", edge.WebOptions{URL: "https://example.com/", Searched: true}, []string{"search.js", "index.html"},
			map[string]string{"index.html": "slipway serve --stdio https://example.com/<"}},
		{"no address", edge.WebOptions{Site: "mcp", Searched: true}, []string{"mcp/search.js"}, nil},
		{"nothing", edge.WebOptions{}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.o
			o.Published = t.TempDir()
			o.Server = mcp.Implementation{Name: "my-docs", Title: "Mine & <yours>", Version: "1.0.0"}
			r, err := edge.WriteWeb(&o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.Files {
				below, err := filepath.Rel(o.Published, f.Path)
				if err != nil || f.Action != edge.Created {
					t.Errorf("%v, %v", f, err)
				}
				got = append(got, filepath.ToSlash(below))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("files = %v, want %v", got, tt.want)
			}
			for name, part := range tt.text {
				if text := read(t, filepath.Join(o.Published, filepath.FromSlash(name))); !strings.Contains(text, part) ||
					strings.Contains(text, "<yours>") && filepath.Ext(name) == ".html" {
					t.Errorf("%s lacks %q: %s", name, part, text)
				}
			}
			if again, err := edge.WriteWeb(&o); err != nil || again.Stale() {
				t.Errorf("a second write: %v, %v", again, err)
			}
			o.Server.Version = "2.0.0"
			if again, err := edge.WriteWeb(&o); err != nil || len(again.Foreign()) > 0 {
				t.Errorf("a new version is not written: %v, %v", again, err)
			}
		})
	}
}

// Files of others are never touched.
func TestForeignWebFiles(t *testing.T) {
	o := &edge.WebOptions{Published: t.TempDir(), Site: "mcp", URL: "https://example.com/mcp/", Endpoint: "/mcp",
		Searched: true, Server: mcp.Implementation{Name: "docs"}}
	names := []string{"mcp/search.js", "mcp/index.html", "mcp/server-card", ".well-known/ai-catalog.json"}
	const mine = `{"entries": [{"url": "https://example.com/other"}], "remotes": []}`
	for _, name := range names {
		path := filepath.Join(o.Published, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, mine)
	}
	r, err := edge.WriteWeb(o)
	if err != nil || len(r.Foreign()) != len(names) || r.Stale() {
		t.Fatalf("WriteWeb = %v, %v, want %d foreign files", r, err, len(names))
	}
	for _, f := range r.Files {
		if read(t, f.Path) != mine {
			t.Errorf("%s was changed", f.Path)
		}
	}
	var entry struct{ URL string }
	lines := strings.TrimPrefix(r.Files[3].Lines, `in "entries": `)
	if err := json.Unmarshal([]byte(lines), &entry); err != nil || entry.URL != "https://example.com/mcp/server-card" {
		t.Errorf("the lines to add are %q, %v", lines, err)
	}
}

func TestWebAddress(t *testing.T) {
	for _, address := range []string{"docs.example.com", "file:///mcp/", "https://me:secret@example.com/"} {
		if r, err := edge.WriteWeb(&edge.WebOptions{Published: t.TempDir(), URL: address}); err == nil {
			t.Errorf("WriteWeb(%q) = %v, want an error", address, r)
		}
	}
}

// The widget has the stemmer of its language, or none, and keeps the notice of the stemmers.
func TestWidget(t *testing.T) {
	for language, want := range map[string]string{
		"en": "Porter", "pt-BR": "Olly Betts", "nb": "Olly Betts", "ja": "stem:e=>e", "": "stem:e=>e",
	} {
		text, err := edge.Widget(language)
		if err != nil || !bytes.HasPrefix(text, []byte(edge.Marker+"\n")) || !bytes.Contains(text, []byte(want)) {
			t.Errorf("Widget(%q) lacks %q, %v", language, want, err)
		}
	}
}
