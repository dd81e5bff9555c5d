package stax

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
)

// OpenOptions configure [Resolver.Open]. The zero value and nil are the defaults.
type OpenOptions struct {
	// Live says how the server is kept alive. Its StartTimeout is that of the
	// definition, if there is one.
	Live *live.Options
	// Stderr receives what a server of this machine writes to stderr. Nil is nobody.
	Stderr io.Writer
}

// Open starts or reaches one server of definitions and returns it as a Source that
// offers what the definition allows: its tool lists hold for lists and for calls.
// Whoever opened it closes it. ctx bounds the opening only. The errors are those
// of [Resolver.Launch], [Resolver.Endpoint] and [live.Open], a [*live.BlockedError]
// of a server whose address is none that may be connected to among them.
func (r *Resolver) Open(ctx context.Context, m *Merged, name string, opts *OpenOptions) (mcp.Source, error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	s := m.Config.Server(name)
	if s == nil {
		return nil, fmt.Errorf("there is no server %q", name)
	}
	transport, remove, err := r.transport(ctx, m, s, opts)
	if err != nil {
		return nil, err
	}
	o := live.Options{}
	if opts.Live != nil {
		o = *opts.Live
	}
	o.Name = s.Name
	if s.ConnectTimeoutMS > 0 {
		o.StartTimeout = time.Duration(s.ConnectTimeoutMS) * time.Millisecond
	}
	src, err := live.Open(ctx, transport, &o)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return &opened{Source: src, remove: remove, enabled: s.EnabledTools, disabled: s.DisabledTools}, nil
}

// transport makes a transport of a definition. remove takes away what was made
// for it.
func (r *Resolver) transport(ctx context.Context, m *Merged, s *Server, opts *OpenOptions) (t live.Transport, remove func() error, err error) {
	if s.Remote() {
		e, err := r.Endpoint(ctx, m, s.Name)
		if err != nil {
			return nil, nil, err
		}
		return &live.Endpoint{URL: e.URL, Header: e.Header(), PublicOnly: true, Allow: e.Networks}, func() error { return nil }, nil
	}
	l, err := r.Launch(ctx, m, s.Name)
	if err != nil {
		return nil, nil, err
	}
	env, remove, err := l.Environ()
	if err != nil {
		return nil, nil, err
	}
	command := &live.Command{Path: l.Path, Args: l.Args, Dir: l.Dir, Env: env, Stderr: opts.Stderr}
	for _, secret := range l.Secrets {
		command.Redact = append(command.Redact, secret.Reveal())
	}
	return command, remove, nil
}

// opened is a server with the tools that its definition allows.
type opened struct {
	*live.Source
	remove            func() error
	enabled, disabled []string

	catalog  sync.Mutex // guards the two below
	of, made *mcp.Catalog
}

var (
	_ mcp.Source     = (*opened)(nil)
	_ mcp.Watcher    = (*opened)(nil)
	_ mcp.Extender   = (*opened)(nil)
	_ mcp.Subscriber = (*opened)(nil)
)

func (o *opened) allows(tool string) bool {
	return (o.enabled == nil || slices.Contains(o.enabled, tool)) && !slices.Contains(o.disabled, tool)
}

// Catalog implements [mcp.Source].
func (o *opened) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := o.Source.Catalog(ctx)
	if err != nil || o.enabled == nil && len(o.disabled) == 0 {
		return cat, err
	}
	o.catalog.Lock()
	defer o.catalog.Unlock()
	if o.of == cat {
		return o.made, nil
	}
	made := &mcp.Catalog{
		Server: cat.Server, Instructions: cat.Instructions,
		Resources: cat.Resources, Templates: cat.Templates, Prompts: cat.Prompts,
		Completions: cat.Completions, Subscribe: cat.Subscribe, Tasks: cat.Tasks, Logging: cat.Logging,
		Extensions: cat.Extensions, PageSize: cat.PageSize, Cache: cat.Cache,
	}
	for i := range cat.Tools {
		if o.allows(cat.Tools[i].Name) {
			made.Tools = append(made.Tools, cat.Tools[i])
		}
	}
	o.of, o.made = cat, made
	return made, nil
}

// CallTool implements [mcp.Source].
func (o *opened) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if !o.allows(p.Name) {
		return nil, mcp.UnknownTool(p.Name)
	}
	return o.Source.CallTool(ctx, p)
}

// Close ends the server and takes files with secrets away.
func (o *opened) Close() error { return errors.Join(o.Source.Close(), o.remove()) }
