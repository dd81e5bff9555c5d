package docs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// website serves pages by path, and keeps what was asked for.
type website struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

// newWebsite serves pages; each is HTML unless it begins with a status, or its path ends
// otherwise.
func newWebsite(t *testing.T, pages map[string]string) *website {
	w := &website{}
	busy := false
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked = append(w.asked, r.URL.Path)
		page, ok := pages[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(rw, r)
		case page == "moved":
			http.Redirect(rw, r, "/docs/use/", http.StatusMovedPermanently)
		case page == "down":
			rw.Header().Set("Retry-After", "0")
			rw.WriteHeader(http.StatusInternalServerError)
		case page == "cut":
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set("Content-Length", "1000")
			fmt.Fprint(rw, "<main><h1>Cut")
		case page == "folder":
			http.Redirect(rw, r, r.URL.Path+"/", http.StatusMovedPermanently)
		case page == "away":
			http.Redirect(rw, r, "http://example.com/docs/", http.StatusFound)
		case strings.HasPrefix(page, "busy") && !busy:
			busy = true
			rw.Header().Set("Retry-After", "0")
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			if !strings.HasSuffix(r.URL.Path, ".txt") && !strings.HasSuffix(r.URL.Path, ".xml") {
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			}
			fmt.Fprint(rw, page)
		}
	}))
	t.Cleanup(w.Close)
	return w
}

func crawl(t *testing.T, address string, opts *docs.Options) *docs.Set {
	t.Helper()
	w, err := docs.Crawl(address, opts)
	if err != nil {
		t.Fatal(err)
	}
	set, err := w.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCrawl(t *testing.T) {
	w := newWebsite(t, map[string]string{
		"/robots.txt": "User-agent: *\nDisallow: /docs/private\nSitemap: /docs/map.xml\n",
		"/docs/map.xml": "<urlset><url><loc>/docs/listed.html</loc></url>" +
			"<url><loc>http://example.com/x</loc></url></urlset>",
		"/docs/": `<nav><a href="use/?tab=1#top">Use</a></nav><main><h1>Manual</h1>` +
			`<p>See <a href="use/#how">use</a>.</p></main>`,
		"/docs/use/": `<main><h1>Use</h1><h2 id="how">How</h2><p>` +
			`<a href="../old.html">Old</a> <img src="a.png" alt="A"></p></main>`,
		"/docs/old.html":  "moved",
		"/docs/away.html": "away",
		"/docs/listed.html": `<main><h1>Listed</h1><p>` +
			`<a href="/blog/">Blog</a> <a href="away.html">away</a> <a href="busy.html">busy</a></p></main>`,
		"/docs/busy.html": `busy<main><h1>Busy</h1><p>` +
			`<a href="private/x.html">No</a> <a href="http://example.com/">Other</a></p></main>`,
		"/docs/private/x": `<main><h1>Private</h1></main>`,
		"/blog/":          `<main><h1>Blog</h1></main>`,
	})
	set := crawl(t, w.URL+"/docs/", nil)
	var ids []string
	for _, p := range set.Pages {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if got := strings.Join(ids, " "); got != "busy home listed use" {
		t.Errorf("pages %s", got)
	}
	for _, path := range []string{"/docs/private/x.html", "/blog/"} {
		if slices.Contains(w.asked, path) {
			t.Errorf("%s was fetched", path)
		}
	}
	if home := set.Page("home"); !strings.Contains(home.Body, "[use](docs://use#how)") {
		t.Errorf("home:\n%s", home.Body)
	}
	if use := set.Page("use"); !strings.Contains(use.Body, "/docs/old.html)") ||
		!strings.Contains(use.Body, "![A]("+w.URL+"/docs/use/a.png)") {
		t.Errorf("use:\n%s", use.Body)
	}
	found := ruletest.Findings(&set.Report)
	if len(found) != 1 || !strings.HasSuffix(found[0].File, "/docs/away.html") ||
		found[0].Rule.ID != "docs/page-left-out" {
		t.Errorf("findings %v, want one about the page that leads elsewhere", found)
	}
	site, err := set.Site(t.Context(), &docs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	published := false
	for a, err := range site.Answers {
		if err != nil {
			t.Fatal(err)
		}
		published = published || strings.Contains(string(a.Result), "Published at "+w.URL+"/docs/use/")
	}
	if !published {
		t.Error("no answer names the address of its page")
	}
}

// TestCrawlRobotsElsewhere reads a robots.txt that leads to another host of the private network.
func TestCrawlRobotsElsewhere(t *testing.T) {
	private := newWebsite(t, map[string]string{"/": "User-agent: *"})
	target := strings.Replace(private.URL, "127.0.0.1", "0.0.0.0", 1)
	w := httptest.NewServer(http.RedirectHandler(target, http.StatusFound))
	defer w.Close()
	site, err := docs.Crawl(w.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = site.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "is refused") {
		t.Errorf("error %v", err)
	}
	if len(private.asked) > 0 {
		t.Errorf("the private host was asked for %q", private.asked)
	}
}

// TestCrawlEncoding reads a page in the encoding that the host declares.
func TestCrawlEncoding(t *testing.T) {
	const page = "<main><h1>A \xcf\xf0\xe8\xe2\xe5\xf2</h1></main>"
	for _, c := range []struct{ encoding, title, finding string }{
		{"windows-1251", "A Привет", ""},
		{"klingon", "A", "the page is not UTF-8; its invalid bytes are removed"},
		{"utf-16", "A", "the page is not UTF-8; its invalid bytes are removed"},
	} {
		w := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html; charset="+c.encoding)
			fmt.Fprint(rw, page)
		}))
		defer w.Close()
		set := crawl(t, w.URL+"/docs/", nil)
		if home := set.Page("home"); home == nil || home.Title != c.title {
			t.Errorf("%s: home %+v, want the title %q", c.encoding, home, c.title)
		}
		got := ""
		for _, f := range set.Report.Findings() {
			if f.Rule.ID == "docs/not-utf8" {
				got += f.Message
			}
		}
		if got != c.finding {
			t.Errorf("%s: docs/not-utf8 says %q, want %q", c.encoding, got, c.finding)
		}
	}
}

func TestCrawlLimit(t *testing.T) {
	pages := make(map[string]string)
	for i := range 30 {
		pages[fmt.Sprintf("/p%d", i)] = fmt.Sprintf(`<main><h1>P %d</h1><a href="/p%d">next</a>`+
			`<a href="/p%d">after</a></main>`, i, i+1, i+2)
	}
	w := newWebsite(t, pages)
	set := crawl(t, w.URL+"/p0", &docs.Options{MaxPages: 10})
	found := ruletest.Findings(&set.Report)
	if len(set.Pages) != 10 || len(found) != 1 ||
		!strings.Contains(found[0].Message, "2 more addresses are skipped: the limit is 10 pages") {
		t.Errorf("%d pages, findings %v", len(set.Pages), found)
	}
	small := crawl(t, w.URL+"/p0", &docs.Options{MaxTotalBytes: 200})
	if len(small.Pages) == 0 || len(small.Pages) > 4 {
		t.Errorf("%d pages of at most 200 bytes together", len(small.Pages))
	}
}

// sortedIDs returns the ids of the pages of a set, sorted.
func sortedIDs(set *docs.Set) string {
	var list []string
	for _, p := range set.Pages {
		list = append(list, p.ID)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestCrawlUnavailable guards a published site against a host that fails for some pages: they were deleted
// from the output.
func TestCrawlUnavailable(t *testing.T) {
	pages := map[string]string{
		"/docs/": `<main><h1>Manual</h1><p><a href="down">Down</a> <a href="cut">Cut</a> <a href="use">Use</a> ` +
			`<a href="gone">Gone</a> <a href="list">List</a></p></main>`,
		"/docs/use": `<main><h1>Use</h1><p>Words.</p></main>`, "/docs/down": "down", "/docs/cut": "cut",
		"/docs/sitemap.xml": "down",
	}
	w := newWebsite(t, pages)
	set := crawl(t, w.URL+"/docs/", nil)
	var errors, warnings []string
	for _, f := range ruletest.Findings(&set.Report) {
		name := strings.TrimPrefix(f.File, w.URL+"/docs/")
		switch f.Rule.ID {
		case "docs/page-unavailable":
			errors = append(errors, name)
		case "docs/page-left-out":
			warnings = append(warnings, name)
		}
	}
	slices.Sort(errors)
	if got := strings.Join(errors, " "); got != "cut down sitemap.xml" || set.Report.Count(check.Error) != 3 {
		t.Errorf("errors about %q, want cut, down and sitemap.xml", got)
	}
	if got := strings.Join(warnings, " "); got != "gone list" {
		t.Errorf("warnings about %q, want gone and list", got)
	}
	if got := sortedIDs(set); got != "home use" {
		t.Errorf("pages %s", got)
	}
}

// TestCrawlNames guards pages whose last segment has a dot: the type of the contents decides.
func TestCrawlNames(t *testing.T) {
	const page = `<main><h1>%s</h1><p>Words.</p></main>`
	pages := map[string]string{"/docs/map.txt": "no page", "/docs/_sources/use.rst.txt": "no page"}
	links := `<a href="map.txt">m</a> <a href="_sources/use.rst.txt">s</a> <a href="a.png">p</a> <a href="a.ZIP">z</a>`
	for _, name := range []string{"next.js", "os.path", "asp.net", "v1.2", "config.json"} {
		pages["/docs/fw/"+name] = fmt.Sprintf(page, name)
		links += ` <a href="fw/` + name + `">` + name + `</a>`
	}
	pages["/docs/"] = "<main><h1>Manual</h1><p>" + links + "</p></main>"
	w := newWebsite(t, pages)
	set := crawl(t, w.URL+"/docs/", &docs.Options{MaxPages: 6})
	if got := sortedIDs(set); got != "fw/asp.net fw/config.json fw/next.js fw/os.path fw/v1.2 home" {
		t.Errorf("pages %s", got)
	}
	if found := ruletest.Findings(&set.Report); len(found) > 0 {
		t.Errorf("findings %v", found)
	}
	for _, name := range []string{"a.png", "a.ZIP", "_sources/use.rst.txt"} {
		if slices.Contains(w.asked, "/docs/"+name) {
			t.Errorf("%s was fetched", name)
		}
	}
	if home := set.Page("home"); !strings.Contains(home.Body, "[next.js](docs://fw/next.js)") {
		t.Errorf("home:\n%s", home.Body)
	}
}

// TestCrawlFolder guards the folder of a crawl whose start is redirected: /docs to /docs/ fetched the whole host.
func TestCrawlFolder(t *testing.T) {
	page := func(links ...string) string {
		text := "<main><h1>Page</h1><p>Words.</p>"
		for _, link := range links {
			text += `<a href="` + link + `">` + link + `</a>`
		}
		return text + "</main>"
	}
	pages := map[string]string{
		"/docs":       "folder",
		"/docs/":      page("/docs/a", "/other"),
		"/docs/a":     page(),
		"/docs/to":    "moved",
		"/docs/use/":  page("/docs/a", "/docs/use/b"),
		"/docs/use/b": page(),
		"/old/":       "moved",
		"/moved/":     "moved",
		"/other":      page(),
	}
	for start, want := range map[string]string{
		"/docs":      "a home",
		"/docs/":     "a home",
		"/docs/a":    "a",
		"/docs/to":   "b home",
		"/old/":      "b home",
		"/docs/use/": "b home",
	} {
		w := newWebsite(t, pages)
		if got := sortedIDs(crawl(t, w.URL+start, nil)); got != want {
			t.Errorf("%s: pages %s, want %s", start, got, want)
		}
	}
}

// TestCrawlBase reads pages whose links are relative to the address in their base element.
func TestCrawlBase(t *testing.T) {
	w := newWebsite(t, map[string]string{
		"/docs/": `<base href="/docs/en/"><main><h1>Manual</h1><p><a href="use">Use</a> ` +
			`<img src="a.png" alt="A"></p></main>`,
		"/docs/en/use": `<main><h1>Use</h1><p>Words.</p></main>`,
	})
	set := crawl(t, w.URL+"/docs/", nil)
	if got := sortedIDs(set); got != "en/use home" || slices.Contains(w.asked, "/docs/use") {
		t.Errorf("pages %s, fetched %s", got, w.asked)
	}
	home := set.Page("home").Body
	if !strings.Contains(home, w.URL+"/docs/en/a.png") || !strings.Contains(home, "docs://en/use") {
		t.Errorf("home:\n%s", home)
	}
	if found := ruletest.Findings(&set.Report); len(found) > 0 {
		t.Errorf("findings %v", found)
	}
}

// TestCrawlOtherBase reads pages whose links are relative to another host: they lead to no page of this one.
func TestCrawlOtherBase(t *testing.T) {
	pages := map[string]string{"/use": `<main><h1>Use</h1><p>Words.</p></main>`}
	w := newWebsite(t, pages)
	for page, base := range map[string]string{"/": "https://example.com/", "/a": "https://example.com/b/"} {
		pages[page] = `<base href="` + base + `"><main><h1>Manual</h1><p><a href="/use">Use</a>, ` +
			`<a href="` + w.URL + `/use">ours</a> and <a href="` + w.URL + `/a">another</a>.</p></main>`
	}
	set := crawl(t, w.URL, nil)
	if got := sortedIDs(set); got != "a home use" {
		t.Errorf("pages %s", got)
	}
	for _, id := range []string{"home", "a"} {
		if body := set.Page(id).Body; !strings.Contains(body, "[Use](https://example.com/use), [ours](") {
			t.Errorf("%s:\n%s", id, body)
		}
	}
}

func TestCrawlRefuses(t *testing.T) {
	for _, address := range []string{"docs", "ftp://example.com/", "https://user:secret@example.com/", "https://"} {
		if _, err := docs.Crawl(address, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	page := `<main><h1>Manual</h1></main>`
	for want, pages := range map[string]map[string]string{
		"robots.txt excludes":     {"/robots.txt": "User-agent: slipway\nDisallow: /\n", "/": page},
		"status 404":              {"/robots.txt": ""},
		"no page has text":        {"/": `<main id="app"></main><script src="app.js"></script>`},
		"redirects to an address": {"/": "away"},
	} {
		t.Run(want, func(t *testing.T) {
			w, err := docs.Crawl(newWebsite(t, pages).URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
		})
	}
}

// TestCrawlCountsSitemaps guards that the sitemaps of a website are a part of the bytes that a crawl fetches.
func TestCrawlCountsSitemaps(t *testing.T) {
	const entry = "<url><loc>/docs/%d/</loc></url>"
	var maps, pages strings.Builder
	for i := range 40 {
		fmt.Fprintf(&maps, "<sitemap><loc>/docs/%d.xml</loc></sitemap>", i)
		fmt.Fprintf(&pages, entry, i)
	}
	served := map[string]string{
		"/docs/":            "<title>Home</title><p>Home.</p>",
		"/docs/sitemap.xml": "<sitemapindex>" + maps.String() + "</sitemapindex>",
	}
	for i := range 40 {
		served[fmt.Sprintf("/docs/%d.xml", i)] = "<urlset>" + pages.String() + "</urlset>"
	}
	w := newWebsite(t, served)
	site, err := docs.Crawl(w.URL+"/docs/", &docs.Options{MaxTotalBytes: 8000})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = site.Read(t.Context()) // the page does not fit
	fetched := 0
	for _, path := range w.asked {
		if strings.HasSuffix(path, ".xml") {
			fetched++
		}
	}
	if fetched > 8 {
		t.Errorf("%d sitemaps of 1 kB were fetched with a limit of 8,000 bytes", fetched)
	}
}
