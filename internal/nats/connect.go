package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/slipway-mcp/slipway/cluster"
)

// attempt is an attempt to connect, which all callers wait for. Its results may be read once
// done is closed.
type attempt struct {
	done chan struct{}
	nc   *nats.Conn
	err  error
}

var errClosed = errors.New("the engine is closed")

// connection returns the connection, which reconnects by itself once it has been made.
func (e *Engine) connection(ctx context.Context) (*nats.Conn, error) {
	if e.main != nil {
		return e.main.connection(ctx)
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	a := e.connecting
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		e.connecting = a
		go e.connect(a)
	}
	e.mu.Unlock()
	select {
	case <-a.done:
		if a.err == nil && a.nc.IsReconnecting() { // a call would say that a buffer is full
			return nil, fmt.Errorf("%s: %w", strings.Join(e.hosts, ", "), errDisconnected)
		}
		return a.nc, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errDisconnected is the error of calls while the client connects again.
var errDisconnected = errors.New("the connection was lost")

// connect makes an attempt.
func (e *Engine) connect(a *attempt) {
	defer close(a.done)
	a.nc, a.err = e.dial()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case a.err != nil:
		e.connecting = nil
	case e.closed:
		a.nc.Close()
		a.nc, a.err = nil, errClosed
	}
}

// dialer remembers why the last connection failed, which nats.Connect does not report.
type dialer struct {
	net.Dialer

	mu   sync.Mutex
	last error
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	c, err := d.Dialer.Dial(network, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = err
	return c, err
}

func (e *Engine) dial() (*nats.Conn, error) {
	d := &dialer{Dialer: net.Dialer{Timeout: dialTimeout}}
	opts := []nats.Option{
		nats.Name("slipway"),
		nats.Timeout(dialTimeout),
		nats.SetCustomDialer(d),
		nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(maxPings),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectBufSize(-1), // calls fail while there is no connection
		nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { e.interrupt(err) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // calls and subscriptions report them
	}
	if e.opts.TLS != nil {
		opts = append(opts, nats.Secure(e.opts.TLS))
	}
	auth, err := e.authentication()
	if err != nil {
		return nil, err
	}
	opts = append(opts, auth...)
	nc, err := nats.Connect(strings.Join(e.urls, ","), opts...)
	if err == nil {
		return nc, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, nats.ErrNoServers) && d.last != nil {
		err = d.last
	}
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired) {
		err = fmt.Errorf("%w: %w", cluster.ErrRefused, err)
	}
	return nil, fmt.Errorf("%s: %w", strings.Join(e.hosts, ", "), err)
}

// authentication returns the options for the kind of secret. A secret that cannot be read
// later is sent as "", so that the server refuses the connection.
func (e *Engine) authentication() ([]nats.Option, error) {
	secret := func() string {
		if e.opts.Secret == nil {
			return ""
		}
		text, err := e.opts.Secret()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(text)
	}
	if e.opts.Secret != nil {
		if _, err := e.opts.Secret(); err != nil {
			return nil, err
		}
	}
	if e.user != "" {
		return []nats.Option{nats.UserInfoHandler(func() (string, string) { return e.user, secret() })}, nil
	}
	sign := func(nonce []byte) ([]byte, error) {
		key, err := nkeys.ParseDecoratedUserNKey([]byte(secret()))
		if err != nil {
			return nil, err
		}
		defer key.Wipe()
		return key.Sign(nonce)
	}
	switch text := secret(); {
	case text == "":
		return nil, nil
	case strings.Contains(text, "BEGIN NATS USER JWT"):
		jwt := func() (string, error) { return nkeys.ParseDecoratedJWT([]byte(secret())) }
		return []nats.Option{nats.UserJWT(jwt, sign)}, nil
	case strings.HasPrefix(text, "SU"):
		if key, err := nkeys.FromSeed([]byte(text)); err == nil {
			public, err := key.PublicKey()
			return []nats.Option{nats.Nkey(public, sign)}, err
		}
	}
	return []nats.Option{nats.TokenHandler(secret)}, nil
}

// interrupt ends all subscriptions, because events may have been lost.
func (e *Engine) interrupt(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.subscriptions {
		s.end(err)
	}
	clear(e.subscriptions)
}

// Close implements cluster.Engine.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	a := e.connecting
	e.mu.Unlock()
	if a != nil {
		select {
		case <-a.done:
			if a.nc != nil {
				a.nc.Close()
			}
		default: // connect closes it
		}
	}
	e.interrupt(errClosed)
	return nil
}
