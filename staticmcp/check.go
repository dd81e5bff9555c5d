package staticmcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// CheckOptions configure the check of a site. A nil *CheckOptions and the zero value mean
// the defaults.
type CheckOptions struct {
	// Name is the prefix of file names in findings, such as "site/". Default: for a folder
	// its name and a slash, for a zip its name and "!", for a web host its URL, otherwise
	// nothing.
	Name string
	// Readers are the names of other readers, from [Readers], that should be able to use the
	// site. Default: none.
	Readers []string
	// Hosts are the names of hosts, from [HostNames], where the site will be published. Default:
	// none, which skips their limits.
	Hosts []string

	// AllowSecrets accepts findings of the rule staticmcp/secret, each by the fingerprint in
	// its hint, or all of one kind: "dump", "private-key", "token", "pair" or "entropy".
	AllowSecrets []string
	// Environ is a list of NAME=VALUE, such as os.Environ(), whose secret values no file may
	// contain. Default: none.
	Environ []string

	// MaxFileBytes, MaxManifestBytes and MaxEntries are as in [Options].
	MaxFileBytes     int64
	MaxManifestBytes int64
	MaxEntries       int
	// MaxFindings is how many findings of each severity are kept. Default:
	// [check.DefaultLimit].
	MaxFindings int

	// The options below apply to [CheckURL].

	// HTTPClient, Timeout and MaxFetches are as in [Options].
	HTTPClient *http.Client
	Timeout    time.Duration
	MaxFetches int
	// MaxProbes bounds how many files are requested from a web host. Default: 2,000.
	MaxProbes int
}

const defaultMaxProbes = 2000

// Check reports everything in the site in fsys, with mcp.json at the root, that breaks
// the standard, that no reader would find, or that only some readers can use. See
// [Rules].
//
// An error means that the check itself failed: an unknown name in the options, an
// unreadable root, or the end of ctx. Problems of the site are in the report. Files are
// checked one at a time per worker and not kept, so the memory needed is that of the
// manifest and the file names.
func Check(ctx context.Context, fsys fs.FS, opts *CheckOptions) (*check.Report, error) {
	c, err := newChecker(opts, "")
	if err != nil {
		return nil, err
	}
	return c.folder(ctx, &folder{fsys: fsys, title: "site", frozen: true})
}

// CheckDir is [Check] for the site in the folder dir. Symbolic links that lead out of it
// are not followed.
func CheckDir(ctx context.Context, dir string, opts *CheckOptions) (*check.Report, error) {
	c, err := newChecker(opts, inside(dir))
	if err != nil {
		return nil, err
	}
	f, err := openFolder(dir, c.reading())
	if err != nil {
		return nil, &SiteError{Op: "check site", Err: err}
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
func CheckZip(ctx context.Context, name string, opts *CheckOptions) (*check.Report, error) {
	c, err := newChecker(opts, name+"!")
	if err != nil {
		return nil, err
	}
	f, err := openZipFile(name, c.reading())
	if err != nil {
		return nil, &SiteError{Op: "check site in zip", Err: err}
	}
	return c.folder(ctx, f)
}

// checker is one check of one site.
type checker struct {
	opts   *CheckOptions
	report *check.Report
	// repairs are the repairs [Fix] can make for the findings, if fixing.
	repairs []repair
	fixing  bool

	site  *siteUnderCheck // nil without a usable manifest
	jobs  []job           // the files of the site
	index map[string]*indexed
	// listed returns the URIs of the manifest.
	listed func() map[string]bool
	tree   *tree // nil for a web host
	hosts  []Host

	scanner  *secrets.Scanner
	verified map[string]bool // folders of search indexes
}

func newChecker(opts *CheckOptions, name string) (*checker, error) {
	var o CheckOptions
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = name
	}
	if o.MaxProbes <= 0 {
		o.MaxProbes = defaultMaxProbes
	}
	defaults := (&Options{
		MaxFileBytes:     o.MaxFileBytes,
		MaxManifestBytes: o.MaxManifestBytes,
		MaxEntries:       o.MaxEntries,
	}).withDefaults(0, 0)
	o.MaxFileBytes, o.MaxManifestBytes, o.MaxEntries =
		defaults.MaxFileBytes, defaults.MaxManifestBytes, defaults.MaxEntries
	c := &checker{opts: &o, report: &check.Report{Limit: o.MaxFindings}, scanner: secrets.New(o.Environ),
		verified: make(map[string]bool)}
	c.listed = sync.OnceValue(c.listedURIs)
	for _, reader := range o.Readers {
		if !slices.Contains(Readers(), reader) {
			return nil, unknownChoice("reader", reader, Readers())
		}
	}
	for _, name := range o.Hosts {
		host, err := HostNamed(name)
		if err != nil {
			return nil, err
		}
		c.hosts = append(c.hosts, host)
	}
	return c, nil
}

// unknownChoice returns the error for a name that is not in a list.
func unknownChoice(what, name string, known []string) error {
	hint := "there are " + alternatives(known)
	if near := nearest.DidYouMean(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("unknown %s %q: %s", what, name, hint)
}

// reading returns the options for reading the files.
func (c *checker) reading() *Options {
	o := &Options{
		MaxFileBytes: c.opts.MaxFileBytes, MaxManifestBytes: c.opts.MaxManifestBytes, MaxEntries: c.opts.MaxEntries,
		HTTPClient: c.opts.HTTPClient, Timeout: c.opts.Timeout, MaxFetches: c.opts.MaxFetches,
	}
	return o.withDefaults(webInterval, 0)
}

// folder checks a site whose files can be listed. It closes f.
func (c *checker) folder(ctx context.Context, f *folder) (_ *check.Report, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if c.tree, err = c.plant(ctx, f); err != nil {
		return nil, err
	}
	if err := c.readManifest(ctx, f); err != nil {
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
	c.concludeTools()
	c.checkReaders()
	if c.site != nil {
		c.take(c.site.sheet)
	}
	if err := c.checkHosts(ctx, f); err != nil {
		return nil, err
	}
	return c.report, nil
}

// readManifest checks the manifest, on which all other checks depend.
func (c *checker) readManifest(ctx context.Context, st store) error {
	loaded, err := st.load(ctx, manifestName, nil, c.opts.MaxManifestBytes)
	var large tooLarge
	s := c.sheet(manifestName, nil)
	defer func() {
		if c.site == nil {
			c.take(s) // otherwise more findings follow
		}
	}()
	switch {
	case errors.Is(err, errMissing):
		s.At(0).Add(ruleManifestMissing, "", "write one, or name the folder that has it",
			"there is no %s: a reader cannot know what the site offers", manifestName)
		return nil
	case errors.As(err, &large):
		s.At(0).Add(ruleTooLarge, "", "", "the manifest is larger than %d bytes", large.limit)
		return nil
	case err != nil && c.tree != nil && ctx.Err() == nil:
		s.At(0).Add(ruleUnreadable, "", "", "the manifest cannot be read: %s", fsutil.Reason(err))
		return nil
	case err != nil:
		return manifestError("check site", err)
	}
	if c.site = s.manifest(loaded.data); c.site != nil {
		c.secrets(s, max(0, bytes.IndexByte(s.text, '{')))
	}
	return nil
}
