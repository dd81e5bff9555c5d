package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/axe"
	"github.com/slipway-mcp/slipway/internal/chromium"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
)

// browserVariable names a Chromium for the tests of pages; without, they are skipped.
const browserVariable = "SLIPWAY_EDGE_BROWSER"

// strictPolicy permits only files of the site.
const strictPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"require-trusted-types-for 'script'"

// webSite builds the documentation of the repository with its files for browsers, and a page
// with the widget.
func webSite(t *testing.T) (published string) {
	t.Helper()
	published = t.TempDir()
	in, err := sitebuild.Open("../../docs", &sitebuild.InputOptions{
		Documents: sitebuild.DocumentOptions{BaseURL: "https://docs.example.com/manual/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	built, err := in.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(published, "mcp")
	if _, err := sitebuild.Write(t.Context(), built, sitebuild.Dir(dir), nil); err != nil {
		t.Fatal(err)
	}
	_, err = WriteWeb(&WebOptions{
		Published: published,
		Site:      "mcp",
		URL:       "https://docs.example.com/mcp/",
		Endpoint:  "/mcp",
		Server:    mcp.Implementation{Name: "docs", Title: "Slipway"},
		Language:  "en",
		Searched:  true,
	})
	if err != nil {
		t.Fatal(err)
	}
	const page = `<!doctype html><html lang="en"><title>Manual</title><script src="/mcp/search.js" defer></script>` +
		`<main><h1>Manual</h1><slipway-search></slipway-search><p>Text</p></main></html>`
	if err := os.WriteFile(filepath.Join(published, "index.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return published
}

// tab is a page in a browser.
type tab struct {
	t       *testing.T
	browser *chromium.Browser
	session string
}

// eval returns the value of an expression, which may be a promise.
func (b *tab) eval(expression string, value any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}
	if err := b.browser.Call(ctx, b.session, "Runtime.evaluate", params, &result); err != nil {
		b.t.Fatal(err)
	}
	if text := result.ExceptionDetails.Text; text != "" {
		b.t.Fatalf("%.200s: %s %s", expression, text, result.ExceptionDetails.Exception.Description)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(result.Result.Value, value); err != nil {
		b.t.Fatalf("%.200s = %s: %v", expression, result.Result.Value, err)
	}
}

// open loads a page, and waits until its scripts have run.
func (b *tab) open(url string) {
	b.t.Helper()
	if err := b.browser.Call(b.t.Context(), b.session, "Page.navigate", map[string]any{"url": url}, nil); err != nil {
		b.t.Fatal(err)
	}
	for loaded := false; !loaded; {
		b.eval(fmt.Sprintf("location.href === %q && document.readyState === 'complete'", url), &loaded)
	}
}

// barriers returns what axe finds in the page.
func (b *tab) barriers() (ids []string) {
	b.t.Helper()
	b.eval(axe.Script()+";0", nil)
	b.eval("axe.run(document, {resultTypes: ['violations']})"+
		".then((r) => r.violations.map((v) => v.id + ': ' + v.help))", &ids)
	return ids
}

// press sends a key to the focused element.
func (b *tab) press(key string) {
	b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key}
		if err := b.browser.Call(b.t.Context(), b.session, "Input.dispatchKeyEvent", params, nil); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestPages uses the pages of a site in a browser: they have no barriers, nothing violates a
// strict policy, and the widget finds what the search tool finds.
func TestPages(t *testing.T) {
	path := os.Getenv(browserVariable)
	if path == "" {
		t.Skip("set " + browserVariable + " to a Chromium")
	}
	published := webSite(t)
	index := indexFolder(filepath.Join(published, "mcp", filepath.FromSlash(search.Dir)))
	files := http.FileServer(http.Dir(published))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.URL.Path == "/" {
			w.Header().Set("Content-Security-Policy", strictPolicy)
		}
		files.ServeHTTP(w, r)
	}))
	defer web.Close()
	complaints := make(chan string, 100)
	browser, err := chromium.Start(path, func(e chromium.Event) {
		if e.Method == "Log.entryAdded" || e.Method == "Runtime.exceptionThrown" || e.Method == "Runtime.consoleAPICalled" {
			select {
			case complaints <- string(e.Params):
			default:
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Close()
	session, err := browser.OpenPage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := &tab{t, browser, session}

	b.open(web.URL + "/mcp/")
	if found := b.barriers(); len(found) > 0 {
		t.Errorf("the page for clients: %v", found)
	}

	b.open(web.URL + "/")
	const prelude = "const e = document.querySelector('slipway-search'), r = e.shadowRoot;"
	b.eval("(() => {"+prelude+"e.focus()})()", nil)
	for _, query := range []string{"tokens from a file", "serach", "größe", "zebra crossing"} {
		typed, _ := json.Marshal(query)
		var got []string
		b.eval(`(async () => {`+prelude+`
			r.querySelector('input').value = `+string(typed)+`;
			await e.find();
			return [...r.querySelectorAll('strong')].map((s) => s.textContent);
		})()`, &got)
		found, err := search.New(index).Find(t.Context(), &search.Query{Phrasings: []string{query}, Narrow: true})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		for _, hit := range found.Hits {
			want = append(want, hit.Title)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-search tool +widget):\n%s", query, diff)
		}
		if ids := b.barriers(); len(ids) > 0 {
			t.Errorf("the widget after %q: %v", query, ids)
		}
	}

	// Typing, arrow keys, Escape; the links lead to this host.
	var state struct {
		Focus, Link, Status string
		Hidden              bool
	}
	look := func() {
		t.Helper()
		b.eval("(() => {"+prelude+"const a = r.querySelector('a'); return {focus: r.activeElement?.tagName, link: a?.href, "+
			"status: r.querySelector('[role=status]').textContent, hidden: r.querySelector('.results').hidden}})()", &state)
	}
	b.eval("(async () => {"+prelude+
		"const i = r.querySelector('input'); i.value = 'policies'; i.focus(); await e.find()})()", nil)
	b.press("ArrowDown")
	if look(); state.Focus != "A" || state.Hidden || !strings.HasSuffix(state.Status, " results") ||
		!strings.HasPrefix(state.Link, web.URL+"/manual/") {
		t.Errorf("after the arrow key: %+v", state)
	}
	b.press("ArrowUp")
	if look(); state.Focus != "INPUT" {
		t.Errorf("after both arrow keys: %+v", state)
	}
	b.press("Escape")
	if look(); !state.Hidden || state.Focus != "INPUT" {
		t.Errorf("after Escape: %+v", state)
	}
	for len(complaints) > 0 {
		t.Errorf("the browser reports %s", <-complaints)
	}
}

// indexFolder has the files of an index.
type indexFolder string

func (f indexFolder) Load(_ context.Context, name string, parse search.Parse) (any, error) {
	data, err := os.ReadFile(filepath.Join(string(f), filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, search.ErrNoFile
	}
	if err != nil {
		return nil, err
	}
	value, _, err := parse(data)
	return value, err
}

func (f indexFolder) Forget(string) {}
