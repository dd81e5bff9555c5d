package docs

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/sitebuild/internal/convert"
)

// convertedTimes is how many times larger than a text a notebook, a Word document or PDF may be:
// most of such a file is pictures.
const convertedTimes = 16

// isConverted reports whether a file is a notebook, a Word document or PDF. While a document is
// open, Word has a file beside it whose name begins with ~$.
func isConverted(name string) bool {
	return convert.Handles(name) && !strings.HasPrefix(path.Base(filepath.ToSlash(name)), "~$")
}

// limitOf returns how many bytes a file may have.
func (r *reader) limitOf(file string) int64 {
	if isConverted(file) {
		return convertedTimes * r.opts.MaxFileBytes
	}
	return r.opts.MaxFileBytes
}

// newConvertedPage reads a notebook, a Word document or PDF, without resolving its links. The
// page is nil if the file has no text or cannot be read.
func (r *reader) newConvertedPage(ctx context.Context, file, data string) (*Page, []check.Finding) {
	d, err := convert.Read(ctx, file, []byte(data), r.opts.MaxFileBytes)
	switch {
	case err != nil:
		hint := ""
		if missing := (*convert.MissingError)(nil); errors.As(err, &missing) {
			hint = missing.Install
		}
		return nil, []check.Finding{finding(ruleUnreadable, r.place(file), 0, hint, "the document is skipped: %s", err)}
	case d.HTML != "":
		return r.newRenderedPage(file, d.HTML)
	case strings.TrimSpace(d.Markdown) == "":
		return nil, nil
	}
	p := &Page{
		File:  file,
		front: &frontMatter{title: d.Title, rendered: true},
		Body:  strings.ToValidUTF8(d.Markdown, ""),
	}
	p.raw = r.markdown.parse(p.Body, false)
	found := r.cut(p)
	p.describe()
	p.prepareLinks()
	return p, found
}
