package docs

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

// Website is a published documentation as an input of a site.
type Website struct {
	// start is the first page; the crawl stays on its origin and below its folder.
	start *url.URL
	opts  Options
}

var _ sitewriter.Input = (*Website)(nil)

const (
	crawlPages = 1_000
	crawlBytes = 256 << 20
	crawlSlots = 4
	// maxRobots and maxSitemap bound the files about a website, in bytes.
	maxRobots  = 512 << 10
	maxSitemap = 16 << 20
	// maxDelay bounds how long a robots.txt, or a host that is busy, can make the crawl wait
	// between pages.
	maxDelay = 10 * time.Second
)

// Crawl returns the documentation published at an http or https address, which is a page or
// ends in a slash. The pages are those that links and sitemaps lead to, on the same origin
// and in the same folder or below, as far as robots.txt permits them for slipway: at most
// [Options.MaxPages], 1,000 by default, of together at most [Options.MaxTotalBytes], 256 MiB
// by default, of which the sitemaps, at most 50, are a part. Queries are ignored. Pages are
// fetched four at a time, or one by one with the delay that robots.txt asks for. Scripts of pages
// are not run.
func Crawl(address string, opts *Options) (*Website, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("a crawl begins at an http or https URL, and %.200q is none", address)
	case u.User != nil:
		return nil, errors.New("the URL has a password in it, and what is fetched is published")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = ""
	u.Fragment = ""
	w := &Website{start: u}
	if opts != nil {
		w.opts = *opts
	}
	return w, nil
}

// Paths implements [sitewriter.Input]. Changes of a web host cannot be watched.
func (w *Website) Paths() []string { return nil }

// Site implements [sitewriter.Input].
func (w *Website) Site(ctx context.Context) (*sitewriter.Site, error) {
	set, err := w.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Site(ctx, &w.opts)
}

// Read fetches and reads the pages.
func (w *Website) Read(ctx context.Context) (*Set, error) {
	opts := w.opts.withDefaults(crawlPages, crawlBytes)
	c := &crawler{
		site: w,
		opts: opts,
		left: opts.MaxTotalBytes,
		seen: make(map[string]bool),
		turn: make(chan struct{}, 1),
	}
	// Only robots.txt may lead to another host, which must be public.
	guard := netguard.Guard{
		Host:     w.start.Hostname(),
		Loopback: netguard.NamesLoopback(w.start.String()),
	}
	transport := guard.Transport(&http.Transport{
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: crawlSlots,
		IdleConnTimeout:     fetchTime,
	})
	c.client = &http.Client{
		Transport:     transport,
		Timeout:       fetchTime,
		CheckRedirect: c.redirect,
	}
	defer c.client.CloseIdleConnections()
	if err := c.readRobots(ctx, transport); err != nil {
		return nil, err
	}
	c.add(w.start)
	c.readSitemaps(ctx)
	fetched := c.run(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.assemble(ctx, fetched)
}

// crawler fetches the pages of a website.
type crawler struct {
	site   *Website
	opts   *Options
	client *http.Client
	robots *robotstxt.Group
	maps   []string      // the addresses of sitemaps in robots.txt
	turn   chan struct{} // taken while a page is fetched, if robots.txt asks for a delay

	// seen are the addresses that were found, and queue those that are not fetched yet.
	seen   map[string]bool
	queue  []*url.URL
	beyond int   // pages beyond the limit
	left   int64 // bytes that may still be fetched
	mu     sync.Mutex
}

// crawled is an address that was fetched.
type crawled struct {
	// address is where it was found after redirects, and file its path among the pages.
	address  *url.URL
	file     string
	text     string
	complete bool  // no character of the text is lost
	err      error // nil with an empty text for what is not a page
}

// within reports whether the crawl may fetch an address.
func (c *crawler) within(u *url.URL) bool {
	start := c.site.start
	folder := start.Path[:strings.LastIndexByte(start.Path, '/')+1]
	return u.Scheme == start.Scheme && strings.EqualFold(u.Host, start.Host) && u.User == nil &&
		strings.HasPrefix(path.Clean("/"+u.Path)+"/", folder) && c.robots.Test(u.EscapedPath())
}

// redirect follows a redirect within the website.
func (c *crawler) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 3:
		return errors.New("it redirects more than three times")
	case !c.within(req.URL):
		return errors.New("it redirects to an address elsewhere, or one that robots.txt excludes")
	}
	return nil
}

// readRobots reads robots.txt. Without one, everything is permitted; if the host fails to
// answer, nothing is.
func (c *crawler) readRobots(ctx context.Context, transport http.RoundTripper) error {
	u := *c.site.start
	u.Path = "/robots.txt"
	u.RawPath = ""
	client := &http.Client{
		Transport: transport,
		Timeout:   fetchTime,
	}
	resp, err := c.get(ctx, client, &u)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", u.String(), err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRobots))
	if err != nil {
		return fmt.Errorf("fetch %s: %w", u.String(), err)
	}
	robots, err := robotstxt.FromStatusAndBytes(resp.StatusCode, text)
	if err != nil {
		return fmt.Errorf("%s cannot be read, so nothing is fetched: %w", u.String(), err)
	}
	c.robots = robots.FindGroup("slipway")
	c.maps = robots.Sitemaps
	if !c.robots.Test(c.site.start.EscapedPath()) {
		return fmt.Errorf("%s excludes %s (status %d)", u.String(), c.site.start.String(), resp.StatusCode)
	}
	return nil
}

// get sends a request.
func (c *crawler) get(ctx context.Context, client *http.Client, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/html, application/xhtml+xml;q=0.9, */*;q=0.1")
	req.Header.Set("User-Agent", "slipway")
	resp, err := client.Do(req)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return resp, err
}

// add queues an address, unless it is known, elsewhere, or beyond the limit of pages.
func (c *crawler) add(u *url.URL) {
	bare := *u
	bare.RawQuery = ""
	bare.Fragment = ""
	bare.RawFragment = ""
	if !c.within(&bare) || !mayBePage(bare.Path) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[bare.String()] {
		return
	}
	if len(c.seen) == c.opts.MaxPages {
		c.beyond++
		return
	}
	c.seen[bare.String()] = true
	c.queue = append(c.queue, &bare)
}

// mayBePage reports whether an address can be that of a page, by its extension.
func mayBePage(address string) bool {
	name := path.Base(address)
	if repeats(name) {
		return false
	}
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case "", ".html", ".htm", ".php", ".aspx", ".jsp":
		return true
	default:
		// A version, as in /v1.2/, or a name of a module, as in os.path.
		return len(ext) > 5 || strings.Trim(ext, ".0123456789") == ""
	}
}

// sitemap is a sitemap, or an index of sitemaps.
type sitemap struct {
	Pages []string `xml:"url>loc"`
	Maps  []string `xml:"sitemap>loc"`
}

// readSitemaps queues the pages of the sitemaps that robots.txt names, and of the one in the
// folder. A sitemap that cannot be read lists nothing: links lead to the pages as well.
func (c *crawler) readSitemaps(ctx context.Context) {
	const most = 50
	waiting := append(c.maps, "sitemap.xml")
	for read := 0; len(waiting) > 0 && read < most && c.left > 0 && ctx.Err() == nil; read++ {
		u, err := c.site.start.Parse(strings.TrimSpace(waiting[0]))
		waiting = waiting[1:]
		if err != nil || u.Host != c.site.start.Host || u.Scheme != c.site.start.Scheme {
			continue
		}
		found := c.readSitemap(ctx, u)
		waiting = append(waiting, found.Maps[:min(len(found.Maps), max(0, most-len(waiting)))]...)
		for _, page := range found.Pages {
			if u, err := c.site.start.Parse(strings.TrimSpace(page)); err == nil {
				c.add(u)
			}
		}
	}
}

// readSitemap reads one sitemap.
func (c *crawler) readSitemap(ctx context.Context, u *url.URL) (found sitemap) {
	resp, err := c.get(ctx, c.client, u)
	if err != nil {
		return found
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		body := &io.LimitedReader{R: resp.Body, N: min(maxSitemap, c.left)}
		limit := body.N
		_ = xml.NewDecoder(body).Decode(&found) // what was read until an error counts
		c.left -= limit - body.N
	}
	return found
}

// run fetches the queue, and what the pages link to, until nothing is left. The result is in
// the order in which the addresses were found.
func (c *crawler) run(ctx context.Context) []*crawled {
	var done []*crawled
	for ctx.Err() == nil {
		c.mu.Lock()
		batch := c.queue
		c.queue = nil
		c.mu.Unlock()
		if len(batch) == 0 {
			break
		}
		results := make([]*crawled, len(batch))
		var work sync.WaitGroup
		for slot := range min(crawlSlots, len(batch)) {
			work.Go(func() {
				for i := slot; i < len(batch) && ctx.Err() == nil; i += crawlSlots {
					results[i] = &crawled{address: batch[i]}
					results[i].err = barrier.Run("fetch "+batch[i].String(), func() error {
						return c.fetch(ctx, results[i])
					})
				}
			})
		}
		work.Wait()
		for _, r := range results {
			if r == nil {
				continue
			}
			done = append(done, r)
			for _, link := range webpage.Links([]byte(r.text)) {
				if u, err := r.address.Parse(link); err == nil {
					c.add(u)
				}
			}
		}
	}
	return done
}

// fetch fetches one page, and tries again if the host asks to wait.
func (c *crawler) fetch(ctx context.Context, page *crawled) error {
	if delay := min(c.robots.CrawlDelay, maxDelay); delay > 0 {
		c.turn <- struct{}{}
		defer func() { <-c.turn }()
		defer sleep(ctx, delay)
	}
	for again := true; ; again = false {
		resp, err := c.get(ctx, c.client, page.address)
		if err != nil {
			return err
		}
		if wait, busy := retryAfter(resp); busy && again {
			resp.Body.Close()
			sleep(ctx, wait)
			continue
		}
		err = c.take(resp, page)
		resp.Body.Close()
		return err
	}
}

// take reads the page in a response.
func (c *crawler) take(resp *http.Response, page *crawled) error {
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the host answers with status %d", resp.StatusCode)
	}
	if !mediatype.IsHTML(resp.Header.Get("Content-Type")) {
		return nil
	}
	final := *resp.Request.URL
	final.RawQuery = ""
	final.Fragment = ""
	page.address = &final
	data, err := fsutil.ReadLimited(resp.Body, c.opts.MaxFileBytes)
	if errors.As(err, new(*fsutil.TooLargeError)) {
		err = fmt.Errorf("more than %d bytes", c.opts.MaxFileBytes)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.left -= int64(len(data))
	tooMany := c.left < 0
	c.mu.Unlock()
	if tooMany {
		return fmt.Errorf("all pages and sitemaps together have more than %d bytes", c.opts.MaxTotalBytes)
	}
	page.text, page.complete = webpage.Decode(data, resp.Header.Get("Content-Type"))
	page.file = c.fileOf(&final)
	return nil
}

// fileOf returns the path among the pages of an address.
func (c *crawler) fileOf(u *url.URL) string {
	whole := path.Clean("/" + u.Path)
	if strings.HasSuffix(u.Path, "/") {
		whole = path.Join(whole, "index.html")
	}
	if !isRendered(whole) {
		whole += ".html"
	}
	return relative(c.site.start.Path, whole)
}

// retryAfter returns how long a host that is busy asks to wait.
func retryAfter(resp *http.Response) (wait time.Duration, busy bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > int(maxDelay/time.Second) {
		return maxDelay / 10, true
	}
	return time.Duration(seconds) * time.Second, true
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// assemble builds the set from the fetched pages.
func (c *crawler) assemble(ctx context.Context, fetched []*crawled) (*Set, error) {
	r := newReader(nil, "", c.opts)
	r.system = renderedSystem
	r.set.System = renderedSystem
	r.set.place = c.site.start.Hostname()
	r.config = &config{system: renderedSystem}
	var pages []*Page
	known := make(map[string]bool)
	for _, page := range fetched {
		address := page.address.String()
		if page.err != nil {
			if address == c.site.start.String() {
				return nil, fmt.Errorf("fetch %s: %w", address, page.err)
			}
			r.set.Report.Add(finding(rulePageLeftOut, address, 0, "", "the page is skipped: %s", page.err.Error()))
			continue
		}
		if page.text == "" || known[page.file] {
			continue
		}
		known[page.file] = true
		p, found := r.newDecodedPage(page.file, page.text, page.complete)
		for i := range found {
			found[i].File = address
		}
		r.set.Report.Add(found...)
		if p == nil {
			continue
		}
		if p.front.address == "" {
			p.front.address = address
		}
		p.front.fetched = page.address
		pages = append(pages, p)
	}
	if c.beyond > 0 {
		r.set.Report.Add(finding(rulePageLeftOut, c.site.start.String(), 0, "--max-pages permits more",
			"%d more pages are skipped: the limit is %d", c.beyond, c.opts.MaxPages))
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s: no page has text; pages that a script writes cannot be read", c.site.start.String())
	}
	return r.finish(ctx, pages)
}
