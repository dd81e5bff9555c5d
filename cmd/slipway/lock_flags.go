package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	shell "github.com/slipway-mcp/slipway/internal/process"
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
		"verify sources against this lock `FILE` (default: slipway.lock next to the definitions, or in the current folder, "+
			"if it exists); off disables locks; required refuses sources without one")
	cmd.Flags().Var(oneOf(new(lock.Policy), "block", "warn"), "lock-policy",
		"`action` when a source no longer matches its lock: block or warn")
}

// namedLock returns the file that --lock names, or "".
func namedLock(cmd *cobra.Command) string {
	flag := cmd.Flags().Lookup("lock")
	if flag == nil || flag.Value.String() == lockOff || flag.Value.String() == lockRequired {
		return ""
	}
	return flag.Value.String()
}

// lockPath returns the lock that a command verifies its sources against, or "" for none.
// found reports whether it was found rather than named.
func lockPath(cmd *cobra.Command, args []string) (path string, found bool, err error) {
	flag := cmd.Flags().Lookup("lock")
	if flag == nil || flag.Value.String() == lockOff {
		return "", false, nil
	}
	named := namedLock(cmd)
	switch {
	case named != "":
		return named, false, nil
	case flag.Changed && flag.Value.String() == "":
		return "", false, usage("--lock FILE names a lock; off disables locks", "%s: --lock is empty", cmd.Name())
	}
	path, err = lock.Find(targetsOf(args))
	var several *lock.SelectionError
	if errors.As(err, &several) {
		err = usage(several.Hint, "%s: %s", cmd.Name(), several.Message)
	}
	if path == "" && err == nil && flag.Value.String() == lockRequired {
		err = notLocked(cmd, args)
	}
	return path, true, err
}

// isDefinitionsFile reports whether a SOURCE is a file with definitions, by its name. Its
// content is checked when it is opened.
func isDefinitionsFile(arg string) bool {
	if strings.Contains(arg, "://") ||
		strings.HasPrefix(arg, "exec:") ||
		stax.FormatOf(arg) == 0 {
		return false
	}
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}

// openLock opens a lock. An invalid one is refused, not ignored.
func openLock(path string) (*lock.File, error) {
	file, err := lock.Open(path)
	var invalid *lock.InvalidError
	switch {
	case errors.As(err, &invalid):
		return nil, denied("restore the last good version from version control, then slipway lock approve", "%v", invalid)
	case err != nil:
		return nil, badInput("slipway lock SOURCE creates one", "%s: %s", path, fsutil.Reason(err))
	}
	return file, nil
}

// guarding is the lock of a command.
type guarding struct {
	*lock.Guard
	// path is the lock file, named is path if --lock names it, and say prints what the lock hides.
	path, named string
	say         func(format string, args ...any)

	exempt []string // definitions files that an automatically found lock does not cover

	// audit receives drift, if the command has an audit log.
	audit *currentAudit
}

// record writes drifts to an audit log.
func (g *guarding) record(audit *currentAudit) {
	if g != nil {
		g.audit = audit
	}
}

// newGuarding opens the lock of a command. It returns nil if there is none. follows means
// that the command runs long enough for the lock to change.
func newGuarding(cmd *cobra.Command, args []string, follows bool) (*guarding, error) {
	path, found, err := lockPath(cmd, args)
	if err != nil || path == "" {
		return nil, err
	}
	g := &guarding{
		path:  path,
		named: namedLock(cmd),
		say:   sayer(cmd.ErrOrStderr()),
	}
	file, err := openLock(path)
	if err != nil {
		if f, ok := err.(*failure); ok && f.code == exitInput {
			f.hint += "; --lock off runs without a lock"
		}
		return nil, err
	}
	if found {
		targets := targetsOf(args)
		uncovered := file.Uncovered(path, targets)
		for i, t := range targets {
			if slices.Contains(uncovered, t) {
				g.exempt = append(g.exempt, args[i])
			}
		}
		stdio, _ := cmd.Flags().GetBool("stdio")
		switch {
		case len(g.exempt) == 0:
		case cmd.Flags().Lookup("lock").Value.String() == lockRequired:
			return nil, notLocked(cmd, g.exempt)
		case !stdio: // the client that starts it shows no stderr
			g.say("the %s here does not cover %s, to which no lock applies", lock.FileName,
				strings.Join(sourceNames(g.exempt), ", "))
		}
		if len(g.exempt) == len(args) {
			return nil, nil
		}
	}
	policy := lock.Policy(strings.TrimPrefix(cmd.Flags().Lookup("lock-policy").Value.String(), "block"))
	g.Guard = lock.NewGuard(file, &lock.GuardOptions{
		Policy:   policy,
		Replaced: follows,
		Report:   func(d lock.Drift) { g.tell(d, policy) },
	})
	return g, nil
}

// hints returns a function that reads hints from the lock in force, or nil without a lock.
func (g *guarding) hints() func(server, tool string) (hints mcp.ToolAnnotations, locked bool) {
	if g == nil {
		return nil
	}
	return func(server, tool string) (mcp.ToolAnnotations, bool) {
		return g.File().Hints(server, tool)
	}
}

// inForce returns a function that returns the lock which hints reads.
func (g *guarding) inForce() func() any {
	if g == nil {
		return nil
	}
	return func() any { return g.File() }
}

// notLocked returns the error of --lock required for sources without a lock.
func notLocked(cmd *cobra.Command, args []string) error {
	what := strings.Join(sourceNames(args), ", ")
	return denied("slipway lock "+typeableSources(args), "%s: --lock required: no lock covers %s", cmd.Name(), what)
}

// options returns the options for opening one of several sources.
func (g *guarding) options(arg string, opts *open.Options) *open.Options {
	if g == nil || !slices.Contains(g.exempt, arg) {
		return opts
	}
	own := *opts
	definitions := *opts.Definitions
	resolver := *opts.Definitions.Resolver
	resolver.Guard = nil
	definitions.Resolver = &resolver
	own.Definitions = &definitions
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

// tell reports a difference from the lock on stderr and in the audit log, with its effect
// under the policy.
func (g *guarding) tell(d lock.Drift, policy lock.Policy) {
	what := ": not offered until it is approved"
	switch {
	case !d.Refused():
		what = ""
	case policy == lock.Warn:
		what = ": offered all the same"
	}
	g.say("%s: %s: %s%s", g.path, visible.Line(d.Source), d, what)
	g.audit.load().Server(&serve.AuditServer{
		Name:   d.Source,
		What:   "drift",
		Reason: d.String() + what,
	})
}

// over wraps sources with the lock. Servers in definitions are verified individually,
// where they are opened.
func (g *guarding) over(args []string, sources []mcp.Source) []mcp.Source {
	if g == nil {
		return sources
	}
	out := slices.Clone(sources)
	for i, t := range targetsOf(args) {
		if t.Definitions == "" {
			out[i] = lock.Restrict(t.Name, sources[i], g.Guard, t.Origin)
		}
	}
	return out
}

// following rereads the lock when it has changed, until stop is called.
func (g *guarding) following() (stop func()) {
	if g == nil {
		return func() {}
	}
	return g.Follow(func(err error) {
		if err != nil {
			g.say("%v; keeping the previous lock", err)
			return
		}
		g.say("%s: read again", g.path)
	})
}

// hold verifies servers in definitions against the lock when opts opens them, and refuses
// other sources that the lock does not contain before they are opened.
func (g *guarding) hold(args []string, opts *open.Options) error {
	g.guard(opts.Definitions.Resolver)
	return g.admit(args)
}

// admit refuses sources that the lock does not contain, except definitions.
func (g *guarding) admit(args []string) error {
	if g == nil {
		return nil
	}
	for i, t := range targetsOf(args) {
		if t.Definitions != "" {
			continue
		}
		if err := g.Admit(t.Name, t.Origin); err != nil {
			return stranger(t.Name+": "+err.Error(), err, g.named, args[i])
		}
	}
	return nil
}

// guard makes a resolver verify servers against the lock.
func (g *guarding) guard(r *stax.Resolver) {
	if g != nil {
		r.Guard = g.Guard
	}
}

// sourceNames returns distinct names of sources.
func sourceNames(args []string) (names []string) {
	for _, arg := range args {
		name := open.Argument(arg).Name()
		for n := 2; slices.Contains(names, name); n++ {
			name = open.Argument(arg).Name() + "-" + strconv.Itoa(n)
		}
		names = append(names, name)
	}
	return names
}

// lockWords returns the words that follow a command about the lock called named, or about that of the
// sources if it is "".
func lockWords(named string, args []string) string {
	words := typeableSources(args)
	if named != "" {
		words = "--lock " + shell.PathWord(named) + " " + words
	}
	return words
}

// reviewHint returns the commands that show and accept how sources differ from the lock called named,
// or from their own if it is "".
func reviewHint(named string, args ...string) string {
	words := lockWords(named, args)
	return "slipway lock diff " + words + " shows the differences, slipway lock approve " + words + " accepts them"
}

// stranger returns the error for a server of args that the lock refuses, or nil for other errors.
// named is as for reviewHint.
func stranger(text string, err error, named string, args ...string) *failure {
	var refused *lock.RefusedError
	if !errors.As(err, &refused) {
		return nil
	}
	return denied(reviewHint(named, args...), "%s", text)
}
