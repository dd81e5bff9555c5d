package sitewriter

import (
	"fmt"
	"iter"
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// Host is a kind of web host that a site is written for.
type Host string

// The supported hosts, as described by [staticmcp.HostNames].
const (
	NoHost          Host = ""
	GitHubPages     Host = "github-pages"
	GitLabPages     Host = "gitlab-pages"
	CloudflarePages Host = "cloudflare-pages"
	Netlify         Host = "netlify"
	S3              Host = "s3"
	Cloudflare      Host = "cloudflare"
	Vercel          Host = "vercel"
	Deno            Host = "deno"
	Node            Host = "node"
	Lambda          Host = "lambda"
)

// profile returns the requirements and limits of a host.
func (h Host) profile() (staticmcp.Host, error) {
	if h == NoHost {
		return staticmcp.Host{}, nil
	}
	return staticmcp.HostNamed(string(h))
}

// extras adds the files that every site gets, and those for the host.
func (w *writer) extras() error {
	p, err := w.opts.Host.profile()
	if err != nil {
		return err
	}
	list := []struct {
		name, text string
		wanted     bool
	}{
		// Without .nojekyll, GitHub Pages omits names that begin with "_", which most
		// names of non-Latin texts do.
		{".nojekyll", "", true},
		// With 404.html, hosts that would otherwise answer every request with their start
		// page report missing files.
		{"404.html", notFoundPage, p.ReadsNotFoundPage},
		{"_headers", headersFile, p.ReadsHeaders && w.opts.SiteRoot == ""},
		{"llms.txt", w.llms(), w.opts.Host != NoHost},
	}
	for _, e := range list {
		if e.wanted && !w.taken[e.name] {
			err := w.keep(file{path: e.name}, []byte(e.text), nil)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

const notFoundPage = "<!doctype html>\n<title>Not found</title>\n<p>There is no such file. This is a " +
	"StaticMCP site; its manifest is mcp.json.\n"

const headersFile = `/*
  Access-Control-Allow-Origin: *
  X-Content-Type-Options: nosniff
/*.json
  Content-Type: application/json; charset=utf-8
  Cache-Control: public, max-age=300
/server-card
  Content-Type: application/mcp-server-card+json
`

// llms returns the llms.txt of the site, which describes it to agents that browse files.
func (w *writer) llms() string {
	var b strings.Builder
	server := w.site.Server
	title := server.Title
	if title == "" {
		title = server.Name
	}
	fmt.Fprintf(&b, "# %s\n\n> A StaticMCP site: an MCP server whose answers are files. The manifest is mcp.json.\n",
		oneLine(title))
	if w.site.Instructions != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(w.site.Instructions))
	}
	if len(w.site.Tools) > 0 {
		b.WriteString("\n## Tools\n\n")
	}
	for i := range w.site.Tools {
		t := &w.site.Tools[i]
		fmt.Fprintf(&b, "- tools/%s: %s\n", t.Name, oneLine(t.Description))
	}
	return b.String()
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

// limits verifies the site, whose files have these paths and sizes, against the limits of the host.
func (w *writer) limits(files iter.Seq2[string, int64]) {
	p, err := w.opts.Host.profile()
	if err != nil {
		return
	}
	var all int64
	count := 0
	for path, size := range files {
		count++
		all += size
		w.result.Largest = max(w.result.Largest, size)
		if p.MaxFileBytes > 0 && size > p.MaxFileBytes {
			w.in(path).Add(ruleFileLimit, "", p.About,
				"%d bytes are more than the host accepts", size)
		}
	}
	if p.MaxFiles > 0 && count > p.MaxFiles {
		w.in("").Add(ruleHostFiles, "", p.About, "the site has %d files", count)
	}
	if p.MaxBytes > 0 && all > p.MaxBytes {
		w.in("").Add(ruleHostSize, "", p.About, "the site has %d bytes", all)
	}
}

// sizes yields the path and the size of each file.
func sizes(files []file) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for i := range files {
			if !yield(files[i].path, files[i].size) {
				return
			}
		}
	}
}
