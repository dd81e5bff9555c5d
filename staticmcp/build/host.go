package build

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// Host names a kind of web host that a site is written for.
type Host string

// The hosts that are known.
const (
	NoHost          Host = ""
	GitHubPages     Host = "github-pages"
	CloudflarePages Host = "cloudflare-pages"
	Netlify         Host = "netlify"
	S3              Host = "s3"
)

// Hosts are the names that [Options.Host] can have.
func Hosts() []Host { return []Host{GitHubPages, CloudflarePages, Netlify, S3} }

// profile is what a host wants and does not want.
type profile struct {
	notFound, headers bool // it reads 404.html, _headers
	maxFiles          int
	maxFile, maxSite  int64
	about             string // of the limits, for messages
}

func (h Host) profile() (profile, error) {
	switch h {
	case NoHost, S3:
		return profile{}, nil
	case GitHubPages:
		return profile{notFound: true, maxSite: 1 << 30, about: "GitHub Pages takes sites up to 1 GB, deployed within ten minutes"}, nil
	case CloudflarePages:
		return profile{
			notFound: true, headers: true, maxFiles: 20_000, maxFile: 25 << 20,
			about: "Cloudflare Pages takes 20,000 files of up to 25 MiB (100,000 on paid plans)",
		}, nil
	case Netlify:
		return profile{notFound: true, headers: true}, nil
	}
	return profile{}, fmt.Errorf("unknown host %q", h)
}

// extras are the files that every site gets, and those for a host.
func (w *writer) extras() error {
	p, err := w.opts.Host.profile()
	if err != nil {
		return err
	}
	list := []struct {
		name, text string
		wanted     bool
	}{
		// Without it, GitHub Pages leaves out what begins with "_", as the names
		// of most texts do that are not in Latin letters.
		{".nojekyll", "", true},
		// With it, hosts that would answer everything with their start page say
		// that a file is missing.
		{"404.html", notFoundPage, p.notFound},
		{"_headers", headersFile, p.headers},
		{"llms.txt", w.llms(), w.opts.Host != NoHost},
	}
	for _, e := range list {
		if e.wanted && !w.taken[e.name] {
			if err := w.keep(file{path: e.name}, []byte(e.text), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

const notFoundPage = "<!doctype html>\n<title>Not found</title>\n<p>There is no such file. This is a StaticMCP site; its manifest is mcp.json.\n"

const headersFile = `/*
  Access-Control-Allow-Origin: *
  X-Content-Type-Options: nosniff
/*.json
  Content-Type: application/json; charset=utf-8
  Cache-Control: public, max-age=300
`

// llms is the llms.txt of the site: what it is, for those who look around by
// reading files.
func (w *writer) llms() string {
	var b strings.Builder
	server := w.site.Server
	title := server.Title
	if title == "" {
		title = server.Name
	}
	fmt.Fprintf(&b, "# %s\n\n> A StaticMCP site: an MCP server whose answers are files. The manifest is mcp.json.\n", oneLine(title))
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

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// limits looks at what the host would refuse.
func (w *writer) limits(files []file) {
	p, err := w.opts.Host.profile()
	if err != nil {
		return
	}
	var all int64
	for i := range files {
		f := &files[i]
		all += f.size
		if p.maxFile > 0 && f.size > p.maxFile {
			w.found(check.Error, "file-limit", f.path, fmt.Sprintf("%d bytes are more than the host takes", f.size), p.about)
		}
	}
	if p.maxFiles > 0 && len(files) > p.maxFiles {
		w.found(check.Warning, "host-files", "", fmt.Sprintf("the site has %d files", len(files)), p.about)
	}
	if p.maxSite > 0 && all > p.maxSite {
		w.found(check.Warning, "host-size", "", fmt.Sprintf("the site has %d bytes", all), p.about)
	}
}
