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
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// DefinitionsOptions say how the servers of a file of definitions are opened.
type DefinitionsOptions struct {
	// Resolver finds their secrets; nil stands for one that asks the environment.
	Resolver *stax.Resolver
	// Settle is how long to wait for all of them to have been started once; 0
	// stands for 20 seconds. One whose definition has a shorter connectTimeoutMs is
	// waited for no longer than that. A server that takes longer joins when it is there.
	Settle time.Duration
	// Background says that Open does not wait for the servers: what is there is served
	// at once, the others join when they have started, and only requests for lists wait
	// for them, until Settle after Open; 0 means 2 seconds then, and for a single server
	// until its start has succeeded or failed. Without Background everything waits, as is
	// right for a program that makes one request.
	Background bool
	// StartWait is how long Open waits for servers in the Background all the same, so
	// that the first clients see those that are quick; 0 means 300 milliseconds.
	StartWait time.Duration
	joined    bool // the file is one of several sources, see [Later]
	settles   bool // Settle was given
	// Prefix says which tools and prompts get the name of their server in front.
	Prefix compose.Prefix
	// Strict refuses a file in which one server is defined wrongly. Otherwise that
	// one is left out.
	Strict bool
	// MaxServers is how many of a file are started; 0 stands for 200. Further ones
	// are left out.
	MaxServers int

	// Lazy says not to start a server before it is called, if what it offers is
	// known from an earlier time. If it is not, it is started once to learn that.
	Lazy bool
	// CacheDir is the folder where what servers offer is remembered for Lazy; "" is
	// nowhere. It is made when it is needed.
	CacheDir string
	// IdleStop is how long a server of this machine may have nothing to do before
	// it is stopped, until it is needed again; 0 stands for never. One of whose
	// resources somebody wants to hear has something to do.
	IdleStop time.Duration

	// Watch is how often the file is looked at; 0 stands for never. When it has
	// changed, so do the servers, see [Open]; and a server that was left out because
	// its program was not there is tried when the program is.
	Watch time.Duration
	// Again, if not nil, has the file read again, and secrets looked up again,
	// each time something comes from the channel that it returns, until stop.
	Again func() (again <-chan os.Signal, stop func())
	// Drain is how long calls may go on in a server that is not offered any more, or
	// was replaced, before it is ended; 0 stands for 10 minutes.
	Drain time.Duration

	// Trouble is told of each server that cannot be started at first: one that is
	// left out because of its definition or its secrets, one that failed and is
	// tried again, and one that is not waited for any longer. It may be called by several at once. Nil is nobody.
	Trouble func(server string, err error)
	// LeftOut is told, each time the file has been read, of all servers that are
	// neither served nor tried, and why: their definition is not valid, or a secret is
	// missing. Nil is nobody.
	LeftOut func(file string, servers map[string]error)
	// Logger is told what a changed file came to; nil is nobody.
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

// IsDefinitions reports whether the name of a file is that of definitions.
func IsDefinitions(path string) bool {
	return stax.FormatOf(path) != 0
}

// slowStart is after how long a server that has not started yet is reported.
const slowStart = 20 * time.Second

// openDefinitions starts all enabled servers of a file and joins them: tools that
// share a name get that of their server in front. One server that cannot be
// started does not keep the others from being served.
func openDefinitions(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	f := newFleet(arg, opts.Definitions.withDefaults(), opts.live())
	if err := f.begin(ctx); err != nil {
		_ = f.Close() // another error is on its way
		return nil, err
	}
	return f, nil
}

// defined is what a file of definitions says.
type defined struct {
	merged *stax.Merged
	wrong  map[string]error // servers whose definition is not valid, and why

	// values and skipped are of the configuration of a client: the secrets in it, and
	// what has no place in definitions.
	values  map[string]stax.Secret
	skipped []error
}

// names returns the names of all servers in the file, also of those that are
// disabled or wrong.
func (d *defined) names() []string {
	names := make([]string, 0, len(d.merged.Config.Servers))
	for i := range d.merged.Config.Servers {
		names = append(names, d.merged.Config.Servers[i].Name)
	}
	return names
}

// readDefinitions reads and checks a file of definitions. What is wrong with one
// server is no error, unless strict is set.
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
	d := &defined{wrong: make(map[string]error)}
	if err := d.judge(arg, report, strict); err != nil {
		return nil, err
	}
	d.merged = stax.Merge(doc)
	if err := d.judge(arg, d.merged.Check(), strict); err != nil {
		return nil, err
	}
	return d, nil
}

// judge notes which servers are wrong. An error is one that is not about a single
// server.
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

// Wrong sorts the errors of a report about definitions: the first about each single
// server, by its name, and those that are about all of them. Where the report leaves
// findings out, all are about all.
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

// wrongFile is why a file of definitions is not used, with its place.
type wrongFile struct{ finding check.Finding }

// Error implements the error interface.
func (w *wrongFile) Error() string { return w.finding.String() }

func wrongLine(f *check.Finding) string {
	return fmt.Sprintf("no definitions of servers that can be used: line %d: %s", max(f.Line, 1), f.Message)
}

// serverAt returns the server that a JSON pointer is about.
func serverAt(pointer string) (name string, ok bool) {
	tokens := strings.Split(pointer, "/")
	if len(tokens) < 3 || !slices.Contains([]string{"servers", "bindings", "tools"}, tokens[1]) {
		return "", false
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[2]), true
}

// fileName is the name of what a file's servers are together.
func fileName(arg string) string { return Name(strings.TrimSuffix(arg, filepath.Ext(arg))) }
