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
// are several. The settings stay as they were: a change of them needs a restart, and then
// the sources stay, too, because they could depend on the settings.
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
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // calls in flight continue while the server drains
	opts := &settings.FollowOptions{Every: watchEvery}
	if r.flags.servers.noWatch {
		opts.Every = 0
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
	if err != nil {
		err = fmt.Errorf("%s: %s", path, fsutil.Reason(err))
	} else {
		err = r.apply(ctx, text)
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
		File:   path,
		Loaded: time.Now(),
	}
	r.log.Info("config reloaded", "file", path, "sources", len(r.args))
}

// configState returns the state of the file.
func (r *reloading) configState() *serve.ConfigState {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.state
	return &state
}

// apply makes the sources those of the file. On error they stay as they were.
func (r *reloading) apply(ctx context.Context, text []byte) error {
	file, report := serveTable().Parse(r.flags.config.file.Path, text)
	if !report.OK(false) {
		return firstError(report)
	}
	if changed := file.Changed(r.flags.config.file); len(changed) > 0 {
		return fmt.Errorf("%s: restart the server to apply the changed settings %s", file.Path, strings.Join(changed, ", "))
	}
	args, names := servedBy(file)
	if !r.flags.config.followed || slices.Equal(args, r.args) && slices.Equal(names, r.names) {
		return nil // servers of definitions follow their files themselves
	}
	if r.parts == nil || len(args) < 2 {
		return fmt.Errorf("%s: restart the server to apply the changed sources: a single one cannot be replaced", file.Path)
	}
	stay, added := r.compare(args)
	if err := r.allowed(args, added); err != nil {
		return err
	}
	fresh, err := r.open(ctx, added)
	if err != nil {
		return err
	}
	next := make([]*reloadingPart, len(args))
	for i, arg := range args {
		next[i] = stay[i]
		if stay[i] == nil {
			at := slices.IndexFunc(fresh, func(p *reloadingPart) bool { return p.arg == arg && !slices.Contains(next, p) })
			next[i] = fresh[at]
		}
	}
	joined, err := r.join(ctx, next, names)
	if err != nil {
		closeReloading(fresh)
		return err
	}
	r.swap.Set(ctx, joined)
	for _, p := range r.parts {
		if !slices.Contains(next, p) {
			r.retire(ctx, p)
		}
	}
	r.parts = next
	r.args = args
	r.names = names
	return nil
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
func (r *reloading) allowed(args, added []string) error {
	path := r.flags.config.file.Path
	if err := oneTokenOneServer(args); err != nil {
		return err
	}
	if len(r.flags.toolScopes) > 0 {
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

// firstError returns the first error of a report.
func firstError(report *check.Report) error {
	for _, f := range report.Findings() {
		if f.Severity == check.Error {
			return errors.New(f.String())
		}
	}
	return errors.New(report.Summary())
}
