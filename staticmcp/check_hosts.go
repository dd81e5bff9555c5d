package staticmcp

import (
	"context"
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Host describes the known limits and behaviour of a web host for sites. A limit of zero
// means no relevant limit.
type Host struct {
	Name         string `json:"name"`
	MaxFiles     int    `json:"maxFiles"`
	MaxFileBytes int64  `json:"maxFileBytes"`
	MaxBytes     int64  `json:"maxBytes"` // of the whole site
	// HidesUnderscore reports whether names beginning with "_" are omitted unless the site
	// has a .nojekyll.
	HidesUnderscore bool `json:"hidesUnderscore"`
	// NeedsNotFoundPage reports whether, without a 404.html, a missing file is answered with
	// another page and status 200.
	NeedsNotFoundPage bool `json:"needsNotFoundPage"`
	// ReadsNotFoundPage and ReadsHeaders report whether the host uses a 404.html and a
	// _headers file.
	ReadsNotFoundPage bool `json:"readsNotFoundPage"`
	ReadsHeaders      bool `json:"readsHeaders"`
	// About states the source of the limits, in half a sentence.
	About string `json:"about"`
}

// hostsText is the table of hosts; hosts.schema.json explains its members.
//
//go:embed hosts.json
var hostsText []byte

var readHosts = sync.OnceValue(func() []Host {
	var table struct{ Hosts []Host }
	if err := json.Unmarshal(hostsText, &table); err != nil {
		panic(fmt.Errorf("hosts.json: %w", err))
	}
	return table.Hosts
})

// HostNames returns the names of the hosts. It does not decode the whole table, as the help
// of commands lists them at every start.
func HostNames() []string { return tableNames(hostsText, "hosts") }

// tableNames returns the names of the entries in a list of a table.
func tableNames(table []byte, list string) []string {
	var names []string
	for _, entry := range jsonscan.Elements(jsonscan.Member(table, list)) {
		name, _ := jsonscan.Unquote(jsonscan.Member(entry, "name"))
		names = append(names, name)
	}
	return names
}

// HostNamed returns the host called name.
func HostNamed(name string) (Host, error) {
	hosts := readHosts()
	i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, unknownChoice("host", name, HostNames())
	}
	return hosts[i], nil
}

// checkHosts reports what a host will not serve, or not unchanged.
func (c *checker) checkHosts(ctx context.Context, f *folder) error {
	c.checkNoJekyll()
	if len(c.hosts) == 0 {
		return nil
	}
	sizes, err := measure(ctx, f.fsys)
	if err != nil {
		return &SiteError{Op: "check site", Err: err}
	}
	for _, host := range c.hosts {
		if host.NeedsNotFoundPage && c.tree.find("404.html") == nil {
			c.in(manifestName).Add(ruleNotFoundPage, "", "write a 404.html beside mcp.json",
				"%s answers with a page and status 200 for what is missing: there is no 404.html", host.Name)
		}
		c.holdLimits(host, sizes)
	}
	return nil
}

// checkNoJekyll reports names that GitHub Pages omits.
func (c *checker) checkNoJekyll() {
	wanted := len(c.hosts) == 0 || slices.ContainsFunc(c.hosts, func(h Host) bool { return h.HidesUnderscore })
	if !wanted || !c.tree.hidden || c.tree.find(".nojekyll") != nil {
		return
	}
	s := c.sheet(".nojekyll", nil)
	s.At(0).Add(ruleNoJekyll, "", "write an empty file with that name beside mcp.json",
		"there is no .nojekyll, and names begin with _: GitHub Pages leaves those files out")
	s.repair(repair{does: "create an empty .nojekyll", create: true})
	c.take(s)
}

// sizes are the size of a site and its largest files.
type sizes struct {
	files   int
	bytes   int64
	largest []sized // those over the limit of some host
}

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
func (c *checker) holdLimits(host Host, all sizes) {
	if host.MaxFiles > 0 && all.files > host.MaxFiles {
		c.in(manifestName).Add(ruleHostLimit, "", host.About, "the site has %d files, and %s carries %d", all.files,
			host.Name, host.MaxFiles)
	}
	if host.MaxBytes > 0 && all.bytes > host.MaxBytes {
		c.in(manifestName).Add(ruleHostLimit, "", host.About, "the site has %d MB, and %s carries %d",
			all.bytes/1e6, host.Name, host.MaxBytes/1e6)
	}
	for _, f := range all.largest {
		if host.MaxFileBytes > 0 && f.bytes > host.MaxFileBytes {
			c.in(f.path).Add(ruleHostLimit, "", host.About, "the file has %d MB, and %s carries %d", f.bytes/1e6,
				host.Name, host.MaxFileBytes/1e6)
		}
	}
}
