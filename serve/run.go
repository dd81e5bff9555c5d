package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// Run listens on opts.Addr and serves src there until ctx is done. Then it drains:
// /readyz answers 503; after opts.DrainDelay no more requests are accepted; requests in
// flight finish, or are cancelled after opts.DrainTimeout. Draining is not an error,
// whether or not everything finished in time.
//
// A non-loopback address without opts.Auth, opts.TLS.ClientCA or opts.RemoteWithoutAuth is refused with
// [ErrExposed]. src is not closed.
func Run(ctx context.Context, src mcp.Source, opts *Options) error {
	o := opts.withDefaults()
	if err := o.Check(); err != nil {
		return err
	}
	if err := o.checkNames(ctx, src); err != nil {
		return err
	}
	ln, err := listen(ctx, o)
	if err != nil {
		return err
	}
	return serve(ctx, ln, src, o)
}

// Serve is [Run] on an open listener, whatever its address. It closes ln in any case, also
// when it returns an error at once.
func Serve(ctx context.Context, ln net.Listener, src mcp.Source, opts *Options) error {
	o := opts.withDefaults()
	if err := o.Check(); err != nil {
		_ = ln.Close()
		return err
	}
	if err := o.checkNames(ctx, src); err != nil {
		_ = ln.Close()
		return err
	}
	return serve(ctx, ln, src, o)
}

// checkNames returns an error for a pattern of tool scopes or endpoints that names nothing of
// src. That of a [Pending] one is not known yet.
func (o *Options) checkNames(ctx context.Context, src mcp.Source) error {
	if err := o.checkToolScopes(ctx, src); err != nil {
		return err
	}
	if _, opening := src.(Pending); opening {
		return nil
	}
	return o.proveNames(ctx, src)
}

// serve serves src on ln until ctx is done or src, if it is [Pending], cannot be opened.
// It closes ln.
func serve(ctx context.Context, ln net.Listener, src mcp.Source, o Options) error {
	fresh := new(freshConns)
	info := infoOf(ln.Addr(), o.TLS.Cert != "")
	if public, err := parsePublicURL(o.PublicURL); o.PublicURL != "" && err == nil {
		info.Public = public.String() + EndpointPath
	}
	ln = timeoutListener{ln}
	live := &running{
		source:  src,
		rules:   o.rules,
		exposed: !onLoopback(ln.Addr()),
	}
	live.drain.Store(&o.Connections)
	if o.TLS.Cert != "" {
		cert, err := o.TLS.open(o.Logger)
		if err != nil {
			_ = ln.Close()
			return err
		}
		live.tls = cert
		ln = tls.NewListener(ln, cert.config())
	}
	if o.NoWebSocket {
		info.WebSocket = ""
	}
	handler := newHandler(src, o)
	ctx, starting := o.awaitStartup(ctx, src, handler.showFiles)
	defer starting.close()
	defer o.followNames(ctx, src)()
	hs := &http.Server{
		Handler:           limitStreams(logged(handler, o.Logger)),
		ReadHeaderTimeout: o.ReadHeaderTimeout,
		ReadTimeout:       o.ReadTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    o.MaxHeader,
		ConnState:         fresh.note,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	live.handler = handler
	live.admission = handler.admission
	forget, err := o.Control.follow(ctx, live)
	if err != nil {
		_ = ln.Close()
		return err
	}
	defer forget()
	admin, err := o.startAdmin(ctx, handler)
	if err != nil {
		_ = ln.Close()
		return err
	}
	defer admin.close()
	if admin != nil {
		info.Admin = "http://" + admin.addr.String()
	}
	hs.RegisterOnShutdown(fresh.close)
	handler.hop.run()
	defer handler.hop.close()
	defer handler.connect.run()()
	defer o.checkIssuers(ctx)()
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(ln) }()
	o.Logger.Info("serving", "endpoint", info.Endpoint)
	if o.Auth != nil &&
		o.TLS.Cert == "" &&
		!strings.HasPrefix(o.PublicURL, "https:") &&
		!onLoopback(ln.Addr()) {
		o.Logger.Warn(
			"tokens cross the network unencrypted; give it a certificate," +
				" or name the https address of the proxy in front as the public URL")
	}
	defer o.announce(info.Endpoint, handler.servers(), handler.hop, 100*time.Millisecond)()
	if o.Observer.Started != nil {
		o.Observer.Started(info)
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	handler.Drain()
	failure := starting.failure()
	o.Connections = *live.drain.Load()
	o.DrainDelay = handler.hop.drainDelay(o.DrainDelay)
	o.Logger.Info("draining", "delay", o.DrainDelay, "timeout", o.DrainTimeout)
	if o.DrainDelay > 0 && failure == nil { // no traffic is routed to a server that was never ready
		select {
		case err := <-ended:
			return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
		case <-time.After(o.DrainDelay):
		}
	}
	drain(context.WithoutCancel(ctx), hs, handler, o)
	<-ended
	return failure
}

// drain stops accepting requests, closes WebSockets and event streams, and waits for
// requests in flight until the timeout.
func drain(ctx context.Context, hs *http.Server, handler *Handler, o Options) {
	ctx, cancel := context.WithTimeout(ctx, o.DrainTimeout)
	defer cancel()
	connections := make(chan error, 1)
	go func() { connections <- hs.Shutdown(ctx) }()
	err := errors.Join(handler.Shutdown(ctx), <-connections)
	if err != nil {
		o.Logger.Warn("requests in flight were cancelled", "after", o.DrainTimeout)
		_ = hs.Close() // the listeners are already closed, and the requests cancelled
		return
	}
	o.Logger.Info("drained")
}

// freshConns tracks the connections on which nothing has been received yet. Shutdown
// would wait five seconds for each, and browsers open spare ones.
type freshConns struct{ conns sync.Map } // of net.Conn; every request accesses it

// note is the ConnState hook of the server. A connection is fresh until its first byte.
func (f *freshConns) note(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		f.conns.Store(c, nil)
	case http.StateActive, http.StateClosed:
		f.conns.Delete(c)
	}
}

// close closes the connections that are still fresh.
func (f *freshConns) close() {
	f.conns.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close()
		return true
	})
}

// Stdio serves one client on in and out until in ends or ctx is done; then it drains as
// [Run] does. The opening of a [Pending] Source counts as in flight. src is not closed.
func Stdio(
	ctx context.Context,
	src mcp.Source,
	in io.Reader,
	out io.Writer,
	opts *Options,
) error {
	o := opts.withDefaults()
	o.NoMetrics = true // there is no address to request them from
	if err := o.checkToolScopes(ctx, src); err != nil {
		return err
	}
	d := newAdmission(&o)
	d.limiter = nil // there is one client, which is trusted
	o.observe(d)
	if o.rules.tools.Load() != nil && mcp.PrincipalFrom(ctx) == nil {
		o.Logger.Warn("stdio has no token: tools with a scope cannot be called")
	}
	server := mcpserver.New(src, &o.Server)
	o.StateKeys.follow(server)
	defer o.announce("stdio", servers{server}, nil, 0)()
	live := &running{
		source:    src,
		rules:     o.rules,
		admission: d,
	}
	forget, err := o.Control.follow(ctx, live)
	if err != nil {
		return err
	}
	defer forget()
	ctx, starting := o.awaitStartup(ctx, src, func(mcp.Source) {})
	defer starting.close()
	defer o.followNames(ctx, src)()
	err = server.ServeStdio(ctx, in, out, &mcpserver.StdioOptions{
		MaxLine:      int(o.HTTP.MaxBody),
		DrainTimeout: o.DrainTimeout,
	})
	if failure := starting.wait(ctx, o.DrainTimeout); failure != nil {
		return failure
	}
	return err
}
