package sitewriter

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
)

// TwinMark is the last line of the Markdown files that a write may replace.
const TwinMark = "<!-- Written by slipway -->\n"

// Twin is the Markdown of a page that a generator has published as HTML. By the convention of
// llms.txt it is next to that page: its address is that of the page with ".md" appended.
type Twin struct {
	// Address is the URL of the page, or its path in the published folder.
	Address string
	// Text returns the Markdown.
	Text func() string
}

const (
	// maxTwin is the size of the largest Markdown file, in bytes.
	maxTwin = maxRootFile - int64(len(TwinMark)) - 1
	// maxBaseDepth limits the folders in the path of the published folder's URL.
	maxBaseDepth = 8
)

// twin is a collected page. Its text is in the spool.
type twin struct {
	address  *url.URL
	path     []string // of the page, in segments
	at, size int64
}

// takeTwin stores the Markdown of a page until the published folder is written.
func (w *writer) takeTwin(t *Twin) error {
	if t == nil || w.opts.SiteRoot == "" || w.opts.NoTwins {
		return nil
	}
	u, err := url.Parse(t.Address)
	if err != nil {
		return nil
	}
	route := strings.Trim(u.Path, "/")
	if route != "" && !fs.ValidPath(route) {
		return nil // no page has this address
	}
	text := t.Text()
	if int64(len(text)) > maxTwin {
		return nil
	}
	at, err := w.spool.write([]byte(text))
	if err != nil {
		return err
	}
	var segments []string
	if route != "" {
		segments = strings.Split(route, "/")
	}
	w.twins = append(w.twins, twin{u, segments, at, int64(len(text))})
	return nil
}

// writeTwins writes the Markdown of each page next to the page. Pages that are not in the
// published folder, because the generator has not run or publishes elsewhere, have none.
// Files that Slipway has not written are left alone.
func (w *writer) writeTwins() error {
	if len(w.twins) == 0 {
		return nil
	}
	root, err := os.OpenRoot(w.opts.SiteRoot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	depth, ok := alignTwins(root, w.twins)
	if !ok {
		return nil
	}
	if u := w.twins[0].address; u.Host != "" {
		base := url.URL{Scheme: u.Scheme, Host: u.Host}
		w.result.Public = strings.TrimSuffix(base.JoinPath(w.twins[0].path[:depth]...).String(), "/") + "/"
	}
	written := make(map[string]bool)
	var foreign []string
	for _, t := range w.twins {
		name := twinName(root, t.path, depth)
		if name == "" || written[name] {
			continue
		}
		written[name] = true
		text, err := w.spool.read(t.at, t.size)
		if err != nil {
			return err
		}
		if err := w.rootFile(name, func(old string, exists bool) (string, error) {
			if exists && !strings.HasSuffix(old, TwinMark) {
				foreign = append(foreign, name)
				return old, nil
			}
			return strings.TrimRight(string(text), "\n") + "\n\n" + TwinMark, nil
		}); err != nil {
			return err
		}
	}
	if len(foreign) > 0 {
		others := ""
		if len(foreign) > 1 {
			others = fmt.Sprintf(", like %d more", len(foreign)-1)
		}
		w.in(foreign[0]).Add(ruleTwinKept, "", "delete it to have Slipway write it",
			"the file next to the page is not written by Slipway and was left unchanged%s", others)
	}
	return nil
}

// alignTwins returns how many folders the published folder has in its own URL: the number
// with which most addresses lead to a page in it. All addresses begin with these folders. ok is
// false if no address leads to a page.
func alignTwins(root *os.Root, twins []twin) (depth int, ok bool) {
	best := 0
	common := twins[0].path
	for _, t := range twins {
		n := 0
		for n < len(common) && n < len(t.path) && common[n] == t.path[n] {
			n++
		}
		common = common[:n]
	}
	for d := range min(len(common), maxBaseDepth) + 1 {
		found := 0
		for _, t := range twins {
			if twinName(root, t.path, d) != "" {
				found++
			}
		}
		if found > best {
			best = found
			depth = d
		}
	}
	return depth, best > 0
}

// twinName returns the name of the Markdown of a page, or "" if root does not have the page.
// depth is how many segments of its path the URL of root has.
func twinName(root *os.Root, segments []string, depth int) string {
	if depth > len(segments) {
		return ""
	}
	name := path.Join(segments[depth:]...)
	if name == "" {
		if isFile(root, "index.html") {
			return "index.md"
		}
		return ""
	}
	if !fs.ValidPath(name) {
		return ""
	}
	if isFile(root, name+"/index.html") || isFile(root, name+".html") ||
		strings.HasSuffix(name, ".html") && isFile(root, name) {
		return name + ".md"
	}
	return ""
}

func isFile(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
