package open

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// DefinitionsOptions configure how the servers of a definitions file are opened.
type DefinitionsOptions struct {
	// Resolver resolves their secrets; nil means one that uses the environment.
	Resolver *stax.Resolver
	// Settle limits the wait for the first start of all servers; 0 means 20 seconds. A
	// server with a shorter connectTimeoutMs has that limit instead. A server that takes
	// longer joins once it has started.
	Settle time.Duration
	// Background makes Open return without waiting for all servers: those that have
	// started are served at once, the others join later, and only requests for lists wait
	// for them, until Settle after Open. If Settle is 0, that is 2 seconds, or, for a
	// single server, until its start has succeeded or failed. Without Background, Open
	// waits for all servers, as suits a program that makes one request.
	Background bool
	// StartWait is how long Open waits for servers in spite of Background, so that the
	// first clients see fast ones; 0 means 300 milliseconds.
	StartWait time.Duration
	joined    bool // the file is one of several sources, see [Later]
	settles   bool // Settle was set
	// Prefix selects the tools and prompts that are prefixed with the name of their
	// server.
	Prefix compose.Prefix
	// Strict rejects a file with any invalid server definition. Otherwise the invalid
	// servers are skipped.
	Strict bool
	// MaxServers limits the number of servers started per file; 0 means 200. Additional
	// ones are skipped.
	MaxServers int

	// Lazy delays the start of a server until it is called, if its catalog is cached from
	// an earlier run. Otherwise the server is started once to fetch it.
	Lazy bool
	// CacheDir is the folder for the cached catalogs of Lazy, created when needed; ""
	// disables the cache.
	CacheDir string
	// IdleStop is the idle time after which a local server is stopped, until it is needed
	// again; 0 means never. A server with subscribed resources is not idle.
	IdleStop time.Duration

	// Watch is the interval at which the file is checked for changes; 0 means never. When
	// it changes, the servers are updated, see [Open]. A server that was skipped because
	// its program was missing is tried once the program exists.
	Watch time.Duration
	// Again, if not nil, returns a channel that triggers a reload of the file and of
	// secrets with each value, until stop is called.
	Again func() (again <-chan os.Signal, stop func())
	// Drain limits how long calls may continue on a server that was removed or replaced,
	// before it is stopped; 0 means 10 minutes.
	Drain time.Duration

	// Trouble is called for each server that cannot be started at first: it was skipped
	// because of its definition or secrets, it failed and is retried, or it is no longer
	// waited for. Trouble may be called from several goroutines at once. Nil ignores
	// these.
	Trouble func(server string, err error)
	// LeftOut is called each time the file has been read, with all servers that are
	// neither served nor retried, and the reasons: an invalid definition or a missing
	// secret. Nil ignores these.
	LeftOut func(file string, servers map[string]error)
	// Logger logs the outcome of file changes; nil disables logging.
	Logger *slog.Logger
}

func (o *DefinitionsOptions) trouble(server string, err error) {
	if o.Trouble != nil {
		o.Trouble(server, err)
	}
}

func (o *DefinitionsOptions) withDefaults() *DefinitionsOptions {
	var d DefinitionsOptions
	if o != nil {
		d = *o
	}
	if d.Resolver == nil {
		d.Resolver = &stax.Resolver{}
	}
	if d.Resolver.Files == nil {
		resolver := *d.Resolver
		resolver.Files = &stax.SecretFiles{}
		d.Resolver = &resolver
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	d.StartWait = cmp.Or(max(d.StartWait, 0), startGrace)
	d.settles = d.Settle > 0
	if d.Background {
		d.Settle = cmp.Or(max(d.Settle, 0), 2*time.Second)
	}
	d.Settle = cmp.Or(max(d.Settle, 0), slowStart)
	d.Drain = cmp.Or(max(d.Drain, 0), 10*time.Minute)
	d.MaxServers = cmp.Or(max(d.MaxServers, 0), 200)
	return &d
}

// IsDefinitions reports whether a file is a definitions file, judging by its name.
func IsDefinitions(path string) bool {
	return stax.FormatOf(path) != 0
}

// slowStart is the time after which a server that has not started yet is reported.
const slowStart = 20 * time.Second

// openDefinitions starts all enabled servers of a file and joins them: tools that share a
// name are prefixed with the name of their server. A server that cannot be started does
// not prevent the others from being served.
func openDefinitions(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	f := newFleet(arg, opts.Definitions.withDefaults(), opts.live())
	if err := f.begin(ctx); err != nil {
		_ = f.Close() // another error is returned already
		return nil, err
	}
	return f, nil
}

// defined is a parsed definitions file.
type defined struct {
	merged  *stax.Merged
	imports []string         // files that the definitions file imports
	wrong   map[string]error // servers with an invalid definition, and why

	// values and skipped come from a client's config file: its secrets, and the settings
	// that definitions cannot express.
	values  map[string]stax.Secret
	skipped []error
}

// names returns the names of all servers in the file, including disabled and invalid
// ones.
func (d *defined) names() []string {
	names := make([]string, 0, len(d.merged.Config.Servers))
	for i := range d.merged.Config.Servers {
		names = append(names, d.merged.Config.Servers[i].Name)
	}
	return names
}

// readDefinitions reads and checks a definitions file. An invalid server is not an error
// unless strict is set.
func readDefinitions(arg string, strict bool) (*defined, error) {
	doc, report, err := stax.ReadFile(arg)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	if len(doc.Config.Servers) == 0 {
		if imported := clientFile(arg); imported != nil {
			return imported, nil
		}
	}
	d := &defined{wrong: make(map[string]error), imports: doc.Imports}
	if err := d.judge(arg, report, strict); err != nil {
		return nil, err
	}
	d.merged = stax.Merge(doc)
	if err := d.judge(arg, d.merged.Check(), strict); err != nil {
		return nil, err
	}
	return d, nil
}

// judge records the invalid servers. It returns an error for findings that are not about
// a single server.
func (d *defined) judge(arg string, report *check.Report, strict bool) error {
	wrong, whole := Wrong(report)
	for name, f := range wrong {
		if strict {
			whole = append(whole, f)
		} else if d.wrong[name] == nil {
			d.wrong[name] = errors.New(f.String())
		}
	}
	if len(whole) == 0 {
		return nil
	}
	first := slices.MinFunc(whole, func(a, b check.Finding) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{Arg: arg, Why: wrongLine(&first), Err: &wrongFile{first}, Hint: "slipway config check " + arg}
}

// Wrong groups the errors in a report about definitions: the first error for each server,
// by name, and the errors about the file as a whole. If the report omits findings, all
// errors count as being about the whole file.
func Wrong(report *check.Report) (servers map[string]check.Finding, whole []check.Finding) {
	servers = make(map[string]check.Finding)
	for _, f := range report.Findings() {
		if f.Severity != check.Error {
			continue
		}
		name, ok := serverAt(f.Pointer)
		if !ok || report.Omitted() > 0 {
			whole = append(whole, f)
			continue
		}
		if _, known := servers[name]; !known {
			servers[name] = f
		}
	}
	return servers, whole
}

// wrongFile is the finding that makes a definitions file unusable.
type wrongFile struct{ finding check.Finding }

// Error implements the error interface.
func (w *wrongFile) Error() string { return w.finding.String() }

func wrongLine(f *check.Finding) string {
	return fmt.Sprintf("no definitions of servers that can be used: line %d: %s", max(f.Line, 1), f.Message)
}

// serverAt returns the server that a JSON pointer refers to.
func serverAt(pointer string) (name string, ok bool) {
	tokens := strings.Split(pointer, "/")
	if len(tokens) < 3 || !slices.Contains([]string{"servers", "bindings", "tools"}, tokens[1]) {
		return "", false
	}
	return jsonscan.UnescapeToken(tokens[2]), true
}

// fileName returns a name for all servers of a file together.
func fileName(arg string) string { return Name(strings.TrimSuffix(arg, filepath.Ext(arg))) }
