package docs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
)

// List is an llms.txt with the pages that it lists, as an input of a site.
type List struct {
	// arg is the llms.txt as the user named it, and base the URL that its links are
	// relative to.
	arg  string
	base *url.URL // or nil for a file
	opts Options
}

var _ sitewriter.Input = (*List)(nil)

// LLMS returns the documents listed in an llms.txt: a file, whose links are files in its
// folder or below, or an http or https URL, whose links are followed within its origin.
// At most [Options.MaxPages] are fetched, four at a time, with a limit of 20 seconds
// each; a page that is not text is skipped with a finding. One that its host fails to deliver is an
// error: a site without it is only written with [sitewriter.Options.Lenient].
func LLMS(arg string, opts *Options) (*List, error) {
	l := &List{arg: arg}
	if opts != nil {
		l.opts = *opts
	}
	if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
		base, err := url.Parse(arg)
		if err != nil || base.Host == "" {
			return nil, errors.New("not a URL with a host")
		}
		if base.User != nil {
			return nil, errors.New("the URL has a password in it, and what is fetched is published")
		}
		l.base = base
		return l, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", arg)
	}
	return l, nil
}

// Paths implements [sitewriter.Input]. Changes of a web host cannot be watched.
func (l *List) Paths() []string {
	if l.base != nil {
		return nil
	}
	return []string{filepath.Dir(l.arg)}
}

// Site implements [sitewriter.Input].
func (l *List) Site(ctx context.Context) (*sitewriter.Site, error) {
	set, err := l.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Site(ctx, &l.opts)
}

// listed is a page listed in an llms.txt.
type listed struct {
	// group, title, notes and address are those of one line of the list.
	group, title, notes, address string
	line                         int
	file                         string // its path among the documents
	// text is the document, or err why it could not be fetched.
	text string
	err  error
}

var (
	llmsLink = lazyregexp.New(`^\s*[-*+]\s+\[([^\]]+)\]\(\s*<?([^()\s<>]+)>?\s*\)\s*(?::\s*(.*))?$`)
	llmsHead = lazyregexp.New(`^(#{1,2})\s+(.+?)\s*#*\s*$`)
)

// parseLLMS reads the title, the description and the links of an llms.txt.
func parseLLMS(text string) (title, description string, pages []*listed) {
	group := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		if m := llmsHead().FindStringSubmatch(line); m != nil {
			if m[1] == "#" && title == "" {
				title = m[2]
			} else {
				group = m[2]
			}
			continue
		}
		quote, ok := strings.CutPrefix(line, "> ")
		if ok && description == "" {
			description = strings.TrimSpace(quote)
		}
		// The file with all pages would repeat the others.
		if m := llmsLink().FindStringSubmatch(line); m != nil && !isOwnList(path.Base(m[2])) {
			pages = append(pages, &listed{
				group:   group,
				title:   m[1],
				address: m[2],
				notes:   m[3],
				line:    n,
			})
		}
	}
	return title, description, pages
}

// Read reads the list and the pages that it lists.
func (l *List) Read(ctx context.Context) (*Set, error) {
	opts := l.opts.withDefaults(llmsPages, llmsBytes)
	f := &fetcher{
		list:   l,
		opts:   opts,
		left:   opts.MaxTotalBytes,
		client: l.client(),
	}
	if l.base == nil {
		root, err := os.OpenRoot(filepath.Dir(l.arg))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		f.root = root
	}
	text, err := f.first(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.arg, err)
	}
	title, description, pages := parseLLMS(text)
	r := newReader(nil, "", opts)
	r.system = "llms.txt"
	r.set.System = "llms.txt"
	r.config = &config{
		system:      "llms.txt",
		title:       title,
		description: description,
		file:        l.arg,
	}
	pages = f.choose(r, pages)
	if len(pages) == 0 {
		// All the documents are in the file itself.
		pages = []*listed{{
			title: title,
			file:  "index.md",
			text:  text,
		}}
	} else {
		f.fetch(ctx, pages)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.set.place = folderName(filepath.Dir(l.arg)); l.base != nil {
		r.set.place = l.base.Hostname()
	}
	return r.assemble(ctx, pages)
}

// assemble builds the set from the fetched pages.
func (r *reader) assemble(ctx context.Context, listed []*listed) (*Set, error) {
	var pages []*Page
	groups := make(map[string]int)
	for _, l := range listed {
		if l.err != nil {
			r.set.Report.Add(skipped(r.config.file, l.line, l.address, l.err))
			continue
		}
		p, found := r.newPage(ctx, l.file, l.text)
		for i := range found {
			found[i].File = l.address
		}
		r.set.Report.Add(found...)
		if p == nil {
			continue
		}
		if l.title != "" {
			p.Title = l.title
		}
		p.Description = cmp.Or(l.notes, p.Description)
		pages = append(pages, p)
		entry := navEntry{
			title: p.Title,
			ref:   p.File,
			line:  l.line,
		}
		if l.group == "" {
			r.config.nav = append(r.config.nav, entry)
			continue
		}
		at, ok := groups[l.group]
		if !ok {
			at = len(r.config.nav)
			groups[l.group] = at
			r.config.nav = append(r.config.nav, navEntry{title: l.group})
		}
		r.config.nav[at].items = append(r.config.nav[at].items, entry)
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s: none of the pages could be read", r.config.file)
	}
	return r.finish(ctx, pages)
}

// fetcher reads the texts that an llms.txt lists.
type fetcher struct {
	// list has the links, and root or client read what they lead to.
	list   *List
	opts   *Options
	root   *os.Root
	client *http.Client

	mu sync.Mutex
	// left is how many bytes may still be fetched in total.
	left int64
}

const (
	fetchTime  = 20 * time.Second
	fetchSlots = 4
)

// client returns an HTTP client that stays on the origin of the list.
func (l *List) client() *http.Client {
	return &http.Client{
		Timeout: fetchTime,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 3 || !l.within(req.URL) {
				return redirectError("it redirects to an address elsewhere")
			}
			return nil
		},
	}
}

// within reports whether an address has the origin of the list.
func (l *List) within(u *url.URL) bool {
	return l.base != nil && u.Scheme == l.base.Scheme &&
		strings.EqualFold(u.Host, l.base.Host) && u.User == nil
}

// first returns the list itself.
func (f *fetcher) first(ctx context.Context) (string, error) {
	if f.list.base != nil {
		return f.get(ctx, f.list.base)
	}
	return f.open(filepath.Base(f.list.arg))
}

// choose returns the pages that may be fetched, each once, and gives each a unique path.
func (f *fetcher) choose(r *reader, pages []*listed) []*listed {
	var kept []*listed
	seen := make(map[string]bool)
	leave := func(p *listed, why string) {
		r.set.Report.Add(finding(rulePageLeftOut.As(check.Note), r.config.file, p.line, "", "%s is skipped: %s",
			p.address, why))
	}
	for _, p := range pages {
		u, err := url.Parse(p.address)
		if err != nil {
			leave(p, "the address cannot be read")
			continue
		}
		switch {
		case f.list.base != nil:
			if u = f.list.base.ResolveReference(u); !f.list.within(u) {
				leave(p, "it is on another host")
				continue
			}
			u.Fragment = ""
			p.address = u.String()
			p.file = relative(f.list.base.Path, u.Path)
		case u.Scheme != "" || u.Host != "" || path.IsAbs(u.Path):
			leave(p, "it is not below the folder of the list")
			continue
		default:
			p.file = path.Clean(u.Path)
			p.address = p.file
		}
		if !isDocument(p.file) {
			p.file = strings.TrimSuffix(strings.TrimSuffix(p.file, ".html"), "/") + ".md"
		}
		if p.file = strings.TrimLeft(p.file, "/"); p.file == ".md" {
			p.file = "index.md"
		}
		if seen[p.file] {
			continue
		}
		seen[p.file] = true
		if len(kept) == f.opts.MaxPages {
			leave(p, fmt.Sprintf("it is beyond the limit of %d pages", f.opts.MaxPages))
			break
		}
		kept = append(kept, p)
	}
	return kept
}

// relative returns the path of a page relative to the folder of the list, or the whole
// path if it is elsewhere on the host.
func relative(list, page string) string {
	dir := path.Dir(list)
	if !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	return strings.TrimPrefix(strings.TrimPrefix(page, dir), "/")
}

// fetch reads the texts of pages, several at a time.
func (f *fetcher) fetch(ctx context.Context, pages []*listed) {
	var work sync.WaitGroup
	for start := range min(fetchSlots, len(pages)) {
		work.Go(func() {
			for i := start; i < len(pages) && ctx.Err() == nil; i += fetchSlots {
				pages[i].err = barrier.Run("fetch "+pages[i].address, func() (err error) {
					pages[i].text, err = f.page(ctx, pages[i])
					return err
				})
			}
		})
	}
	work.Wait()
}

// page returns the text of a page. For a web page, the Markdown next to it is tried.
func (f *fetcher) page(ctx context.Context, p *listed) (string, error) {
	if f.list.base == nil {
		return f.open(p.address)
	}
	u, err := url.Parse(p.address)
	if err != nil {
		return "", err
	}
	text, err := f.get(ctx, u)
	if errors.Is(err, errPage) && !isDocument(u.Path) {
		// By the convention of llms.txt, the Markdown of a page is next to it.
		twin := *u
		twin.Path = strings.TrimSuffix(u.Path, "/") + ".md"
		twin.RawPath = ""
		if markdown, twinErr := f.get(ctx, &twin); twinErr == nil {
			return markdown, nil
		}
	}
	return text, err
}

// errPage means that an address is an HTML page.
var errPage = errors.New("it is HTML, not Markdown")

// get fetches a text.
func (f *fetcher) get(ctx context.Context, u *url.URL) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "text/markdown, text/plain;q=0.9, */*;q=0.1")
	req.Header.Set("User-Agent", "slipway")
	resp, err := f.client.Do(req)
	if err != nil {
		return "", undelivered(err)
	}
	defer resp.Body.Close()
	if err := statusError(resp.StatusCode); err != nil {
		return "", err
	}
	kind := mediatype.Of(resp.Header.Get("Content-Type"))
	if mediatype.IsHTML(kind) {
		return "", errPage
	}
	if kind != "" &&
		!strings.HasPrefix(kind, "text/") &&
		!slices.Contains([]string{"application/octet-stream", "application/markdown"}, kind) {
		return "", fmt.Errorf("it is %s, not Markdown", kind)
	}
	text, err := f.take(resp.Body)
	if err != nil && !errors.As(err, new(limitError)) {
		err = undelivered(err)
	}
	return text, err
}

// limitError is the error for a text that is too large.
type limitError string

func (e limitError) Error() string { return string(e) }

// open reads a file in the folder of the list.
func (f *fetcher) open(name string) (string, error) {
	opened, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", err
	}
	defer opened.Close()
	if info, err := opened.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is not a file")
	}
	return f.take(opened)
}

// take reads a text within the limits.
func (f *fetcher) take(from io.Reader) (string, error) {
	data, err := fsutil.ReadLimited(from, f.opts.MaxFileBytes)
	if errors.As(err, new(*fsutil.TooLargeError)) {
		err = limitError(fmt.Sprintf("it has more than %d bytes", f.opts.MaxFileBytes))
	}
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left -= int64(len(data)); f.left < 0 {
		return "", limitError(fmt.Sprintf("all pages together have more than %d bytes", f.opts.MaxTotalBytes))
	}
	return string(data), nil
}
