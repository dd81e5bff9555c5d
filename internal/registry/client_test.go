package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/test/registrytest"
)

// listed is a server.json with an npm package.
func listed(name, version string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name": %q, "description": "Answers about %s", "version": %q, "packages": `+
		`[{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}}]}`,
		name, name, version))
}

// hosting returns a registry with 250 servers called com.example/many-N, and a few others.
func hosting(t *testing.T, versions ...string) *httptest.Server {
	t.Helper()
	r := &registrytest.Registry{
		Versions: versions,
		Fail:     func(err error) { t.Error(err) },
	}
	for i := range 250 {
		r.Entries = append(r.Entries, registrytest.Entry{Server: listed(fmt.Sprintf("com.example/many-%d", i), "1.0.0")})
	}
	r.Entries = append(r.Entries,
		registrytest.Entry{Server: listed("io.github.me/weather", "1.0.0"), Old: true},
		registrytest.Entry{Server: listed("io.github.me/weather", "2.0.0+build/1"), Status: "deprecated"},
		registrytest.Entry{Server: listed("io.github.me/weather-gone", "1.0.0"), Status: "deleted"},
		registrytest.Entry{Server: json.RawMessage(`{"name": "io.github.me/weather-empty", "description": "d", ` +
			`"version": "1"}`)},
	)
	web := httptest.NewServer(r)
	t.Cleanup(web.Close)
	return web
}

func namesOf(r *registry.Results) (all []string) {
	for _, d := range r.Servers {
		all = append(all, d.Name+"@"+d.Version)
	}
	return all
}

func TestSearch(t *testing.T) {
	for _, versions := range [][]string{nil, {"v0"}, {"v0.1"}} {
		c := &registry.Client{URL: hosting(t, versions...).URL}
		tests := []struct {
			words string
			limit int
			want  int
			more  bool
		}{
			{"many", 0, 20, true},
			{"many", 120, 120, true},
			{"many", 250, 250, false},
			{"many", 5000, 250, false},
			{"many 24", 0, 13, false},
			{"nothing-like-it", 0, 0, false},
		}
		for _, tt := range tests {
			found, err := c.Search(t.Context(), strings.Fields(tt.words), &registry.SearchOptions{Limit: tt.limit})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Servers) != tt.want || found.More != tt.more || found.Malformed != 0 {
				t.Errorf("%v: Search(%q, %d) = %d servers, more %t, %d malformed, want %d, %t",
					versions, tt.words, tt.limit, len(found.Servers), found.More, found.Malformed, tt.want, tt.more)
			}
		}
		found, err := c.Search(t.Context(), []string{"weather"}, nil)
		if got := fmt.Sprint(namesOf(found)); err != nil ||
			got != "[io.github.me/weather@2.0.0+build/1 io.github.me/weather-empty@1]" ||
			found.Servers[0].Status != "deprecated" {
			t.Errorf("Search(weather) = %s, %v", got, err)
		}
	}
}

func TestGet(t *testing.T) {
	web := hosting(t)
	for _, url := range []string{web.URL, web.URL + "/", web.URL + "/v0", web.URL + "/v0.1/"} {
		c := &registry.Client{URL: url}
		doc, err := c.Get(t.Context(), "io.github.me/weather", "")
		if err != nil || doc.Version != "2.0.0+build/1" || doc.Status != "deprecated" {
			t.Errorf("Get of the latest = %+v, %v", doc, err)
		}
		if doc, err = c.Get(t.Context(), "io.github.me/weather", "1.0.0"); err != nil || doc.Version != "1.0.0" {
			t.Errorf("Get of an old version = %+v, %v", doc, err)
		}
		if _, err = c.Get(t.Context(), "io.github.me/wether", ""); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("Get of a missing server: %v", err)
		}
		if _, err = c.Get(t.Context(), "io.github.me/weather-empty", ""); err == nil {
			t.Error("a server that cannot be used is accepted")
		}
	}
}

// TestHostileRegistry: no answer of a registry keeps the client waiting, fills its memory,
// or leads it elsewhere.
func TestHostileRegistry(t *testing.T) {
	pages := 0
	long := strings.Repeat("x", 9000)
	mux := http.NewServeMux()
	say := func(path, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	}
	mux.HandleFunc("/endless/v0.1/servers", func(w http.ResponseWriter, _ *http.Request) {
		pages++
		fmt.Fprintf(w, `{"servers": [], "metadata": {"nextCursor": "c%d"}}`, pages)
	})
	say("/again/v0.1/servers", `{"servers": [], "metadata": {"nextCursor": "same"}}`)
	say("/bad/v0.1/servers", `{"servers": [{"server": {"name": "../../etc/passwd"}}, {"server": 7}, null, `+
		`{"server": {"name": "a.b/c", "version": 1}}]}`)
	say("/html/v0.1/servers", "<html>")
	say("/object/v0.1/servers", "{}")
	mux.HandleFunc("/big/v0.1/servers", func(w http.ResponseWriter, _ *http.Request) {
		for range 10 << 20 / 9000 {
			_, _ = w.Write([]byte(long))
		}
	})
	mux.HandleFunc("/error/v0.1/servers", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, `{"detail": "no %s"}`, long)
	})
	say("/other/v0.1/servers/a.b%2Fc/versions/latest", `{"server": `+string(listed("a.b/d", "1"))+`}`)
	mux.Handle("/away/", http.RedirectHandler("http://10.0.0.1/", http.StatusFound))
	web := httptest.NewServer(mux)
	defer web.Close()
	search := func(path string) (*registry.Results, error) {
		c := &registry.Client{URL: web.URL + path}
		return c.Search(t.Context(), []string{"x"}, nil)
	}
	if found, err := search("/endless"); err != nil || !found.More || pages > 20 {
		t.Errorf("an endless list: %v, %v after %d pages", found, err, pages)
	}
	if found, err := search("/again"); err != nil || len(found.Servers) > 0 {
		t.Errorf("a repeated cursor: %v, %v", found, err)
	}
	if found, err := search("/bad"); err != nil || found.Malformed != 4 || len(found.Servers) > 0 {
		t.Errorf("malformed entries: %+v, %v", found, err)
	}
	for path, want := range map[string]string{
		"/html":   "not JSON",
		"/object": "not a list",
		"/big":    "more than 4 MiB",
		"/error":  "418 I'm a teapot: no xxx",
		"/none":   "404 Not Found",
	} {
		var answer *registry.APIError
		if _, err := search(path); !errors.As(err, &answer) || !strings.Contains(err.Error(), want) ||
			len(err.Error()) > 500 {
			t.Errorf("%s: %v, want an APIError with %q", path, err, want)
		}
	}
	c := &registry.Client{URL: web.URL + "/other"}
	if _, err := c.Get(t.Context(), "a.b/c", ""); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("another server: %v", err)
	}
	var blocked *netguard.BlockedError
	if _, err := search("/away"); !errors.As(err, &blocked) {
		t.Errorf("a redirect to a private network: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&registry.Client{URL: web.URL}).Search(ctx, []string{"x"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search: %v", err)
	}
	for _, url := range []string{"ftp://x", "registry", "http://", "http://a b/"} {
		if _, err := (&registry.Client{URL: url}).Search(t.Context(), []string{"x"}, nil); err == nil {
			t.Errorf("%q is accepted as a URL", url)
		}
	}
}

func TestIsName(t *testing.T) {
	for text, want := range map[string]bool{
		"io.github.owner/server": true, "com.example/a_b.c-d": true, "a.b/c": true,
		"docs/guide": false, "./a.b": false, "../a.b/c": false, "a.b/c/d": false, "a.b/": false, "/a.b": false,
		"a.b/c d": false, ".a/b": false, "a./b": false, "a.b/\x1b": false, "a.b/" + strings.Repeat("c", 300): false,
	} {
		if got := registry.IsName(text); got != want {
			t.Errorf("IsName(%q) = %t", text, got)
		}
	}
}
