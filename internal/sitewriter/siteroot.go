package sitewriter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Marks that enclose Slipway's part of a host file shared with others.
const (
	markBegin = "# begin slipway "
	markEnd   = "# end slipway "
)

// maxRootFile limits the size of an existing file at the root that is merged.
const maxRootFile = 1 << 20

// sitePrefix returns the path of the site below [Options.SiteRoot], such as "/docs/mcp";
// it is empty for the root itself.
func (w *writer) sitePrefix(out Output) (string, error) {
	d, ok := out.(*directory)
	if !ok {
		return "", errors.New("a site root goes with a folder as the output")
	}
	root, err := filepath.Abs(w.opts.SiteRoot)
	if err != nil {
		return "", err
	}
	site, err := filepath.Abs(d.path)
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(root, site)
	if err != nil || !filepath.IsLocal(below) {
		return "", fmt.Errorf("the output %s is not below the site root %s",
			d.path, w.opts.SiteRoot)
	}
	if below == "." {
		return "", nil
	}
	return "/" + filepath.ToSlash(below), nil
}

// rootFiles writes the files that the host reads at the root of the published folder. It
// creates .nojekyll if it is missing, and replaces only the part of _headers between its
// own marks.
func (w *writer) rootFiles(prefix string) error {
	profile, err := w.opts.Host.profile()
	if err != nil {
		return err
	}
	if err := w.rootFile(".nojekyll", func(old string, _ bool) (string, error) {
		return old, nil
	}); err != nil {
		return err
	}
	if !profile.ReadsHeaders {
		return nil
	}
	rules := prefixed(headersFile, prefix)
	return w.rootFile("_headers", func(old string, _ bool) (string, error) {
		return mergeMarked(old, prefix, rules)
	})
}

// rootFile writes one file at the root if merge returns different contents.
func (w *writer) rootFile(name string, merge func(old string, exists bool) (string, error)) error {
	path := filepath.Join(w.opts.SiteRoot, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case exists && (!info.Mode().IsRegular() || info.Size() > maxRootFile):
		return fmt.Errorf("%s is not a file of up to %d bytes", path, maxRootFile)
	}
	var old []byte
	if exists {
		if old, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	merged, err := merge(string(old), exists)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	action := Create
	switch {
	case exists && merged == string(old):
		w.result.Unchanged++
		return nil
	case exists:
		action = Update
	}
	w.result.note(action, path)
	if w.opts.DryRun {
		return nil
	}
	return fsutil.Replace(path, 0o644, func(out io.Writer) error {
		_, err := io.WriteString(out, merged)
		return err
	})
}

// prefixed returns the rules of a _headers file for a site below the root.
func prefixed(rules, prefix string) string {
	lines := strings.SplitAfter(rules, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "/") {
			lines[i] = prefix + line
		}
	}
	return strings.Join(lines, "")
}

// mergeMarked replaces the part of a text between the marks of a site, or appends it.
func mergeMarked(text, prefix, part string) (string, error) {
	name := prefix
	if name == "" {
		name = "/"
	}
	begin := markBegin + name + "\n"
	end := markEnd + name + "\n"
	part = begin + part + end
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	from := lineIndex(text, begin)
	to := lineIndex(text, end)
	switch {
	case from < 0 && to < 0:
		return text + part, nil
	case from < 0 || to < from:
		return "", fmt.Errorf("the marks %q and %q do not enclose a part; remove them", strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	return text[:from] + part + text[to+len(end):], nil
}

// lineIndex returns the offset of a line in a text, or -1.
func lineIndex(text, line string) int {
	if strings.HasPrefix(text, line) {
		return 0
	}
	if i := strings.Index(text, "\n"+line); i >= 0 {
		return i + 1
	}
	return -1
}
