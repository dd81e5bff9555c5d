package sitelint

import (
	"context"
	_ "embed" // for the table
	"io/fs"
	"slices"

	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// checkHosts reports what a host will not serve, or not unchanged.
func (c *checker) checkHosts(ctx context.Context, f *site.Folder) error {
	c.checkNoJekyll()
	if len(c.hosts) == 0 {
		return nil
	}
	sizes, err := measure(ctx, f.FS)
	if err != nil {
		return &staticmcp.SiteError{
			Op:  "check site",
			Err: err,
		}
	}
	for _, host := range c.hosts {
		if host.NeedsNotFoundPage && c.tree.find("404.html") == nil {
			c.in(site.ManifestName).Add(ruleNotFoundPage, "", "write a 404.html next to mcp.json",
				"%s answers with a page and status 200 for what is missing: there is no 404.html", host.Name)
		}
		c.holdLimits(host, sizes)
	}
	return nil
}

// checkNoJekyll reports names that GitHub Pages omits.
func (c *checker) checkNoJekyll() {
	wanted := len(c.hosts) == 0 || slices.ContainsFunc(c.hosts, func(h staticmcp.Host) bool {
		return h.HidesUnderscore
	})
	if !wanted || !c.tree.hidden || c.tree.find(".nojekyll") != nil {
		return
	}
	s := c.newFileReport(".nojekyll", nil)
	s.At(0).Add(ruleNoJekyll, "", "write an empty file with that name next to mcp.json",
		"there is no .nojekyll, and names begin with _: GitHub Pages omits those files")
	s.repair(repair{
		does:   "create an empty .nojekyll",
		create: true,
	})
	c.take(s)
}

// sizes are the size of a site and its largest files.
type sizes struct {
	// files and bytes count the whole site.
	files   int
	bytes   int64
	largest []sized // those over the limit of some host
}

// sized is a file with its size.
type sized struct {
	path  string
	bytes int64
}

// notable is the smallest per-file limit of any host.
const notable = 25 << 20

// measure counts all files below the root, including those that are not part of the site,
// since they are all uploaded to the host.
func measure(ctx context.Context, fsys fs.FS) (sizes, error) {
	var all sizes
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // already reported by the check of the files
		case d.IsDir() && path == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		all.files++
		all.bytes += info.Size()
		if info.Size() > notable {
			all.largest = append(all.largest, sized{path, info.Size()})
		}
		return nil
	})
	return all, err
}

// holdLimits checks a site against the limits of a host.
func (c *checker) holdLimits(host staticmcp.Host, all sizes) {
	if host.MaxFiles > 0 && all.files > host.MaxFiles {
		c.in(site.ManifestName).Add(ruleHostLimit, "", host.About,
			"the site has %d files, and %s accepts %d", all.files, host.Name, host.MaxFiles)
	}
	if host.MaxBytes > 0 && all.bytes > host.MaxBytes {
		c.in(site.ManifestName).Add(ruleHostLimit, "", host.About,
			"the site has %d MB, and %s accepts %d", all.bytes/1e6, host.Name, host.MaxBytes/1e6)
	}
	for _, f := range all.largest {
		if host.MaxFileBytes > 0 && f.bytes > host.MaxFileBytes {
			c.in(f.path).Add(ruleHostLimit, "", host.About,
				"the file has %d MB, and %s accepts %d", f.bytes/1e6, host.Name, host.MaxFileBytes/1e6)
		}
	}
}
