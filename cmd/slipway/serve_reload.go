package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
)

// reloading applies changes of the configuration file: it replaces the sources, if there
// are several, and the settings that a running server can change. A change of the settings
// with which sources are opened is refused as a whole, because the sources could depend on
// them; other settings that need a restart are named.
type reloading struct {
	flags *serveFlags
	cmd   *cobra.Command
	opts  *open.Options
	lock  *guarding
	log   *slog.Logger

	args, names []string         // what is served
	parts       []*reloadingPart // nil if it cannot be replaced
	swap        *compose.Swap
	departing   sync.WaitGroup

	control serve.Control
	applied *settings.File // the last file that was applied
	current *serveFlags    // the settings of it

	mu    sync.Mutex
	state serve.ConfigState
}

// reloadingPart is one of the sources.
type reloadingPart struct {
	arg    string
	source *compose.Retirable
}

// start opens the sources.
func (r *reloading) start(ctx context.Context) (mcp.Source, error) {
	if err := oneTokenOneServer(r.args); err != nil {
		return nil, err
	}
	r.opts.Definitions.Startup.Wait = r.flags.start.least()
	parts, err := r.open(ctx, r.args)
	if err != nil {
		return nil, err
	}
	joined, err := r.join(ctx, parts, r.names)
	if err != nil {
		closeReloading(parts)
		return nil, err
	}
	r.parts = parts
	r.swap = compose.NewSwap(joined)
	return r.swap, nil
}

// open opens sources that are served together.
func (r *reloading) open(ctx context.Context, args []string) (parts []*reloadingPart, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	joined := *r.opts
	joined.Settle = max(r.opts.Definitions.Startup.Settle, 0)
	if joined.Settle == 0 {
		joined.Settle = defaultSettle
	}
	sources, err := openAtOnce(args, func(arg string) (mcp.Source, error) {
		return open.Open(ctx, arg, r.lock.options(arg, &joined))
	})
	if err != nil {
		return nil, err
	}
	for i, src := range r.lock.over(args, sources) {
		parts = append(parts, &reloadingPart{
			arg:    args[i],
			source: compose.NewRetirable(src),
		})
	}
	return parts, nil
}

// join returns the union of the parts under the given names. Names of tools that collide are
// an error if no prefix can separate them.
func (r *reloading) join(ctx context.Context, parts []*reloadingPart, names []string) (mcp.Source, error) {
	var named []compose.Named
	args := make([]string, len(parts))
	for i, p := range parts {
		args[i] = p.arg
		named = append(named, compose.Named{
			Name:   names[i],
			Source: p.source,
		})
	}
	joined, err := compose.Union(ctx, named, r.flags.union(args, r.opts, r.log))
	if err != nil {
		return nil, no("give them other names, or serve them on separate addresses", "%v", err)
	}
	return joined, nil
}

// closeReloading closes the sources of parts that will not be served.
func closeReloading(parts []*reloadingPart) {
	for _, p := range parts {
		closeSource(p.source.Source)
	}
}

// follow applies changes of the file, if there is one, until stop is called, which also
// closes the sources that start has opened.
func (r *reloading) follow(ctx context.Context) (stop func()) {
	if r.flags.config.file == nil {
		return func() {}
	}
	r.state = serve.ConfigState{
		File:   r.flags.config.file.Path,
		Loaded: time.Now(),
	}
	r.flags.Config = r.configState
	r.flags.Control = &r.control
	r.applied, r.current = r.flags.config.file, r.flags
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // calls in flight continue while the server drains
	opts := &settings.FollowOptions{Every: watchEvery}
	if info, err := os.Stat(r.state.File); r.flags.servers.noWatch || err == nil && !info.Mode().IsRegular() {
		opts.Every = 0 // a pipe has been read
	}
	hup := make(chan os.Signal, 1)
	if s := reloadSignal(); s != nil {
		signal.Notify(hup, s)
		opts.Now = hup
	}
	file := r.flags.config.file
	var following sync.WaitGroup
	following.Go(func() {
		settings.Follow(ctx, file.Path, file.Text, opts, func(text []byte, err error) {
			r.reload(ctx, text, err)
		})
	})
	return func() {
		signal.Stop(hup)
		cancel()
		following.Wait()
		r.departing.Wait()
		closeReloading(r.parts)
	}
}

// reload applies a changed file, and records the outcome.
func (r *reloading) reload(ctx context.Context, text []byte, err error) {
	path := r.flags.config.file.Path
	var outcome reloadOutcome
	if err != nil {
		err = fmt.Errorf("%s: %s", path, fsutil.Reason(err))
	} else {
		outcome, err = r.apply(ctx, text)
	}
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.state.Failing = true
		r.state.Error = err.Error()
		r.log.Error("config reload failed, keeping the previous configuration", "error", err)
		return
	}
	r.state = serve.ConfigState{
		File:    path,
		Loaded:  time.Now(),
		Restart: outcome.waiting,
	}
	r.log.Info("config reloaded", "file", path, "sources", len(r.args), "settings", strings.Join(outcome.changed, ", "))
	if len(outcome.waiting) > 0 {
		r.log.Warn("restart the server to apply the other changed settings", "file", path,
			"settings", strings.Join(outcome.waiting, ", "))
	}
}

// reloadOutcome lists the names of settings that differ.
type reloadOutcome struct {
	changed []string // since the last reload, and applied
	waiting []string // since the start, and not applied before a restart
}

// configState returns the state of the file.
func (r *reloading) configState() *serve.ConfigState {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.state
	return &state
}

// apply makes the sources and settings those of the file. On error everything stays as it
// was.
func (r *reloading) apply(ctx context.Context, text []byte) (reloadOutcome, error) {
	file, report := serveTable().Parse(r.flags.config.file.Path, text)
	if !report.OK(false) {
		return reloadOutcome{}, firstError(report)
	}
	outcome, err := r.differences(file)
	if err != nil {
		return outcome, err
	}
	next, level, err := r.settings(file, outcome.changed)
	if err != nil {
		return outcome, err
	}
	replace, discard, err := r.replacement(ctx, file, next)
	if err != nil {
		return outcome, err
	}
	if next != r.current {
		if err := r.change(ctx, next); err != nil {
			discard()
			return outcome, err
		}
		r.flags.logged.Set(level)
		r.current = next
	}
	replace()
	r.applied = file
	return outcome, nil
}

// differences returns which settings a file changes. Settings that a flag or a variable
// overrides are not among them. It returns an error for settings of the sources.
func (r *reloading) differences(file *settings.File) (reloadOutcome, error) {
	var outcome reloadOutcome
	for _, s := range file.Changed(r.applied) {
		if !s.Restart && !r.overridden(s) {
			outcome.changed = append(outcome.changed, s.Name())
		}
	}
	var refused []string
	for _, s := range file.Changed(r.flags.config.file) {
		encrypted := s.Group == "tls" && (file.Value("tls-cert") == nil) != (r.flags.TLS.Cert == "")
		switch {
		case r.overridden(s) || !s.Restart && !encrypted:
		case s.Group == "sources" || s.Group == "definitions":
			refused = append(refused, s.Name())
		default:
			outcome.waiting = append(outcome.waiting, s.Name())
		}
	}
	if len(refused) > 0 {
		return outcome, fmt.Errorf("%s: restart the server to apply the changed settings %s", file.Path,
			strings.Join(refused, ", "))
	}
	return outcome, nil
}

// overridden reports whether a flag or a variable takes precedence over a setting.
func (r *reloading) overridden(s *settings.Setting) bool {
	origin := r.flags.config.origins[s.Flag]
	return origin != "" && !r.flags.config.inFile(origin)
}

// settings returns the settings of a file and its log level, or the current ones if it
// changes none.
func (r *reloading) settings(file *settings.File, changed []string) (next *serveFlags, level slog.Level, err error) {
	if len(changed) == 0 {
		return r.current, r.flags.logged.Level(), nil
	}
	next, flags, err := r.flags.reloaded(r.cmd, file)
	if err != nil {
		return nil, 0, err
	}
	args, _ := servedBy(file)
	for _, c := range next.conflicts(args) {
		if !c.outside {
			return nil, 0, fmt.Errorf("%s: %s", file.Path, inFile(c.message))
		}
	}
	if err := next.complete(r.log); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", file.Path, err)
	}
	next.Logger = r.log
	return next, logLevel(r.cmd, slog.Level(next.logLevel), flags.Changed("log-level")), nil
}

// change makes the server use other settings, and another audit log if they name one.
func (r *reloading) change(ctx context.Context, next *serveFlags) error {
	next.Audit = r.flags.recording.Load()
	closeOld := func() {}
	if next.audit != r.current.audit {
		opened, closeNew, err := next.audit.open(r.log)
		if err != nil {
			return err
		}
		if err := r.control.Apply(ctx, next.withAudit(opened)); err != nil {
			closeNew()
			return err
		}
		r.flags.recording.Store(opened)
		closeOld, r.flags.closeAudit = r.flags.closeAudit, closeNew
	} else if err := r.control.Apply(ctx, &next.Options); err != nil {
		return err
	}
	r.departing.Go(func() {
		defer closeOld()
		select { // lines of requests that end at this moment
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	})
	return nil
}

// withAudit returns the options with an audit log.
func (f *serveFlags) withAudit(audit *serve.Audit) *serve.Options {
	f.Audit = audit
	return &f.Options
}

// replacement opens the sources that a file adds, and returns a function that makes the
// sources those of the file, and another one that closes what was opened. next are the
// settings of the file.
func (r *reloading) replacement(ctx context.Context, file *settings.File, next *serveFlags) (
	replace, discard func(), err error,
) {
	args, names := servedBy(file)
	if !r.flags.config.followed || slices.Equal(args, r.args) && slices.Equal(names, r.names) {
		return func() {}, func() {}, nil // servers of definitions follow their files themselves
	}
	if r.parts == nil || len(args) < 2 {
		return nil, nil, fmt.Errorf("%s: restart the server to apply the changed sources: a single one cannot be replaced",
			file.Path)
	}
	stay, added := r.compare(args)
	if err := r.allowed(args, added, next); err != nil {
		return nil, nil, err
	}
	fresh, err := r.open(ctx, added)
	if err != nil {
		return nil, nil, err
	}
	parts := make([]*reloadingPart, len(args))
	for i, arg := range args {
		parts[i] = stay[i]
		if stay[i] == nil {
			at := slices.IndexFunc(fresh, func(p *reloadingPart) bool { return p.arg == arg && !slices.Contains(parts, p) })
			parts[i] = fresh[at]
		}
	}
	discard = func() { closeReloading(fresh) }
	joined, err := r.join(ctx, parts, names)
	if err != nil {
		discard()
		return nil, nil, err
	}
	return func() {
		r.swap.Set(ctx, joined)
		for _, p := range r.parts {
			if !slices.Contains(parts, p) {
				r.retire(ctx, p)
			}
		}
		r.parts = parts
		r.args = args
		r.names = names
	}, discard, nil
}

// compare returns, for each argument, the part that serves it already, or nil; and the
// arguments that have to be opened.
func (r *reloading) compare(args []string) (stay []*reloadingPart, added []string) {
	stay = make([]*reloadingPart, len(args))
	for i, arg := range args {
		at := slices.IndexFunc(r.parts, func(p *reloadingPart) bool { return p.arg == arg && !slices.Contains(stay, p) })
		if at >= 0 {
			stay[i] = r.parts[at]
		} else {
			added = append(added, arg)
		}
	}
	return stay, added
}

// allowed returns an error for sources that a running server cannot change to: what
// depends on the number or the names of the sources is decided when it starts.
func (r *reloading) allowed(args, added []string, next *serveFlags) error {
	path := r.flags.config.file.Path
	if err := oneTokenOneServer(args); err != nil {
		return err
	}
	if len(r.current.toolScopes)+len(next.toolScopes) > 0 {
		return fmt.Errorf("%s: restart the server to change the sources: serve.access.toolScopes refers to them", path)
	}
	if r.lock != nil {
		return r.lock.admit(added)
	}
	lock, err := newGuarding(r.cmd, args, true)
	if err != nil {
		return err
	}
	if lock != nil {
		return fmt.Errorf("%s: restart the server to verify the sources against %s", path, lock.path)
	}
	return nil
}

// retire closes a source once its calls have ended, or ctx is done.
func (r *reloading) retire(ctx context.Context, p *reloadingPart) {
	idle := p.source.Retire()
	limit := cmp.Or(max(r.opts.Definitions.Reload.Drain, 0), 10*time.Minute)
	r.departing.Go(func() {
		defer closeSource(p.source.Source)
		limit, stop := context.WithTimeout(ctx, limit)
		defer stop()
		select {
		case <-idle:
		case <-limit.Done():
		}
	})
}

// firstError returns the first error of a report, which explains why it was rejected.
func firstError(report *check.Report) error {
	for _, f := range report.Findings() {
		if f.Severity == check.Error {
			return errors.New(f.String())
		}
	}
	return errors.New(report.Summary())
}
