package docs

import (
	"context"
	"errors"
	"io/fs"
)

// reading is [read] or [survey].
type reading func(ctx context.Context, fsys fs.FS, prefix string, beside *config, opts *Options) (*Set, error)

// survey is [read] without the contents of pages, except for the top page: other pages have
// an id, and neither a title nor sections. It gives the set its title and its published
// address, which the definitions of the tools are made from.
func survey(ctx context.Context, fsys fs.FS, prefix string, beside *config, opts *Options) (*Set, error) {
	r := newReader(fsys, prefix, opts.withDefaults(folderPages, folderBytes))
	documents, err := r.find(ctx, beside)
	if err != nil {
		return nil, err
	}
	pages := make([]*Page, 0, len(documents))
	for _, d := range documents {
		p := &Page{
			File:  d.file,
			front: &frontMatter{},
		}
		if r.isHome(d.file) {
			source, err := r.text(d.file)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue // deleted in the meantime
			case err != nil:
				return nil, err
			}
			if p, _ = r.newPage(ctx, d.file, source); p == nil {
				continue // hidden
			}
		}
		pages = append(pages, p)
	}
	r.name(pages)
	r.set.Pages = pages
	return r.set, r.set.identify(r.config, r.opts)
}
