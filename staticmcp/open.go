package staticmcp

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/slipway-mcp/slipway/internal/site"
)

// Open opens a site whose files are in fsys, such as one embedded in a program, with
// mcp.json at the root. fsys must stay readable until the Site is closed.
//
// ctx applies only to opening. A site without a manifest is also opened, with a warning,
// by guessing from the names of its files: see [Site.Warnings].
func Open(ctx context.Context, fsys fs.FS, opts *Options) (*Site, error) {
	o := opts.withDefaults(folderInterval, folderCache)
	return open(ctx, &site.Folder{
		FS:      fsys,
		Title:   "site",
		Recheck: o.Recheck,
	}, o)
}

// OpenDir opens the site in the folder dir. No name and no symbolic link points outside
// dir. Changes are noticed within [Options.Poll] and [Options.Recheck].
func OpenDir(ctx context.Context, dir string, opts *Options) (*Site, error) {
	o := opts.withDefaults(folderInterval, folderCache)
	f, err := site.OpenFolder(dir, o.store())
	if err != nil {
		return nil, &SiteError{
			Op:  "open site",
			Err: err,
		}
	}
	return open(ctx, f, o)
}

// OpenZip opens the site in the zip file called name, at its root or in its only folder.
// The file is kept open and must not be modified until the Site is closed.
func OpenZip(ctx context.Context, name string, opts *Options) (*Site, error) {
	o := opts.withDefaults(folderInterval, folderCache)
	f, err := site.OpenZipFile(name, o.store())
	if err != nil {
		return nil, &SiteError{
			Op:  "open site in zip",
			Err: err,
		}
	}
	return open(ctx, f, o)
}

// OpenZipReader opens the site in the zip of size bytes in r. The caller keeps ownership
// of r, which must stay readable until the Site is closed.
func OpenZipReader(ctx context.Context, r io.ReaderAt, size int64, opts *Options) (*Site, error) {
	o := opts.withDefaults(folderInterval, folderCache)
	f, err := site.ReadZip(r, size, o.store())
	if err != nil {
		return nil, &SiteError{
			Op:  "open site in zip",
			Err: err,
		}
	}
	return open(ctx, f, o)
}

// OpenURL opens the site under baseURL on a web host: its manifest is baseURL/mcp.json. A
// trailing slash in baseURL makes no difference.
//
// Nothing outside baseURL is ever fetched: a redirect that leads elsewhere counts as a
// missing file. Files are fetched on demand, cached as long as the host allows, and
// revalidated with their ETag. While the host is unreachable, cached answers are served.
func OpenURL(ctx context.Context, baseURL string, opts *Options) (*Site, error) {
	o := opts.withDefaults(webInterval, webCache)
	if o.Vectors != nil {
		o.Vectors = nil // every question would depend on the whole index
		o.Logger.Warn("word vectors are for sites on this machine, searching without them", "site", baseURL)
	}
	w, err := site.OpenWeb(baseURL, o.store())
	if err != nil {
		return nil, &SiteError{
			Op:  "open site",
			Err: err,
		}
	}
	return open(ctx, w, o)
}

// open reads the manifest of a site and starts watching it. It owns st.
func open(ctx context.Context, st site.Store, o *Options) (*Site, error) {
	s := &Site{
		opts:  o,
		store: site.NewPacked(st),
		cache: newCache(o.CacheBytes),
	}
	switch o.Compat {
	case CompatDeclared, CompatKeyOrder, CompatValueOrder:
	default:
		st.Close()
		return nil, &SiteError{
			Op:  "open site",
			Err: fmt.Errorf("unknown order of arguments %q", o.Compat),
		}
	}
	manifest := &seen{}
	first, err := s.readOffer(ctx, manifest, nil)
	if err != nil {
		st.Close()
		return nil, newSiteError("open site", site.ManifestName, err)
	}
	s.offer.Store(first)
	s.logWarnings(first)
	watching, stop := context.WithCancel(context.Background())
	s.stop = stop
	if s.watched = !st.Traits().Frozen && o.Poll > 0; s.watched {
		s.polling.Add(1)
		go s.watch(watching, manifest)
	}
	return s, nil
}
