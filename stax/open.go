package stax

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
)

// OpenOptions configures [Resolver.Open]. The zero value and nil are the defaults.
type OpenOptions struct {
	// Live controls how the server is kept alive. Timeouts in the definition take
	// precedence.
	Live *client.Options
	// Stderr receives the stderr of a local server. Nil discards it.
	Stderr io.Writer
	// Whole makes Open return everything the server offers, under its own names, regardless
	// of its definition, overrides and lock. It is used to create locks.
	Whole bool
}

// Open starts or connects to one server of the definitions and returns it as a Source.
// The Source offers what the lock, if any, allows, reduced to the tool lists of the
// definition (which apply to lists and calls), with the overrides applied.
//
// A server that the lock does not admit is not started. Open then returns a
// [lock.RefusedError] or, with opts.Live.Optional, a Source that offers nothing until
// the lock admits the server.
//
// The caller closes the Source. ctx bounds the opening only. Other errors are those of
// [Resolver.Launch], [Resolver.Endpoint] and [client.Open], including a
// [*client.BlockedError] if connecting to the server's address is not allowed.
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
	o := &opened{resolver: r, server: name, remove: remove, edits: m.Config.Edits(s), whole: opts.Whole}
	src, err := o.start(ctx, transport, s, opts)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	o.live, o.served, o.Source = src, src, src
	if s.Isolate != nil && !opts.Whole {
		o.served = client.Isolate(src, s.Isolate.options())
		o.Source = o.served
	}
	if !opts.Whole {
		if o.Source, err = o.layers(s); err != nil {
			return nil, errors.Join(err, o.Close())
		}
		o.current.Store(src)
		if src.State().Starts > 0 {
			o.missing(src)
		}
	}
	return o, nil
}

// transport returns the transport for a definition. remove deletes the files created for
// it.
func (r *Resolver) transport(
	ctx context.Context,
	m *Merged,
	s *Server,
	opts *OpenOptions,
) (t client.Transport, remove func() error, err error) {
	if s.Remote() {
		e, err := r.Endpoint(ctx, m, s.Name)
		if err != nil {
			return nil, nil, err
		}
		renew := func(ctx context.Context) (http.Header, error) { // a secret may have been replaced
			now, err := r.Endpoint(ctx, m, s.Name)
			if err != nil {
				return nil, err
			}
			return now.Header(), nil
		}
		return &client.Endpoint{URL: e.URL, Header: e.Header(), Renew: renew, PublicOnly: true, Allow: e.Networks,
			AllowLoopback: e.Loopback}, func() error { return nil }, nil
	}
	l, err := r.Launch(ctx, m, s.Name)
	if err != nil {
		return nil, nil, err
	}
	env, remove, err := l.Environ()
	if err != nil {
		return nil, nil, err
	}
	command := &client.Command{Path: l.Path, Args: l.Args, Dir: l.Dir, Env: env, Stderr: opts.Stderr}
	for _, secrets := range []map[string]Secret{l.Secrets, l.Files} {
		for _, secret := range secrets {
			command.Redact = append(command.Redact, secret.Reveal())
		}
	}
	return command, remove, nil
}

// Origin returns a digest of the parts of the definition that identify the program or the
// address of the server. It covers no secrets. Locks store it.
func (s *Server) Origin() (string, error) {
	text, err := marshal(struct {
		Command   string            `json:"command,omitempty"`
		Args      []string          `json:"args,omitempty"`
		Env       map[string]string `json:"env,omitempty"`
		Cwd       string            `json:"cwd,omitempty"`
		URL       string            `json:"url,omitempty"`
		Transport Transport         `json:"transport,omitempty"`
		Headers   map[string]string `json:"headers,omitempty"`
	}{s.Command, s.Args, s.Env, s.Cwd, s.URL, s.Transport, s.Headers})
	if err != nil {
		return "", err
	}
	return lock.Digest(lock.Origin, text)
}

// server is the innermost source, below the layers.
type server interface {
	mcp.Source
	Close() error
}

// opened is a server as filtered by its definition, its overrides and the lock.
type opened struct {
	mcp.Source // the outermost layer
	resolver   *Resolver
	server     string
	live       *client.Source
	served     server // live, or one process of it per client
	edits      *compose.Edits
	whole      bool
	remove     func() error
	unwatch    func() // nil if the lock has admitted the server

	current atomic.Pointer[client.Source] // live, once its catalog may be read
	once    sync.Once                     // for the warning about missing tools
}

var (
	_ mcp.Source     = (*opened)(nil)
	_ mcp.Watcher    = (*opened)(nil)
	_ mcp.Extender   = (*opened)(nil)
	_ mcp.Subscriber = (*opened)(nil)
)

// start starts the server, unless the lock does not admit it.
func (o *opened) start(
	ctx context.Context,
	transport client.Transport,
	s *Server,
	opts *OpenOptions,
) (*client.Source, error) {
	l := client.Options{}
	if opts.Live != nil {
		l = *opts.Live
	}
	if s.ConnectTimeoutMS > 0 {
		l.StartTimeout = time.Duration(s.ConnectTimeoutMS) * time.Millisecond
	}
	if s.CallTimeoutMS > 0 {
		l.CallTimeout = time.Duration(s.CallTimeoutMS) * time.Millisecond
	}
	if s.HangTimeoutMS > 0 {
		l.HangTimeout = time.Duration(s.HangTimeoutMS) * time.Millisecond
	}
	if s.PingTimeoutMS > 0 {
		l.PingTimeout = time.Duration(s.PingTimeoutMS) * time.Millisecond
	}
	if s.Isolate != nil && l.IdleStop == 0 { // this process only lists what the server offers
		l.IdleStop = s.Isolate.options().IdleStop
	}
	if s.RegistryRef != nil {
		l.Origin = s.RegistryRef.String()
	}
	if o.whole {
		return client.Open(ctx, transport, &l)
	}
	stranger := o.admit(s)
	if stranger != nil && !l.Optional {
		return nil, stranger
	}
	log := l.Log
	l.Log = func(e client.Event) {
		if src := o.current.Load(); src != nil && e.What == "started" {
			o.missing(src)
		}
		if log != nil {
			log(e)
		}
	}
	if stranger == nil {
		return client.Open(ctx, transport, &l)
	}
	l.Lazy = true // not started until the lock admits it
	src, err := client.Open(ctx, transport, &l)
	if err != nil {
		return nil, err
	}
	o.unwatch = o.resolver.Guard.Watch(func() {
		if o.admit(s) == nil {
			_, _ = src.Catalog(context.Background()) // starts it; returns without waiting
		}
	})
	if log != nil {
		log(client.Event{Server: transport.String(), What: "failed", Err: stranger})
	}
	return src, nil
}

func (o *opened) admit(s *Server) error {
	if o.resolver.Guard == nil {
		return nil
	}
	origin, err := s.Origin()
	if err != nil {
		return err
	}
	return o.resolver.Guard.Admit(s.Name, origin)
}

// layers wraps the server in the lock and the definition. The lock comes first because it
// uses the server's own names.
func (o *opened) layers(s *Server) (mcp.Source, error) {
	var src mcp.Source = o.served
	if o.resolver.Guard != nil {
		origin, err := s.Origin()
		if err != nil {
			return nil, err
		}
		src = lock.Restrict(s.Name, src, o.resolver.Guard, origin)
	}
	return compose.Edit(src, o.edits)
}

// missing warns once about tools that the definition lists and the server does not have.
func (o *opened) missing(src *client.Source) {
	if o.resolver.Warn == nil {
		return
	}
	o.once.Do(func() {
		cat, err := src.Catalog(context.Background()) // it has run, so this is what it offered
		if err != nil {
			return
		}
		if names := o.edits.Missing(cat); len(names) > 0 {
			o.resolver.Warn(o.server, fmt.Errorf("it has no tool %s, which its definition names", strings.Join(names, ", ")))
		}
	})
}

// State returns the current state of the server.
func (o *opened) State() client.State { return o.live.State() }

// Live returns the server itself, without the layers of its definition and the lock.
func (o *opened) Live() *client.Source { return o.live }

// Watch implements [mcp.Watcher].
func (o *opened) Watch(changed func(mcp.Change)) (stop func()) {
	return o.Source.(mcp.Watcher).Watch(changed)
}

// ServeMethod implements [mcp.Extender].
func (o *opened) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	return o.Source.(mcp.Extender).ServeMethod(ctx, method, params)
}

// Subscribe implements [mcp.Subscriber].
func (o *opened) Subscribe(ctx context.Context, uri string) error {
	return o.Source.(mcp.Subscriber).Subscribe(ctx, uri)
}

// Close stops the server and deletes its files of secrets.
func (o *opened) Close() error {
	if o.unwatch != nil {
		o.unwatch()
	}
	return errors.Join(o.served.Close(), o.remove())
}
