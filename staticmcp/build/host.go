package build

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Host names a kind of web host that a site is written for.
type Host string

// The hosts that are known, as [staticmcp.Hosts] describes them.
const (
	NoHost          Host = ""
	GitHubPages     Host = "github-pages"
	GitLabPages     Host = "gitlab-pages"
	CloudflarePages Host = "cloudflare-pages"
	Netlify         Host = "netlify"
	S3              Host = "s3"
)

// profile is what a host wants and does not want.
func (h Host) profile() (staticmcp.Host, error) {
	if h == NoHost {
		return staticmcp.Host{}, nil
	}
	return staticmcp.HostNamed(string(h))
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
		{"404.html", notFoundPage, p.ReadsNotFoundPage},
		{"_headers", headersFile, p.ReadsHeaders && w.opts.SiteRoot == ""},
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
		if p.MaxFileBytes > 0 && f.size > p.MaxFileBytes {
			w.found(check.Error, "file-limit", f.path, fmt.Sprintf("%d bytes are more than the host takes", f.size), p.About)
		}
	}
	if p.MaxFiles > 0 && len(files) > p.MaxFiles {
		w.found(check.Warning, "host-files", "", fmt.Sprintf("the site has %d files", len(files)), p.About)
	}
	if p.MaxBytes > 0 && all > p.MaxBytes {
		w.found(check.Warning, "host-size", "", fmt.Sprintf("the site has %d bytes", all), p.About)
	}
}
