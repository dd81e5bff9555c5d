package interop_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocusaurus generates a site from the Docusaurus project in testdata with the npm
// package docusaurus-smg, and reads all of it with every client. The generator keeps
// dots, capitals, spaces and folders in file names, where the standard would encode them.
func TestDocusaurus(t *testing.T) {
	project := filepath.Join("testdata", "docusaurus")
	dir := generateSite(t, project)
	pages := markdownPages(t, project)
	to := serve(t, dir)
	withEveryClient(t, to, func(t *testing.T, c client, _ string) {
		t.Run("lists", func(t *testing.T) { checkPagesListed(t, c, dir, pages) })
		t.Run("resources", func(t *testing.T) {
			for uri, body := range pages {
				checkPageRead(t, c, uri, body)
			}
		})
		t.Run("tools", func(t *testing.T) { checkPageTools(t, c, dir, pages) })
	})
}

// generateSite runs the generator and returns its output folder.
func generateSite(t *testing.T, project string) string {
	t.Helper()
	tools := nodeTools(t)
	dir := filepath.Join(t.TempDir(), "site")
	out, err := exec.Command(tools.node(), tools.module("docusaurus-smg/dist/src/index.js"),
		project, "--output", dir, "--name", "Rope at Hand", "--version", "2.0.1").CombinedOutput()
	if err != nil {
		t.Fatalf("docusaurus-smg: %v\n%s", err, out)
	}
	return dir
}

var frontMatter = regexp.MustCompile(`(?s)\A---\n.*?\n---\s*\n`)

// markdownPages returns the text of every page of the project, by the URI that the
// generator assigns to it.
func markdownPages(t *testing.T, project string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(project, func(path string, entry fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || entry.IsDir() || (ext != ".md" && ext != ".mdx") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(project, strings.TrimSuffix(path, ext))
		pages["docs://"+filepath.ToSlash(name)] = frontMatter.ReplaceAllString(string(data), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 8 {
		t.Fatalf("%s has only %d pages", project, len(pages))
	}
	return pages
}

func checkPagesListed(t *testing.T, c client, dir string, pages map[string]string) {
	offers := readObject(t, filepath.Join(dir, "mcp.json"))["capabilities"].(object)
	checkList(t, c, "tools", objects(offers["tools"]), "name", "description", "inputSchema")
	checkList(t, c, "resources", objects(offers["resources"]), "uri", "name", "description", "mimeType")
	listed, _ := listAll(t, c, "resources")
	for _, resource := range listed {
		if _, ok := pages[resource["uri"].(string)]; !ok {
			t.Errorf("%v is listed and has no page", resource["uri"])
		}
	}
	if len(listed) != len(pages) {
		t.Errorf("%d resources are listed, want %d", len(listed), len(pages))
	}
}

func checkPageRead(t *testing.T, c client, uri, body string) {
	t.Helper()
	got, err := c.read(limited(t), uri)
	if err != nil && c.spoils(uri) {
		wantCode(t, c, "read "+uri+", which the SDK spoils", err, headerMismatch)
		return
	}
	if err != nil {
		t.Errorf("read %s: %v", uri, err)
		return
	}
	same(t, "read "+uri, pick(objects(got["contents"]), []string{"uri", "mimeType", "text"}),
		[]object{{"uri": uri, "mimeType": "text/markdown", "text": body}})
}

// checkPageTools calls each tool with the arguments of each file that the generator wrote
// for it: a page by its full URI and by the short form that list_resources returns.
func checkPageTools(t *testing.T, c client, dir string, pages map[string]string) {
	files := len(jsonFiles(t, filepath.Join(dir, "tools")))
	if files != len(pages)+1 {
		t.Fatalf("the generator wrote %d tool answers, want one for each of %d pages and one list", files, len(pages))
	}
	list := exchange{"list_resources", object{}, readObject(t, filepath.Join(dir, "tools", "list_resources.json"))}
	checkCall(t, c, list)
	for uri, body := range pages {
		short := strings.TrimPrefix(uri, "docs://")
		want := readObject(t, filepath.Join(dir, "tools", "get_resource", filepath.FromSlash(short)+".json"))
		checkCall(t, c, exchange{"get_resource", object{"uri": uri}, want})
		checkCall(t, c, exchange{"get_resource", object{"uri": short}, want})

		var page struct{ URI, Content string }
		said := objects(want["content"])[0]["text"].(string)
		if err := json.Unmarshal([]byte(said), &page); err != nil {
			t.Fatal(err)
		}
		if page.URI != uri || page.Content != body {
			t.Errorf("the answer for %s holds %q as %s, want the page's own text", uri, page.Content, page.URI)
		}
	}
	got, err := c.call(limited(t), "get_resource", object{"uri": "docs://docs/no-such-page"})
	wantToolError(t, "a page that does not exist", got, err)
}
