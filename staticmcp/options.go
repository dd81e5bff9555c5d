package staticmcp

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"
)

// Options configure how a site is read. A nil *Options and the zero value mean the
// defaults.
type Options struct {
	// Strict accepts only the standard's own form: no other file names, no other shapes of
	// files, no missing manifest. Warnings about the manifest become errors. Default:
	// tolerant.
	Strict bool
	// Compat reads the files of tools in an argument order other than the declared one. It
	// is for sites known to have been written for one of the readers named at the constants:
	// on any other site, two calls that swap their arguments would share an answer. Default:
	// the declared order.
	Compat Compat

	// MaxFileBytes is the largest file of an answer, uncompressed; reading a larger one
	// fails. Default: 16 MiB.
	MaxFileBytes int64
	// MaxManifestBytes is the largest manifest, which takes about three times as much
	// memory. Default: 64 MiB.
	MaxManifestBytes int64
	// MaxEntries bounds the entries of a manifest, the files of a zip and the names read
	// from one folder. Default: 1,000,000.
	MaxEntries int
	// CacheBytes bounds the memory for cached answers. A negative value disables the cache.
	// Default: 16 MiB; 64 MiB for a web host, where reading takes longer.
	CacheBytes int64

	// Recheck is how long a file of a folder is trusted before its size and time are checked
	// again, and how long a file of a web host that comes without Cache-Control is trusted.
	// A negative value checks at every read. Default: 1 s for a folder, 1 min for a web
	// host. A zip file is never checked again.
	Recheck time.Duration
	// Poll is how often the manifest is checked for changes, less often if a web host
	// declares a longer lifetime for it. A negative value never checks. Default: 1 s for a
	// folder, 1 min for a web host.
	Poll time.Duration
	// MaxAge is how long clients may cache lists, resources and files. A negative value
	// disables caching. Default: 1 min.
	MaxAge time.Duration

	// WebOptions configure a site at a URL.
	WebOptions

	// Logger receives warnings about the manifest, about invalid files, and about an
	// unreachable web host. Nil discards them; those about the manifest are also in
	// [Site.Warnings].
	Logger *slog.Logger
	// LogSearches logs the words of each search that has no good answer: without results,
	// with a word that no page has, or with less than half of its words on the best page.
	// They can be personal. Default: they are not logged.
	LogSearches bool

	// Vectors are word vectors by which searches also find pages whose words mean the same as those of the query.
	// They apply to sites on this machine with a search index; a site at a URL ignores them, with a warning.
	// Default: none.
	Vectors *Vectors
}

// WebOptions configure how [OpenURL] reads a site. The zero value means the defaults.
type WebOptions struct {
	// HTTPClient fetches the files; its CheckRedirect is replaced. Nil means a client of the
	// site's own, which honours the proxy environment variables and keeps no cookies.
	HTTPClient *http.Client
	// Timeout bounds one fetch, from waiting for a free slot to the last byte. Default: 20
	// s.
	Timeout time.Duration
	// MaxFetches is the number of concurrent fetches. Default: 8.
	MaxFetches int
	// MaxMisses is how many file names are tried for one call before it is a miss; each is a
	// request to the web host. A negative value tries all of them. Default: 5, which is
	// enough for every form of a resource's name.
	MaxMisses int
	// MissTTL is how long a missing file is not requested again. A negative value requests
	// it each time. Default: 30 s.
	MissTTL time.Duration
	// StaleIfError is how long after its expiry an answer may still be served while the web
	// host is unreachable; the host's own stale-if-error takes precedence. A negative value
	// disables this. Default: 24 h.
	StaleIfError time.Duration
}

// Compat is an argument order that some published readers use.
type Compat string

const (
	// CompatDeclared is the order of the tool's required list, then of its other properties:
	// the only one that cannot confuse two calls.
	CompatDeclared Compat = ""
	// CompatKeyOrder sorts arguments by name, as claude_web_bridge does.
	CompatKeyOrder Compat = "key-order"
	// CompatValueOrder sorts arguments by value, as sse_bridge and staticmcp_stdio_bridge
	// do.
	CompatValueOrder Compat = "value-order"
)

const (
	defaultMaxAge       = time.Minute
	defaultMissTTL      = 30 * time.Second
	defaultStaleIfError = 24 * time.Hour

	folderCache    = 16 << 20
	folderInterval = time.Second
	webCache       = 64 << 20
	webInterval    = time.Minute
)

// withDefaults returns a copy of o with every zero replaced by its default and every
// negative value, where it has a meaning, by zero. The default for Recheck and Poll is
// interval, that for CacheBytes is cache.
func (o *Options) withDefaults(interval time.Duration, cache int64) *Options {
	var d Options
	if o != nil {
		d = *o
	}
	positive(&d.MaxFileBytes, site.DefaultMaxFileBytes)
	positive(&d.MaxManifestBytes, site.DefaultMaxManifestBytes)
	positive(&d.MaxEntries, site.DefaultMaxEntries)
	positive(&d.Timeout, site.DefaultTimeout)
	positive(&d.MaxFetches, site.DefaultMaxFetches)
	orDefault(&d.CacheBytes, cache)
	orDefault(&d.Recheck, interval)
	orDefault(&d.Poll, interval)
	orDefault(&d.MaxAge, defaultMaxAge)
	orDefault(&d.MaxMisses, site.DefaultMaxMisses)
	orDefault(&d.MissTTL, defaultMissTTL)
	orDefault(&d.StaleIfError, defaultStaleIfError)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return &d
}

// orDefault replaces 0, and turns a negative value into 0.
func orDefault[T int | int64 | time.Duration](value *T, standard T) {
	switch {
	case *value == 0:
		*value = standard
	case *value < 0:
		*value = 0
	}
}

// positive replaces a value that is not positive.
func positive[T int | int64 | time.Duration](value *T, standard T) {
	if *value <= 0 {
		*value = standard
	}
}

func (o *Options) store() *site.Options {
	return &site.Options{
		MaxEntries:   o.MaxEntries,
		Recheck:      o.Recheck,
		StaleIfError: o.StaleIfError,
		HTTPClient:   o.HTTPClient,
		Timeout:      o.Timeout,
		MaxFetches:   o.MaxFetches,
	}
}
