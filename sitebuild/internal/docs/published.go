package docs

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// published is where a documentation system publishes the pages on the web.
type published struct {
	// base is the address of the documents folder, or "".
	base string
	// ending is added to the path of a page, such as ".html", and index to that of a folder.
	ending, index string
	// numbered is true if Docusaurus keeps the numbers at the start of names.
	numbered bool
}

// CheckBaseURL returns an error unless text can be [Options].BaseURL: an http or https address below
// which the addresses of pages are. Without one, links of the whole site would be broken.
func CheckBaseURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a web address", text)
	case u.Scheme == "" || u.Scheme != "http" && u.Scheme != "https" && u.Host == "":
		return fmt.Errorf("%q is not a web address: it does not begin with https:// or http://", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q has the scheme %s; want https or http", text, u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("%q has no host", text)
	case u.User != nil:
		return errors.New("the address has a user name or password, which every page would show")
	case u.RawQuery != "" || u.ForceQuery:
		return fmt.Errorf("%q has a query, and pages are below its path", text)
	case strings.Contains(text, "#"):
		return fmt.Errorf("%q has a fragment, and pages are below its path", text)
	}
	return nil
}

// publishedAt returns an absolute web address that ends in a slash, built from base and
// the parts below it, or "" if base is not a web address.
func publishedAt(base string, below ...string) string {
	u, err := url.Parse(base)
	if err != nil ||
		u.Scheme != "http" && u.Scheme != "https" ||
		u.Host == "" ||
		u.User != nil {
		return ""
	}
	u.RawQuery = ""
	u.Fragment = ""
	u = u.JoinPath(below...)
	return strings.TrimSuffix(u.String(), "/") + "/"
}

// base returns the address below which the pages are published, or "".
func (m *maker) base() string {
	if m.opts.BaseURL != "" {
		return strings.TrimSuffix(m.opts.BaseURL, "/") + "/"
	}
	return m.set.published.base
}

// link returns the published address of a page, or "" if it is unknown.
func (m *maker) link(p *Page) string {
	if p.front.address != "" && m.opts.BaseURL == "" {
		return p.front.address
	}
	base := m.base()
	if base == "" {
		return ""
	}
	return base + strings.TrimPrefix(uriOf(p.published), Scheme)
}

// linked returns text followed by the published address of its page.
func (m *maker) linked(p *Page, text string) string {
	if link := m.link(p); link != "" {
		return strings.TrimRight(text, "\n") + "\n\n---\nPublished at " + link + "\n"
	}
	return text
}

// absolute returns Markdown in which links to pages are their published addresses, as far as
// they are known: for readers without the site, who cannot resolve a docs:// URI. Fenced code
// stays unchanged.
func (m *maker) absolute(text string) string {
	if m.base() == "" || !strings.Contains(text, Scheme) {
		return text
	}
	return outsideFences(text, m.absoluteLinks)
}

// absoluteLinks replaces the targets of links in a line, inline and in definitions.
func (m *maker) absoluteLinks(line string) string {
	for _, before := range []string{"](", "]: "} {
		done := ""
		for {
			head, rest, found := strings.Cut(line, before+Scheme)
			if !found {
				break
			}
			end := strings.IndexAny(rest, ") \t\r\n")
			if end < 0 {
				end = len(rest)
			}
			target, fragment, _ := strings.Cut(rest[:end], "#")
			id, err := url.PathUnescape(target)
			id = strings.TrimPrefix(id, m.uriPlace())
			address := Scheme + rest[:end]
			if page := m.set.byID[id]; err == nil && page != nil {
				address = m.link(page)
				if fragment != "" {
					address += "#" + fragment
				}
			}
			done += head + before + address
			line = rest[end:]
		}
		line = done + line
	}
	return line
}
