package identity

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// BeginOptions configure [Client.Begin] and [Client.BeginProof].
type BeginOptions struct {
	// Redirect is the address of the web server at which the answer arrives: https, or http
	// on this machine. It is required.
	Redirect string
	// Settings and Reason are as in [LoginOptions].
	Settings *Settings
	Reason   *LoginRequiredError

	tag string // appended to the state
}

// Begun is a login that waits for the answer of the browser, which a web server receives. It
// is for one answer: [Begun.Finish] or [Begun.FinishProof] succeeds once.
type Begun struct {
	flow *flow
	// pending has the state and the PKCE verifier, and shown what the user has to open.
	pending *pendingCode
	shown   Authorization
}

// ErrForeignAnswer reports that an answer does not belong to a login. The login still waits.
var ErrForeignAnswer = errForeignAnswer

// Begin starts a login to a server with the authorization code grant, for web servers:
// [Client.Login] is for programs on the machine of the user. Nothing is opened or stored yet.
// Errors are as in Login.
func (c *Client) Begin(ctx context.Context, server string, opts *BeginOptions) (*Begun, error) {
	f, err := c.start(ctx, server, &LoginOptions{
		Settings: opts.Settings,
		Reason:   opts.Reason,
	})
	if err != nil {
		return nil, err
	}
	f.tag = opts.tag
	if f.settings.grant() != AuthorizationCode {
		return nil, fmt.Errorf("a login in the browser needs the grant %s", AuthorizationCode)
	}
	return f.begin(ctx, opts.Redirect)
}

// begin prepares a login whose answer arrives at a web server.
func (f *flow) begin(ctx context.Context, redirect string) (*Begun, error) {
	if u, err := url.Parse(redirect); err != nil || u.Scheme != "https" && !netguard.NamesLoopback(redirect) {
		return nil, fmt.Errorf("%s is not an https URL: a code would travel in plain text", secrets.URL(redirect))
	}
	f.hosted = true
	if err := f.checkCodeSupport(); err != nil {
		return nil, err
	}
	p, err := f.beginCode(ctx, redirect)
	if err != nil {
		return nil, err
	}
	b := &Begun{
		flow:    f,
		pending: p,
	}
	b.shown.URL = p.address
	b.shown.Callback = redirect
	return b, f.describe(&b.shown)
}

// Authorization returns what to show to the user, and the page to open.
func (b *Begun) Authorization() Authorization { return b.shown }

// State returns the state by which the answer is recognized. It is secret.
func (b *Begun) State() string { return b.pending.state }

// Finish verifies the query of an answer and stores the login. The error matches
// [ErrForeignAnswer] if the answer belongs to another login, and is otherwise as in
// [Client.Login].
func (b *Begun) Finish(ctx context.Context, query url.Values) (*Login, error) {
	t, err := b.exchange(ctx, query)
	if err != nil {
		return nil, err
	}
	c := b.flow.client
	r, err := c.recordOf(b.flow, t)
	if err != nil {
		return nil, err
	}
	return c.keep(ctx, b.flow, r)
}

// FinishProof verifies the query of an answer and returns the access token, which identifies
// the user of the browser. It is not stored.
func (b *Begun) FinishProof(ctx context.Context, query url.Values) (token string, err error) {
	t, err := b.exchange(ctx, query)
	if err != nil {
		return "", err
	}
	if t.dpop {
		return "", errors.New("the issuer answered with a token that is bound to a key")
	}
	return t.access, nil
}

// exchange verifies an answer and exchanges its code. The request is not cancelled with the
// browser's, which would lose the only refresh token.
func (b *Begun) exchange(ctx context.Context, query url.Values) (*token, error) {
	code, err := b.pending.accept(query)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	t, err := b.flow.finishCode(ctx, b.pending, code)
	return t, b.flow.client.forgetClient(ctx, b.flow, err)
}
