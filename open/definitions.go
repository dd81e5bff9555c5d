package open

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// DefinitionsOptions say how the servers of a file of definitions are opened.
type DefinitionsOptions struct {
	// Resolver finds their secrets; nil stands for one that asks the environment.
	Resolver *stax.Resolver
	// Settle is how long to wait for all of them to have been started once; 0
	// stands for 20 seconds. A server that takes longer joins when it is there.
	Settle time.Duration
	// Prefix says which tools and prompts get the name of their server in front.
	Prefix compose.Prefix
	// Trouble is told of each server that cannot be started at first: one that is
	// left out because of its definition or its secrets, and one that failed and is
	// tried again. It may be called by several at once. Nil is nobody.
	Trouble func(server string, err error)
}

func (o *DefinitionsOptions) trouble(server string, err error) {
	if o.Trouble != nil {
		o.Trouble(server, err)
	}
}

// IsDefinitions reports whether the name of a file is that of definitions.
func IsDefinitions(path string) bool {
	return stax.FormatOf(path) != 0
}

// openDefinitions starts all enabled servers of a file and joins them: tools that
// share a name get that of their server in front. One server that cannot be
// started does not keep the others from being served.
func openDefinitions(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	var o DefinitionsOptions
	if opts.Definitions != nil {
		o = *opts.Definitions
	}
	if o.Resolver == nil {
		o.Resolver = &stax.Resolver{}
	}
	if o.Settle <= 0 {
		o.Settle = 20 * time.Second
	}
	merged, err := definitionsIn(arg)
	if err != nil {
		return nil, err
	}
	f := &fleet{options: &o, live: opts.live()}
	for i := range merged.Config.Servers {
		f.open(ctx, merged, &merged.Config.Servers[i])
	}
	if len(f.parts) == 0 {
		return nil, f.nothing(arg)
	}
	f.settle(ctx)
	joined, err := compose.Union(ctx, f.parts, &compose.UnionOptions{Prefix: o.Prefix, Server: mcp.Implementation{Name: Name(strings.TrimSuffix(arg, filepath.Ext(arg))), Version: "1"}})
	if err != nil {
		f.close()
		return nil, &Error{Arg: arg, Why: err.Error(), Err: err}
	}
	return joined, nil
}

// definitionsIn reads and checks a file of definitions.
func definitionsIn(arg string) (*stax.Merged, error) {
	doc, report, err := stax.ReadFile(arg)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	if !report.OK(false) {
		return nil, &Error{Arg: arg, Why: firstError(report), Hint: "slipway config check " + arg}
	}
	merged := stax.Merge(doc)
	if report := merged.Check(); !report.OK(false) {
		return nil, &Error{Arg: arg, Why: firstError(report), Hint: "slipway config check " + arg}
	}
	return merged, nil
}

func firstError(report *check.Report) string {
	for _, f := range report.Findings() {
		if f.Severity == check.Error {
			return fmt.Sprintf("no definitions of servers that can be used: line %d: %s", max(f.Line, 1), f.Message)
		}
	}
	return report.Summary()
}

// fleet is the servers of a file as they are started.
type fleet struct {
	options *DefinitionsOptions
	live    *LiveOptions
	parts   []compose.Named
	failed  []error
	started sync.WaitGroup // of each the first attempt
}

// open starts one server, and does not wait for it.
func (f *fleet) open(ctx context.Context, merged *stax.Merged, s *stax.Server) {
	var o live.Options
	if f.live.Source != nil {
		o = *f.live.Source
	}
	o.Optional = true
	log, first := o.Log, sync.Once{}
	f.started.Add(1)
	o.Log = func(e live.Event) {
		if e.What == "failed" || e.What == "started" {
			first.Do(func() {
				if e.Err != nil {
					f.options.trouble(s.Name, e.Err)
				}
				f.started.Done()
			})
		}
		if log != nil {
			log(e)
		}
	}
	src, err := f.options.Resolver.Open(ctx, merged, s.Name, &stax.OpenOptions{Live: &o, Stderr: f.live.Stderr})
	if err == nil {
		f.parts = append(f.parts, compose.Named{Name: s.Name, Source: src})
		return
	}
	first.Do(f.started.Done)
	if !errors.Is(err, stax.ErrDisabled) {
		f.failed = append(f.failed, err)
		f.options.trouble(s.Name, err)
	}
}

// settle waits until each server has been started once or could not be.
func (f *fleet) settle(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		f.started.Wait()
		close(done)
	}()
	limit := time.NewTimer(f.options.Settle)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// nothing is the error of a file none of whose servers can be tried.
func (f *fleet) nothing(arg string) *Error {
	if len(f.failed) == 0 {
		return &Error{Arg: arg, Why: "it has no servers that are enabled"}
	}
	return &Error{Arg: arg, Why: "none of its servers can be started", Kind: Remote, Err: errors.Join(f.failed...)}
}

func (f *fleet) close() {
	for _, p := range f.parts {
		if c, ok := p.Source.(interface{ Close() error }); ok {
			_ = c.Close() // another error is on its way
		}
	}
}
