package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

// Values of --lock: no lock, and a required lock.
const (
	lockOff      = "off"
	lockRequired = "required"
)

// lockFlags adds --lock and --lock-policy to a command that opens sources.
func lockFlags(cmd *cobra.Command) {
	cmd.Flags().String("lock", "",
		"verify sources against this lock `FILE` (default: slipway.lock beside the definitions, or here, if there is one); off for none; required to refuse sources without one")
	cmd.Flags().Var(oneOf(new(lock.Policy), "block", "warn"), "lock-policy", "`action` when a source no longer matches its lock: block or warn")
}

// lockPath returns the lock that a command verifies its sources against, or "" for none.
func lockPath(cmd *cobra.Command, args []string) (string, error) {
	flag := cmd.Flags().Lookup("lock")
	switch {
	case flag == nil || flag.Value.String() == lockOff:
		return "", nil
	case flag.Value.String() != "" && flag.Value.String() != lockRequired:
		return flag.Value.String(), nil
	}
	found := ""
	for _, path := range lockCandidates(args) {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if found != "" {
			return "", usage("--lock FILE says which, --lock off that none does", "%s: %s and %s could both hold", cmd.Name(), found, path)
		}
		found = path // even if unreadable: reading it returns the reason
	}
	return found, nil
}

// lockCandidates returns the paths where the lock of sources is searched: next to each
// definitions file, and in the working directory for other sources.
func lockCandidates(args []string) (paths []string) {
	for _, arg := range args {
		if path := lockBeside(arg); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

func lockBeside(arg string) string {
	if isDefinitionsFile(arg) {
		return filepath.Join(filepath.Dir(arg), lock.FileName)
	}
	return lock.FileName
}

// definitionsOf returns the names of the definitions files among args, sorted.
func definitionsOf(args []string) (names []string) {
	for _, arg := range args {
		if name := filepath.Base(arg); isDefinitionsFile(arg) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isDefinitionsFile reports whether arg is a definitions file.
func isDefinitionsFile(arg string) bool {
	if strings.Contains(arg, "://") || strings.HasPrefix(arg, "exec:") || !open.IsDefinitions(arg) {
		return false
	}
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}

// readLock reads a lock. An invalid one is refused, not ignored.
func readLock(path string) (*lock.File, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, &failure{code: exitInput, text: path + ": " + fsutil.Reason(err),
			hint: "slipway lock SOURCE creates one"}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, lock.MaxBytes+1))
	if err != nil {
		return nil, nil, &failure{code: exitInput, text: path + ": " + fsutil.Reason(err)}
	}
	file, err := lock.Parse(text)
	if err != nil {
		return nil, nil, &failure{code: exitPolicy,
			text: path + ": the lock cannot be believed: " + visible.Line(err.Error()),
			hint: "take the last one that was good out of version control, then slipway lock approve"}
	}
	return file, text, nil
}

// withoutLock extends the hint of a readLock error for commands that also work without a
// lock. The lock commands do not.
func withoutLock(err error) error {
	var f *failure
	if errors.As(err, &f) && f.code == exitInput {
		f.hint += "; --lock off runs without a lock"
	}
	return err
}

// guarding is the lock of a command and its path.
type guarding struct {
	*lock.Guard
	path string
	seen fsutil.Snap
	say  func(format string, args ...any)

	exempt []string // definitions files that an automatically found lock does not cover

	audit *serve.Audit // nil without an audit log
}

// record writes drifts to an audit log, which may be nil.
func (g *guarding) record(audit *serve.Audit) {
	if g != nil {
		g.audit = audit
	}
}

// newGuarding reads the lock of a command. It returns nil if there is none. follows means
// that the command runs long enough for the lock to change.
func newGuarding(cmd *cobra.Command, args []string, follows bool) (*guarding, error) {
	path, err := lockPath(cmd, args)
	if err != nil {
		return nil, err
	}
	named := ""
	if flag := cmd.Flags().Lookup("lock"); flag != nil {
		named = flag.Value.String()
	}
	if path == "" && named == lockRequired {
		return nil, notLocked(cmd, args)
	}
	if path == "" {
		return nil, nil
	}
	g := &guarding{path: path, seen: fsutil.Snapshot(path), say: sayer(cmd.ErrOrStderr())}
	file, _, err := readLock(path)
	if err != nil {
		return nil, withoutLock(err)
	}
	if named == "" || named == lockRequired {
		if g.exempt = notCovered(file, path, args); len(g.exempt) > 0 {
			if named == lockRequired {
				return nil, notLocked(cmd, g.exempt)
			}
			if stdio, _ := cmd.Flags().GetBool("stdio"); !stdio { // the client that starts it shows no stderr
				g.say("the %s here does not cover %s, to which no lock applies", lock.FileName,
					strings.Join(sourceNames(g.exempt), ", "))
			}
		}
		if len(g.exempt) == len(args) {
			return nil, nil
		}
	}
	o := &lock.GuardOptions{Policy: lock.Policy(strings.TrimPrefix(cmd.Flags().Lookup("lock-policy").Value.String(), "block")), Replaced: follows}
	o.Report = func(d lock.Drift) { g.tell(d, o.Policy) }
	g.Guard = lock.NewGuard(file, o)
	return g, nil
}

// notLocked returns the error of --lock required for sources without a lock.
func notLocked(cmd *cobra.Command, args []string) error {
	what := strings.Join(sourceNames(args), ", ")
	return &failure{code: exitPolicy, text: fmt.Sprintf("%s: --lock required: no lock covers %s", cmd.Name(), what),
		hint: "slipway lock " + strings.Join(args, " ")}
}

// notCovered returns the sources that an automatically found lock does not cover:
// definitions files that it was not created for, or all sources if it covers none of
// them. The lock of a project does not apply to every command that runs in its folder,
// such as the servers it locks. But if it covers one of the sources, other sources on the
// same command line are verified against it, too.
func notCovered(file *lock.File, path string, args []string) (exempt []string) {
	covers := false
	for i, name := range sourceNames(args) {
		if !isDefinitionsFile(args[i]) {
			covers = covers || knows(file, name, args[i])
			continue
		}
		made := len(file.Definitions) == 0 || slices.Contains(file.Definitions, filepath.Base(args[i]))
		if lockBeside(args[i]) == path && made {
			covers = true
		} else {
			exempt = append(exempt, args[i])
		}
	}
	if !covers {
		return args
	}
	return exempt
}

// knows reports whether a lock contains a source of that name that is started, or
// reached, like arg.
func knows(file *lock.File, name, arg string) bool {
	locked := file.Sources[name]
	if locked == nil {
		return false
	}
	_, started := locked.Items[lock.Item{Kind: lock.Origin}]
	return started == (originOf(arg) != "")
}

// options returns the options for opening one of several sources.
func (g *guarding) options(arg string, opts *open.Options) *open.Options {
	if g == nil || !slices.Contains(g.exempt, arg) {
		return opts
	}
	own, definitions, resolver := *opts, *opts.Definitions, *opts.Definitions.Resolver
	resolver.Guard = nil
	definitions.Resolver, own.Definitions = &resolver, &definitions
	return &own
}

// sayer returns a function that writes lines and is safe for concurrent use.
func sayer(w io.Writer) func(format string, args ...any) {
	var one sync.Mutex
	return func(format string, args ...any) {
		one.Lock()
		defer one.Unlock()
		say(w, format, args...)
	}
}

func (g *guarding) tell(d lock.Drift, policy lock.Policy) {
	what := ": not offered until it is approved"
	switch {
	case !d.Refused():
		what = ""
	case policy == lock.Warn:
		what = ": offered all the same"
	}
	g.say("%s: %s: %s%s", g.path, visible.Line(d.Source), d, what)
	g.audit.Server(&serve.AuditServer{Name: d.Source, What: "drift", Reason: d.String() + what})
}

// over wraps sources with the lock. Servers in definitions are verified individually,
// where they are opened.
func (g *guarding) over(args []string, sources []mcp.Source) []mcp.Source {
	if g == nil {
		return sources
	}
	out := slices.Clone(sources)
	for i, name := range sourceNames(args) {
		if !isDefinitionsFile(args[i]) {
			out[i] = lock.Restrict(name, sources[i], g.Guard, originOf(args[i]))
		}
	}
	return out
}

// following rereads the lock when it has changed, until stop is called. An invalid one is
// ignored.
func (g *guarding) following(ctx context.Context) (stop func()) {
	if g == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { g.follow(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

func (g *guarding) follow(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	last := g.seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := fsutil.Snapshot(g.path)
		if now == last && now != g.seen { // unchanged since the last tick: it is not being written
			g.seen = now
			g.reload()
		}
		last = now
	}
}

func (g *guarding) reload() {
	file, _, err := readLock(g.path)
	if err != nil {
		g.say("%v; what was locked stays so", err)
		return
	}
	g.Replace(file)
	g.say("%s: read again", g.path)
}

// hold verifies servers in definitions against the lock when opts opens them, and refuses
// other sources that the lock does not contain before they are opened.
func (g *guarding) hold(args []string, opts *open.Options, stderr io.Writer) error {
	g.guard(opts.Definitions.Resolver, stderr)
	if g == nil {
		return nil
	}
	for i, name := range sourceNames(args) {
		if isDefinitionsFile(args[i]) {
			continue
		}
		if err := g.Admit(name, originOf(args[i])); err != nil {
			return stranger(name+": "+err.Error(), err)
		}
	}
	return nil
}

// guard makes a resolver verify servers against the lock, and print warnings to stderr.
func (g *guarding) guard(r *stax.Resolver, stderr io.Writer) {
	say := sayer(stderr)
	r.Warn = func(server string, err error) { say("server %s: %v", server, err) }
	if g != nil {
		r.Guard = g.Guard
	}
}

// sourceNames returns distinct names of sources.
func sourceNames(args []string) (names []string) {
	for _, arg := range args {
		name := open.Name(arg)
		for n := 2; slices.Contains(names, name); n++ {
			name = open.Name(arg) + "-" + strconv.Itoa(n)
		}
		names = append(names, name)
	}
	return names
}

// stranger returns the error for a server that the lock refuses, or nil for other errors.
func stranger(text string, err error) *failure {
	var refused *lock.RefusedError
	if !errors.As(err, &refused) {
		return nil
	}
	return &failure{code: exitPolicy, text: text, hint: "slipway lock diff shows what is different, slipway lock approve accepts it"}
}
