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

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

// Website is a published documentation as an input of a site.
type Website struct {
	// start is the first page.
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
	// maxFound bounds the addresses that are remembered, in bytes, each with addressBytes of its own.
	maxFound     = 64 << 20
	addressBytes = 200
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
//
// The folder is that of the address, so https://example.com/docs/ has the pages below /docs/. If an
// address without a slash at its end is redirected, as /docs is to /docs/, or an address to one outside
// of its folder, the folder is that of the address that answers.
//
// A page or sitemap that its host fails to deliver, as opposed to one that does not exist, is an error:
// a site without it is only written with [sitewriter.Options.Lenient].
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
		start: w.start,
		opts:  opts,
		left:  opts.MaxTotalBytes,
		seen:  make(map[string]bool),
		turn:  make(chan struct{}, 1),
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
	first, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	c.readSitemaps(ctx)
	fetched := c.run(ctx, first)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.assemble(ctx, fetched)
}

// begin fetches the first page, which determines the folder of the crawl.
func (c *crawler) begin(ctx context.Context) (*crawled, error) {
	first := &crawled{address: c.start}
	err := barrier.Run("fetch "+c.start.String(), func() error { return c.fetch(ctx, first) })
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", c.start.String(), err)
	}
	typed, final := c.start.Path, first.address.Path
	c.start = first.address
	c.folder = final[:strings.LastIndexByte(final, '/')+1]
	for _, folder := range []string{typed, typed + "/"} {
		if strings.HasSuffix(folder, "/") && strings.HasPrefix(final, folder) {
			c.folder = folder
			break
		}
	}
	c.seen[first.address.String()] = true
	return first, nil
}

// crawler fetches the pages of a website.
type crawler struct {
	// start is the address of the first page after redirects, and folder the path below which all
	// pages are, or "" before it was fetched.
	start  *url.URL
	folder string
	opts   *Options
	client *http.Client
	robots *robotstxt.Group
	maps   []string      // the addresses of sitemaps in robots.txt
	turn   chan struct{} // taken while a page is fetched, if robots.txt asks for a delay

	// seen are the addresses that were found, foundBytes their size, and queue those that are not
	// fetched yet. more means that some were not remembered.
	seen       map[string]bool
	foundBytes int
	queue      []*url.URL
	more       bool
	// missing are the sitemaps that were not delivered.
	missing []check.Finding
	left    int64 // bytes that may still be fetched
	mu      sync.Mutex
}

// crawled is an address that was fetched.
type crawled struct {
	// address is where it was found after redirects.
	// base is what its links are relative to.
	address  *url.URL
	base     *url.URL
	text     string
	complete bool  // no character of the text is lost
	err      error // nil with an empty text for what is not a page
}

// within reports whether the crawl may fetch an address.
func (c *crawler) within(u *url.URL) bool {
	return u.Scheme == c.start.Scheme && strings.EqualFold(u.Host, c.start.Host) && u.User == nil &&
		strings.HasPrefix(path.Clean("/"+u.Path)+"/", c.folder) && c.robots.Test(u.EscapedPath())
}

// redirectError is the reason why a redirect is not followed.
type redirectError string

func (e redirectError) Error() string { return string(e) }

// redirect follows a redirect within the website.
func (c *crawler) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 3:
		return redirectError("it redirects more than three times")
	case !c.within(req.URL):
		return redirectError("it redirects to an address elsewhere, or one that robots.txt excludes")
	}
	return nil
}

// readRobots reads robots.txt. Without one, everything is permitted; if the host fails to
// answer, nothing is.
func (c *crawler) readRobots(ctx context.Context, transport http.RoundTripper) error {
	u := *c.start
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
	if !c.robots.Test(c.start.EscapedPath()) {
		return fmt.Errorf("%s excludes %s (status %d)", u.String(), c.start.String(), resp.StatusCode)
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
	return resp, undelivered(err)
}

// unavailableError is the error for what a host has not delivered, but may deliver later.
type unavailableError struct{ err error }

func (e *unavailableError) Error() string { return e.err.Error() }

func (e *unavailableError) Unwrap() error { return e.err }

// undelivered returns the error of a request without its address. Unless it is a redirect that is not
// followed, the host is unavailable.
func undelivered(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if err == nil || errors.As(err, new(redirectError)) {
		return err
	}
	return &unavailableError{err}
}

// statusError returns the error for the status of a response, or nil for 200.
func statusError(status int) error {
	if status == http.StatusOK {
		return nil
	}
	err := fmt.Errorf("the host answers with status %d", status)
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return &unavailableError{err}
	}
	return err
}

// skipped returns the finding for a page that could not be fetched.
func skipped(file string, line int, what string, err error) check.Finding {
	if errors.As(err, new(*unavailableError)) {
		return finding(rulePageUnavailable, file, line, "run it again, or add --lenient to build the site without",
			"%s is missing: %s", what, err.Error())
	}
	return finding(rulePageLeftOut, file, line, "", "%s is skipped: %s", what, err.Error())
}

// add queues an address, unless it is known or elsewhere.
func (c *crawler) add(u *url.URL) {
	bare := *u
	bare.RawQuery = ""
	bare.Fragment = ""
	bare.RawFragment = ""
	if !c.within(&bare) || !mayBePage(strings.TrimPrefix(bare.Path, c.folder)) {
		return
	}
	address := bare.String()
	if c.seen[address] {
		return
	}
	size := len(address) + addressBytes
	if c.foundBytes+size > maxFound {
		c.more = true
		return
	}
	c.foundBytes += size
	c.seen[address] = true
	c.queue = append(c.queue, &bare)
}

// binaries are the extensions of files that are never pages. Others may be those of pages, such as
// "next.js" and "os.path": the type of their contents decides.
var binaries = extensions("7z apk avif bin bmp bz2 deb dmg doc docx eot epub exe flac gif gz ico iso jar jpeg jpg " +
	"m4a mov mp3 mp4 msi odp ods odt ogg otf pdf pkg png ppt pptx rar rpm svg tar tgz tif tiff ttf war wasm wav webm " +
	"webp whl woff woff2 xls xlsx xz zip zst")

// extensions returns a set of extensions with their dots.
func extensions(list string) map[string]bool {
	set := make(map[string]bool)
	for ext := range strings.FieldsSeq(list) {
		set["."+ext] = true
	}
	return set
}

// mayBePage reports whether a path below the folder of the crawl can be that of a page.
func mayBePage(name string) bool {
	return !repeats(name) && !binaries[strings.ToLower(path.Ext(name))]
}

// sitemap is a sitemap, or an index of sitemaps.
type sitemap struct {
	Pages []string `xml:"url>loc"`
	Maps  []string `xml:"sitemap>loc"`
}

// readSitemaps queues the pages of the sitemaps that robots.txt names, and of the one in the
// folder. A sitemap that is not one lists nothing: links lead to the pages as well.
func (c *crawler) readSitemaps(ctx context.Context) {
	const most = 50
	waiting := append(c.maps, "sitemap.xml")
	for read := 0; len(waiting) > 0 && read < most && c.left > 0 && ctx.Err() == nil; read++ {
		u, err := c.start.Parse(strings.TrimSpace(waiting[0]))
		waiting = waiting[1:]
		if err != nil || u.Host != c.start.Host || u.Scheme != c.start.Scheme {
			continue
		}
		found := c.readSitemap(ctx, u)
		waiting = append(waiting, found.Maps[:min(len(found.Maps), max(0, most-len(waiting)))]...)
		for _, page := range found.Pages {
			if u, err := c.start.Parse(strings.TrimSpace(page)); err == nil {
				c.add(u)
			}
		}
	}
}

// readSitemap reads one sitemap.
func (c *crawler) readSitemap(ctx context.Context, u *url.URL) (found sitemap) {
	resp, err := c.get(ctx, c.client, u)
	if err == nil {
		defer resp.Body.Close()
		err = statusError(resp.StatusCode)
	}
	if err == nil {
		body := &io.LimitedReader{R: resp.Body, N: min(maxSitemap, c.left)}
		limit := body.N
		text, readErr := io.ReadAll(body)
		_ = xml.Unmarshal(text, &found) // what was read until an error counts
		c.left -= limit - body.N
		err = undelivered(readErr)
	}
	if errors.As(err, new(*unavailableError)) {
		c.missing = append(c.missing, skipped(u.String(), 0, "the sitemap", err))
	}
	return found
}

// run fetches the queue, and what the pages link to, until nothing or no page is left. The result
// begins with first, and is in the order in which the addresses were found.
func (c *crawler) run(ctx context.Context, first *crawled) []*crawled {
	done := []*crawled{first}
	c.addLinks(first)
	places := c.opts.MaxPages - 1
	requests := 3 * c.opts.MaxPages // also for what turns out to be no page
	for ctx.Err() == nil {
		n := min(len(c.queue), places, requests)
		if n <= 0 {
			break
		}
		batch := c.queue[:n:n]
		c.queue = c.queue[n:]
		requests -= n
		for _, r := range c.fetchAll(ctx, batch) {
			if r == nil {
				continue
			}
			done = append(done, r)
			if r.text != "" || r.err != nil {
				places--
			}
			c.addLinks(r)
		}
	}
	return done
}

// fetchAll fetches addresses, several at a time. The result has nil for those that were not fetched
// because ctx is done.
func (c *crawler) fetchAll(ctx context.Context, batch []*url.URL) []*crawled {
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
	return results
}

// addLinks queues what a page links to.
func (c *crawler) addLinks(page *crawled) {
	links, base := webpage.Links([]byte(page.text))
	page.base = page.address
	u, err := page.address.Parse(base)
	if err == nil && (u.Host != page.address.Host || u.Path != page.address.Path) {
		page.base = u
	}
	for _, link := range links {
		if u, err := page.base.Parse(link); err == nil {
			c.add(u)
		}
	}
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
	if err := statusError(resp.StatusCode); err != nil {
		return err
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
		return fmt.Errorf("more than %d bytes", c.opts.MaxFileBytes)
	}
	if err != nil {
		return undelivered(err)
	}
	c.mu.Lock()
	c.left -= int64(len(data))
	tooMany := c.left < 0
	c.mu.Unlock()
	if tooMany {
		return fmt.Errorf("all pages and sitemaps together have more than %d bytes", c.opts.MaxTotalBytes)
	}
	page.text, page.complete = webpage.Decode(data, resp.Header.Get("Content-Type"))
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
	return relative(c.folder, whole)
}

// retryAfter returns how long to wait before a request that failed for now is repeated.
func retryAfter(resp *http.Response) (wait time.Duration, busy bool) {
	if !errors.As(statusError(resp.StatusCode), new(*unavailableError)) {
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
	r.set.place = c.start.Hostname()
	r.config = &config{system: renderedSystem}
	r.set.Report.Add(c.missing...)
	var pages []*Page
	known := make(map[string]bool)
	for _, page := range fetched {
		address := page.address.String()
		if page.err != nil {
			r.set.Report.Add(skipped(address, 0, "the page", page.err))
			continue
		}
		file := c.fileOf(page.address)
		if page.text == "" || known[file] {
			continue
		}
		known[file] = true
		p, found := r.newDecodedPage(file, page.text, page.complete)
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
		p.front.fetched = page.base
		if page.base != page.address {
			p.front.fetchedAt = page.address
		}
		pages = append(pages, p)
	}
	if beyond := len(c.queue); beyond > 0 {
		count := strconv.Itoa(beyond)
		if c.more {
			count = "more than " + count
		}
		r.set.Report.Add(finding(rulePageLeftOut, c.start.String(), 0, "--max-pages permits more",
			"%s more addresses are skipped: the limit is %d pages", count, c.opts.MaxPages))
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s: no page has text; pages that a script writes cannot be read", c.start.String())
	}
	return r.finish(ctx, pages)
}
