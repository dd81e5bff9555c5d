package stax

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/identity"
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
// [Resolver.Resolve] and [client.Open], including a
// [*client.BlockedError] if connecting to the server's address is not allowed.
//
// With [Resolver.Shared], a server with auth by user is opened without contacting it; it is
// used with the logins that callers have in [Resolver.Vault].
func (r *Resolver) Open(
	ctx context.Context,
	m *Merged,
	name string,
	opts *OpenOptions,
) (*Opened, error) {
	t, err := r.Resolve(ctx, m, name)
	if err != nil {
		return nil, err
	}
	return r.OpenTarget(ctx, t, opts)
}

// OpenTarget is [Resolver.Open] for a server that has been resolved already. If it fails,
// it removes the files of secrets that it has written.
func (r *Resolver) OpenTarget(ctx context.Context, t *Target, opts *OpenOptions) (*Opened, error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	s := t.server
	byUser := s.Auth != nil && s.Auth.By == AuthByUser && r.Shared && !opts.Whole
	byCaller := s.knowsCallers() && r.Shared && !opts.Whole
	transport, remove, err := r.transport(t, opts)
	if err != nil {
		return nil, err
	}
	o := &Opened{
		resolver: r,
		server:   s.Name,
		warnings: slices.Clone(t.Warnings),
		remove:   remove,
		edits:    t.merged.Config.Edits(s),
		whole:    opts.Whole,
	}
	if a := s.Auth; a != nil && r.Shared && !opts.Whole {
		if secret := a.unboundSecret(); secret != "" {
			o.warnings = append(o.warnings, &identity.SetupError{
				Text: "first logins fail: no issuer is set for " + secret,
				Hint: "set issuer in " + t.merged.authPlace(s),
			})
		}
	}
	src, err := o.start(ctx, transport, s, opts, byUser || byCaller)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	o.live = src
	o.served = src
	o.Source = src
	var isolated *client.Isolated
	switch {
	case byUser || byCaller:
		isolated = client.Isolate(src, r.callerOptions(t))
		o.served = isolated
	case s.Isolate != nil && !opts.Whole:
		o.served = client.Isolate(src, s.Isolate.options())
	}
	o.Source = o.served
	if !opts.Whole {
		if o.Source, err = o.layers(s); err != nil {
			return nil, errors.Join(err, o.Close())
		}
		switch {
		case byUser:
			users := newPerUser(s, o.Source, isolated, r.Vault)
			o.Source = users
			o.forget = users.unwatch
		case byCaller:
			o.Source = newPerCaller(s, o.Source, isolated)
		}
		o.perCaller = byUser || byCaller
		o.current.Store(src)
		if src.State().Starts > 0 {
			o.warnMissing(src)
		}
	}
	return o, nil
}

// transport returns the transport to a server. remove deletes the files created for it.
func (r *Resolver) transport(
	t *Target, opts *OpenOptions,
) (transport client.Transport, remove func() error, err error) {
	if e := t.Endpoint; e != nil {
		endpoint := r.endpoint(t)
		settings := r.Login(t.merged, t.server)
		if err := r.describesCallers(t, endpoint, opts); err != nil {
			return nil, nil, &ServerError{
				Server: t.server.Name,
				Err:    err,
			}
		}
		switch a := t.server.Auth; {
		case a != nil && a.By == AuthByUser && r.Shared && !opts.Whole:
			if r.Vault == nil {
				return nil, nil, &ServerError{
					Server: t.server.Name,
					Err:    ErrUserLogin,
				}
			}
			if r.CheckVault != nil {
				if err := r.CheckVault(); err != nil {
					return nil, nil, &ServerError{
						Server: t.server.Name,
						Err:    fmt.Errorf("its auth is by user: %w", err),
					}
				}
			}
			// It makes no requests itself: each caller has an endpoint.
			if endpoint.Header.Get("Authorization") != "" {
				return nil, nil, &ServerError{
					Server: t.server.Name,
					Err:    errors.New("its auth is by user, and its headers have an Authorization for all: remove one of them"),
				}
			}
		case settings != nil && r.Identity == nil:
			return nil, nil, &ServerError{
				Server: t.server.Name,
				Err:    errors.New("its auth requires a store of logins"),
			}
		case r.Identity != nil:
			endpoint.Credentials = r.Identity.Credentials(e.URL, settings)
		}
		return endpoint, func() error { return nil }, nil
	}
	l := t.Launch
	env, remove, err := l.Environ()
	if err != nil {
		return nil, nil, err
	}
	command := &client.Command{
		Path:   l.Path,
		Args:   l.Args,
		Dir:    l.Dir,
		Env:    env,
		Stderr: opts.Stderr,
	}
	for _, secrets := range []map[string]Secret{l.Secrets, l.Files} {
		for _, secret := range secrets {
			command.Redact = append(command.Redact, secret.Reveal())
		}
	}
	return command, remove, nil
}

// endpoint returns the endpoint of a remote server, without the credentials of a login.
func (r *Resolver) endpoint(t *Target) *client.Endpoint {
	e := t.Endpoint
	return &client.Endpoint{
		URL:    e.URL,
		Header: e.Header(),
		// A secret may have been replaced.
		Renew: func(ctx context.Context) (http.Header, error) {
			now, err := r.Resolve(ctx, t.merged, t.server.Name)
			if err != nil {
				return nil, err
			}
			return now.Endpoint.Header(), nil
		},
		PublicOnly:    true,
		Allow:         e.Networks,
		AllowLoopback: e.Loopback,
	}
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

// Opened is a server as filtered by its definition, its overrides and the lock.
type Opened struct {
	mcp.Source // the outermost layer
	// resolver resolves the secrets again when the server restarts.
	resolver *Resolver
	// server is the name in the definitions, and warnings are those of resolving it.
	server   string
	warnings []error
	live     *client.Source
	observe  func(client.Event) // or nil
	served   server             // live, or one process of it per client
	edits    *compose.Edits
	// whole makes the catalog available without the filter of enabled tools.
	whole bool
	// perCaller is set if each caller has a connection of its own, and forget ends the outermost
	// layer if that is of logins, or is nil.
	perCaller bool
	forget    func()
	// remove deletes the files with secrets when the server is closed.
	remove  func() error
	unwatch func() // nil if the lock has admitted the server

	current atomic.Pointer[client.Source] // live, once its catalog may be read
	once    sync.Once                     // for the warning about missing tools
}

var (
	_ mcp.Source     = (*Opened)(nil)
	_ mcp.Watcher    = (*Opened)(nil)
	_ mcp.Extender   = (*Opened)(nil)
	_ mcp.Subscriber = (*Opened)(nil)
)

// start starts the server, unless the lock does not admit it.
func (o *Opened) start(
	ctx context.Context,
	transport client.Transport,
	s *Server,
	opts *OpenOptions,
	perCaller bool,
) (*client.Source, error) {
	l := client.Options{}
	if opts.Live != nil {
		l = *opts.Live
	}
	if s.ConnectTimeoutMS > 0 {
		l.Timeouts.Start = time.Duration(s.ConnectTimeoutMS) * time.Millisecond
	}
	if s.CallTimeoutMS > 0 {
		l.Timeouts.Call = time.Duration(s.CallTimeoutMS) * time.Millisecond
	}
	if s.HangTimeoutMS > 0 {
		l.Timeouts.Hang = time.Duration(s.HangTimeoutMS) * time.Millisecond
	}
	if s.PingTimeoutMS > 0 {
		l.Timeouts.Ping = time.Duration(s.PingTimeoutMS) * time.Millisecond
	}
	// This process only lists what the server offers.
	if s.Isolate != nil && l.Timeouts.Idle == 0 {
		l.Timeouts.Idle = s.Isolate.options().IdleStop
	}
	if perCaller { // never started: its callers have connections of their own
		l.Lazy = true
		l.Optional = false
		l.Previous.Catalog = unknownCatalog(s)
	}
	l.Failover = s.Failover
	if s.RegistryRef != nil {
		l.Origin = s.RegistryRef.String()
	}
	if o.whole {
		return client.Open(ctx, transport, &l)
	}
	stranger := o.admit(s)
	if stranger != nil && (!l.Optional || perCaller) {
		return nil, stranger
	}
	o.observe = l.Observe
	l.Observe = func(e client.Event) {
		src := o.current.Load()
		if src != nil && e.What == client.EventStarted {
			o.warnMissing(src)
		}
		o.report(e)
	}
	for _, warning := range o.warnings {
		o.report(client.Event{
			Name: s.Name,
			What: client.EventWarning,
			Err:  warning,
		})
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
	o.report(client.Event{
		Server: transport.String(),
		What:   client.EventFailed,
		Err:    stranger,
	})
	return src, nil
}

// report passes an event to the observer, if there is one.
func (o *Opened) report(e client.Event) {
	if o.observe != nil {
		o.observe(e)
	}
}

// admit asks the lock whether the server may be started at all.
func (o *Opened) admit(s *Server) error {
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
func (o *Opened) layers(s *Server) (mcp.Source, error) {
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

// warnMissing warns once about tools that the definition lists and the server does not
// have.
func (o *Opened) warnMissing(src *client.Source) {
	o.once.Do(func() {
		// It has run, so this is what it offered.
		cat, err := src.Catalog(context.Background())
		if err != nil {
			return
		}
		if names := o.edits.Missing(cat); len(names) > 0 {
			err := fmt.Errorf("it has no tool %s, which its definition names",
				strings.Join(names, ", "))
			o.report(client.Event{
				Name: o.server,
				What: client.EventWarning,
				Err:  err,
			})
		}
	})
}

// State returns the current state of the server.
func (o *Opened) State() client.State { return o.live.State() }

// Live returns the server itself, without the layers of its definition and the lock.
func (o *Opened) Live() *client.Source { return o.live }

// Watch implements [mcp.Watcher].
func (o *Opened) Watch(changed func(mcp.Change)) (stop func()) {
	return o.Source.(mcp.Watcher).Watch(changed)
}

// ServeMethod implements [mcp.Extender].
func (o *Opened) ServeMethod(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
	return o.Source.(mcp.Extender).ServeMethod(ctx, method, params)
}

// Subscribe implements [mcp.Subscriber].
func (o *Opened) Subscribe(ctx context.Context, uri string) error {
	return o.Source.(mcp.Subscriber).Subscribe(ctx, uri)
}

// PerCaller reports whether each caller has a connection of its own, with its login, its token
// or headers that describe it. The server itself is then not started.
func (o *Opened) PerCaller() bool { return o.perCaller }

// Close stops the server and deletes its files of secrets.
func (o *Opened) Close() error {
	if o.unwatch != nil {
		o.unwatch()
	}
	if o.forget != nil {
		o.forget()
	}
	return errors.Join(o.served.Close(), o.remove())
}
