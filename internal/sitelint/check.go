// Package sitelint checks StaticMCP sites.
//
// [Check], [CheckDir], [CheckZip] and [CheckURL] report what breaks the standard, what no
// reader would find, and what only some readers can use; [Fix] repairs what it can without
// losing data. [Rules] lists the rules:
//
//	report, err := lint.CheckDir(ctx, "site", &lint.Options{Hosts: []string{"github-pages"}})
package sitelint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Options configure the check of a site. A nil *Options and the zero value mean
// the defaults.
type Options struct {
	// Name is the prefix of file names in findings, such as "site/". Default: for a folder
	// its name and a slash, for a zip its name and "!", for a web host its URL, otherwise
	// nothing.
	Name string
	// Readers are the names of other readers, from [Readers], that should be able to use the
	// site. Default: none.
	Readers []string
	// Hosts are the names of hosts, from [staticmcp.HostNames], where the site will be published. Default:
	// none, which skips their limits.
	Hosts []string

	// AllowSecrets accepts findings of the rule staticmcp/secret, each by the fingerprint in
	// its hint, or all of one kind: "dump", "private-key", "token", "pair" or "entropy".
	AllowSecrets []string
	// Environ is a list of NAME=VALUE, such as os.Environ(), whose secret values no file may
	// contain. Default: none.
	Environ []string

	// MaxFileBytes, MaxManifestBytes and MaxEntries are as in [staticmcp.Options].
	MaxFileBytes     int64
	MaxManifestBytes int64
	MaxEntries       int
	// MaxFindings is how many findings of each severity are kept. Default:
	// [check.DefaultLimit].
	MaxFindings int

	// The options below apply to [CheckURL].

	// HTTPClient, Timeout and MaxFetches are as in [staticmcp.Options].
	HTTPClient *http.Client
	Timeout    time.Duration
	MaxFetches int
	// MaxProbes bounds how many files are requested from a web host. Default: 2,000.
	MaxProbes int
}

// defaultMaxProbes is the default of Options.MaxProbes: a large site would cost its host too
// many requests.
const defaultMaxProbes = 2000

// Check reports everything in the site in fsys, with mcp.json at the root, that breaks
// the standard, that no reader would find, or that only some readers can use. See
// [Rules].
//
// An error means that the check itself failed: an unknown name in the options, an
// unreadable root, or the end of ctx. Problems of the site are in the report. Files are
// checked one at a time per worker and not kept, so the memory needed is that of the
// manifest and the file names.
func Check(ctx context.Context, fsys fs.FS, opts *Options) (*check.Report, error) {
	c, err := newChecker(opts, "")
	if err != nil {
		return nil, err
	}
	return c.folder(ctx, &site.Folder{
		FS:     fsys,
		Title:  "site",
		Frozen: true,
	})
}

// CheckDir is [Check] for the site in the folder dir. Symbolic links that point outside it
// are not followed.
func CheckDir(ctx context.Context, dir string, opts *Options) (*check.Report, error) {
	c, err := newChecker(opts, inside(dir))
	if err != nil {
		return nil, err
	}
	f, err := site.OpenFolder(dir, c.reading())
	if err != nil {
		return nil, &staticmcp.SiteError{
			Op:  "check site",
			Err: err,
		}
	}
	return c.folder(ctx, f)
}

// inside returns the prefix of the names of files in a folder.
func inside(dir string) string {
	if dir = filepath.ToSlash(filepath.Clean(dir)); dir == "." {
		return ""
	}
	return strings.TrimSuffix(dir, "/") + "/"
}

// CheckZip is [Check] for the site in the zip file called name, at its root or in its
// only folder.
func CheckZip(ctx context.Context, name string, opts *Options) (*check.Report, error) {
	c, err := newChecker(opts, name+"!")
	if err != nil {
		return nil, err
	}
	f, err := site.OpenZipFile(name, c.reading())
	if err != nil {
		return nil, &staticmcp.SiteError{
			Op:  "check site in zip",
			Err: err,
		}
	}
	return c.folder(ctx, f)
}

// checker is one check of one site.
type checker struct {
	opts   *Options
	report *check.Report
	// repairs are the repairs [Fix] can make for the findings, if fixing.
	repairs []repair
	// fixing is set by [Fix]. A check alone records no repairs.
	fixing bool

	site *manifest // nil without a usable manifest
	jobs []job     // the files of the site
	// index has the files that the site's index lists, by path; nil without an index.
	index map[string]*indexed
	// listed returns the URIs of the manifest.
	listed func() map[string]bool
	tree   *tree // nil for a web host
	// hosts are those of Options.Hosts, whose limits apply.
	hosts []staticmcp.Host

	// scanner searches all files with the secrets of the environment.
	scanner  *secrets.Scanner
	verified map[string]bool // folders of search indexes
}

// newChecker returns a checker with defaults for the options, or an error for an unknown
// reader or host. name is the default prefix of file names.
func newChecker(opts *Options, name string) (*checker, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = name
	}
	if o.MaxProbes <= 0 {
		o.MaxProbes = defaultMaxProbes
	}
	o.MaxFileBytes = cmp.Or(max(o.MaxFileBytes, 0), site.DefaultMaxFileBytes)
	o.MaxManifestBytes = cmp.Or(max(o.MaxManifestBytes, 0), site.DefaultMaxManifestBytes)
	o.MaxEntries = cmp.Or(max(o.MaxEntries, 0), site.DefaultMaxEntries)
	c := &checker{
		opts:     &o,
		report:   &check.Report{Limit: o.MaxFindings},
		scanner:  secrets.New(o.Environ),
		verified: make(map[string]bool),
	}
	c.listed = sync.OnceValue(c.listedURIs)
	for _, reader := range o.Readers {
		if !slices.Contains(Readers(), reader) {
			return nil, site.UnknownChoice("reader", reader, Readers())
		}
	}
	for _, name := range o.Hosts {
		host, err := staticmcp.HostNamed(name)
		if err != nil {
			return nil, err
		}
		c.hosts = append(c.hosts, host)
	}
	return c, nil
}

// reading returns the options for reading the files.
func (c *checker) reading() *site.Options {
	return &site.Options{
		MaxEntries: c.opts.MaxEntries,
		HTTPClient: c.opts.HTTPClient,
		Timeout:    cmp.Or(max(c.opts.Timeout, 0), site.DefaultTimeout),
		MaxFetches: cmp.Or(max(c.opts.MaxFetches, 0), site.DefaultMaxFetches),
	}
}

// folder checks a site whose files can be listed. It closes f.
func (c *checker) folder(ctx context.Context, f *site.Folder) (_ *check.Report, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if c.tree, err = c.plant(ctx, f); err != nil {
		return nil, err
	}
	if err := c.readManifest(ctx, f); err != nil {
		return nil, err
	}
	if err := c.plantPacks(ctx, f); err != nil {
		return nil, err
	}
	entries, err := c.readIndex(ctx, f)
	if err != nil {
		return nil, err
	}
	c.holdIndex(entries)
	c.jobs = c.assign()
	if err := c.readFiles(ctx, f, c.jobs); err != nil {
		return nil, err
	}
	c.concludeIndex(entries)
	if err := c.findSearch(ctx, f); err != nil {
		return nil, err
	}
	c.reportUnanswered()
	c.checkReaders()
	if c.site != nil {
		c.take(c.site.fileReport)
	}
	if err := c.checkHosts(ctx, f); err != nil {
		return nil, err
	}
	return c.report, nil
}

// readManifest checks the manifest, on which all other checks depend.
func (c *checker) readManifest(ctx context.Context, st site.Store) error {
	loaded, err := st.Load(ctx, site.ManifestName, nil, c.opts.MaxManifestBytes)
	var large site.TooLarge
	s := c.newFileReport(site.ManifestName, nil)
	defer func() {
		if c.site == nil {
			c.take(s) // otherwise more findings follow
		}
	}()
	switch {
	case errors.Is(err, site.ErrMissing):
		s.At(0).Add(ruleManifestMissing, "", "write one, or name the folder that has it",
			"there is no %s: a reader cannot know what the site offers", site.ManifestName)
		return nil
	case errors.As(err, &large):
		s.At(0).Add(ruleTooLarge, "", "",
			"the manifest is larger than %d bytes", large.Limit)
		return nil
	case err != nil && c.tree != nil && ctx.Err() == nil:
		s.At(0).Add(ruleUnreadable, "", "",
			"the manifest cannot be read: %s", fsutil.Reason(err))
		return nil
	case err != nil:
		e := &staticmcp.SiteError{
			Op:   "check site",
			File: site.ManifestName,
			Err:  err,
		}
		if site.NamesSubject(err) {
			e.File = ""
		}
		return e
	}
	if c.site = s.manifest(loaded.Data); c.site != nil {
		c.secrets(s, max(0, bytes.IndexByte(s.text, '{')))
	}
	return nil
}
