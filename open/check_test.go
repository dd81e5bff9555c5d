package open_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// brief returns "file:line severity rule" of each finding.
func brief(r *check.Report) []string {
	var all []string
	for _, f := range r.Findings() {
		text := f.String()
		all = append(all, text[:strings.Index(text, ": ")]+" "+f.Severity.String()+" "+f.Rule.ID)
	}
	return all
}

func TestCheckFindsOutWhatItIs(t *testing.T) {
	dir := tree(t, map[string]string{
		"site/mcp.json":             manifest,
		"bundle/manifest.json":      `{"manifest_version":"0.3","name":"b"}`,
		"servers.yaml":              "servers:\n  a:\n    transport: pigeon\n",
		"other/mcp.json":            `{"servers":{"a":{"transport":"pigeon"}}}`,
		"named/mcp.json":            strings.Replace(manifest, `"name":"t"`, `"name":"getThing"`, 1),
		"named/tools/getThing.json": `{"content":[]}`,
	})
	zipOf(t, filepath.Join(dir, "site"), filepath.Join(dir, "site.zip"))
	t.Chdir(dir)
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	site, err := staticmcp.OpenDir(t.Context(), "named", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	live := httptest.NewServer(server.New(site, nil).HTTPHandler(nil))
	defer live.Close()
	for _, tt := range []struct{ name, arg, want string }{
		{"site", "site", "site/mcp.json:2:41 error staticmcp/no-answers"},
		{"manifest of a site", "site/mcp.json", "site/mcp.json:2:41 error staticmcp/no-answers"},
		{"zip", "site.zip", "site.zip!mcp.json:2:41 error staticmcp/no-answers"},
		{"site on the web", web.URL + "/site/", web.URL + "/site/mcp.json:2:41 error staticmcp/no-answers"},
		{"bundle", "bundle", "bundle/manifest.json:1:1 error mcpb/"},
		{"manifest of a bundle", "bundle/manifest.json", "bundle/manifest.json:1:1 error mcpb/"},
		{"definitions", "servers.yaml", "servers.yaml:2:3 error stax/"},
		{"definitions called as a site's manifest", "other/mcp.json", "other/mcp.json:1:13 error stax/"},
		{"live server", live.URL, live.URL + " warning mcp/tool-name-style"},
		{"live server, forced", "live:" + live.URL, "live:" + live.URL + " warning mcp/tool-name-style"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, err := open.Check(t.Context(), tt.arg, nil)
			if err != nil {
				t.Fatal(err)
			}
			found := brief(report)
			if !slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, tt.want) }) {
				t.Errorf("Check(%q) found %q, want %s", tt.arg, found, tt.want)
			}
		})
	}
	for _, tt := range []struct{ name, arg, want string }{
		{"nothing", "", "empty"},
		{"not there", "nowhere", "no such file or folder"},
		{"no server", "http://127.0.0.1:1/", "127.0.0.1:1"},
		{"neither site nor server", web.URL + "/bundle", "mcp.json"},
		{"no URL behind site:", "site:site", "not an http or https URL"},
		{"no URL behind live:", "live:nothing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open.Check(t.Context(), tt.arg, nil)
			var e *open.Error
			if !errors.As(err, &e) || !strings.Contains(e.Why+e.Arg, tt.want) {
				t.Errorf("Check(%q) = %v, want an *open.Error with %q", tt.arg, err, tt.want)
			}
		})
	}
}

// TestCheckUserInterfaces: the rules of user interfaces apply to a site, with positions
// in its manifest, even after an entry that readers skip.
func TestCheckUserInterfaces(t *testing.T) {
	dir := tree(t, map[string]string{
		"site/mcp.json": `{"protocolVersion":"2025-11-25","serverInfo":{"name":"n","version":"1.0.0"},"capabilities":{
"resources":[
 {"name":"left out"},
 {"uri":"ui://a","name":"a","description":"d","mimeType":"text/html"}],
"tools":[
 {"name":"t","description":"d","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://gone"}}},
 {"name":"u","description":"d","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://unlisted"}}}]}}`,
		"site/resources/a.json":        `{"uri":"ui://a","mimeType":"text/html","text":"<p>"}`,
		"site/resources/unlisted.json": `{"uri":"ui://unlisted","mimeType":"text/html;profile=mcp-app","text":"<p>"}`,
		"site/tools/t.json":            `{"content":[]}`,
		"site/tools/u.json":            `{"content":[]}`,
	})
	t.Chdir(dir)
	zipOf(t, "site", "site.zip")
	for arg, want := range map[string][]string{
		"site":     {"site/mcp.json:4:58 error apps/mime-type", "site/mcp.json:6:93 error apps/missing"},
		"site.zip": {"site.zip!mcp.json error apps/mime-type", "site.zip!mcp.json error apps/missing"},
	} {
		report, err := open.Check(t.Context(), arg, &open.CheckOptions{SiteOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(brief(report), func(line string) bool { return !strings.Contains(line, " apps/") })
		if !slices.Equal(got, want) {
			t.Errorf("CheckSite(%s) found %q, want %q", arg, got, want)
		}
	}
}
