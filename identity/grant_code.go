package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Interaction is how a login reaches the user.
type Interaction struct {
	// Show presents the login before anything is opened. It must print the URL, because
	// the browser may be on another machine.
	Show func(*Authorization)
	// Open opens the URL in a browser; nil opens none. The URL is https, or http on this
	// machine. An error is shown by Failed, and the login goes on.
	Open func(ctx context.Context, address string) error
	// Failed, if not nil, is called if Open fails.
	Failed func(error)
	// Paste, if not nil, returns what the user pastes: the address to which the browser
	// returned, or its code. It is called until a login is complete, and must return when
	// ctx ends.
	Paste func(ctx context.Context) (string, error)
	// Rejected, if not nil, is called with the reason why pasted text is not used.
	Rejected func(error)
	// Registering, if not nil, is called if an issuer no longer knows the client that an
	// earlier login registered. The login begins again with a new one, once.
	Registering func(issuer string)
}

// Authorization is a login that waits for the user.
type Authorization struct {
	// Server is the server to log in to, and Issuer the authorization server.
	Server, Issuer string
	// URL is the page to open, and Host its host.
	URL, Host string
	// Scopes are the scopes that the login asks for.
	Scopes []string
	// UserCode is the code to enter on the page, for [Device].
	UserCode string
	// Callback is the address to which the browser returns, for [AuthorizationCode].
	Callback string
}

// codeGrant is AuthorizationCode.
type codeGrant struct{}

// check accepts all settings: the client can be registered during the login.
func (codeGrant) check(*Settings) error { return nil }

// obtain lets the user log in with a browser that returns to a local address (RFC 8252, section
// 7.3). It ends with an error when ctx does.
func (codeGrant) obtain(ctx context.Context, f *flow) (*token, error) {
	if err := f.checkCodeSupport(); err != nil {
		return nil, err
	}
	// The address is bound before it is registered: another port may be refused later.
	listener, err := f.listen(ctx)
	if err != nil {
		return nil, err
	}
	back := newCallback(listener, secrets.URL(f.server))
	defer back.close()
	p, err := f.beginCode(ctx, back.address)
	if err != nil {
		return nil, err
	}
	code, err := f.awaitCode(ctx, p, back)
	if err != nil {
		back.finish(err)
		return nil, err
	}
	t, err := f.finishCode(ctx, p, code)
	back.finish(err)
	return t, err
}

// beginCode prepares a login whose answer arrives at redirect.
func (f *flow) beginCode(ctx context.Context, redirect string) (*pendingCode, error) {
	m := &f.found.server
	if err := f.useClient(ctx, redirect, "authorization_code"); err != nil {
		return nil, err
	}
	p := &pendingCode{
		issuer:    m.Issuer,
		announced: m.IssuerInResponse,
		redirect:  redirect,
		state:     rand.Text() + f.tag,
		verifier:  rand.Text() + rand.Text(), // 52 characters of RFC 7636, section 4.1
	}
	var err error
	p.address, err = f.authorizationURL(p)
	return p, err
}

// finishCode exchanges the code of an answer for a token.
func (f *flow) finishCode(ctx context.Context, p *pendingCode, code string) (*token, error) {
	form := f.form("authorization_code")
	form.Set("code", code)
	form.Set("code_verifier", p.verifier)
	form.Set("redirect_uri", p.redirect)
	return f.request(ctx, form)
}

// checkCodeSupport verifies that the authorization server announces what a code needs.
func (f *flow) checkCodeSupport() error {
	m := &f.found.server
	switch {
	case m.AuthorizationEndpoint == "":
		return fmt.Errorf("the metadata of %s has no authorization_endpoint", secrets.URL(m.Issuer))
	case f.found.assumed || f.settings.AssumePKCE || slices.Contains(m.ChallengeMethods, "S256"):
		return nil
	}
	return &SetupError{
		Text: secrets.URL(m.Issuer) + " does not announce PKCE with S256, so a stolen code could be used",
		Hint: "if you know that it supports PKCE, add --assume-pkce",
	}
}

// listen listens on the port of the settings, on that of the earlier registration, or on
// any.
func (f *flow) listen(ctx context.Context) (net.Listener, error) {
	if port := f.settings.CallbackPort; port != 0 {
		l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return nil, &SetupError{
				Text: fmt.Sprintf("callback port %d: %v", port, err),
				Hint: "close the program that uses the port, or pass another --callback-port",
			}
		}
		return l, nil
	}
	if f.settings.Client.ID == "" {
		known, err := f.client.store.registration(ctx, f.issuer(), "authorization_code")
		if err != nil {
			return nil, err
		}
		if known != nil {
			if u, err := url.Parse(known.Redirect); err == nil {
				if l, err := net.Listen("tcp4", u.Host); err == nil {
					return l, nil
				}
			}
		}
	}
	return net.Listen("tcp4", "127.0.0.1:0")
}

// authorizationURL returns the page on which the user logs in.
func (f *flow) authorizationURL(p *pendingCode) (string, error) {
	u, err := url.Parse(f.found.server.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(p.verifier))
	query := u.Query()
	for name, values := range f.scoped(f.form("")) {
		query[name] = values
	}
	query.Set("response_type", "code")
	query.Set("client_id", f.registration.ID)
	query.Set("redirect_uri", p.redirect)
	query.Set("state", p.state)
	query.Set("code_challenge", base64.RawURLEncoding.EncodeToString(hash[:]))
	query.Set("code_challenge_method", "S256")
	if slices.Contains(f.scopes, "offline_access") {
		query.Set("prompt", "consent") // OpenID Connect Core, section 11
	}
	for name, value := range f.parameters {
		if value == "" {
			query.Del(name)
			continue
		}
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// awaitCode shows the login and waits for its code, from the browser or pasted.
func (f *flow) awaitCode(ctx context.Context, p *pendingCode, back *callback) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := f.present(ctx, &Authorization{
		URL:      p.address,
		Callback: p.redirect,
	}); err != nil {
		return "", err
	}
	pasted := f.pasted(ctx)
	for {
		select {
		case <-ctx.Done():
			return "", waitError(ctx)
		case answer := <-back.answers:
			code, err := p.accept(answer.query)
			// Any page can send the browser to the callback, so an answer with another state is
			// ignored.
			if errors.Is(err, errForeignAnswer) {
				answer.reject()
				continue
			}
			answer.take()
			return code, err
		case text := <-pasted:
			code, err := p.acceptPasted(text)
			if err == nil || !errors.Is(err, errForeignAnswer) {
				return code, err
			}
			if f.ui.Rejected != nil {
				f.ui.Rejected(err)
			}
		}
	}
}

// present shows the login and opens the browser.
func (f *flow) present(ctx context.Context, a *Authorization) error {
	if f.ui == nil || f.ui.Show == nil {
		return &LoginRequiredError{
			Server: f.server,
			Issuer: f.issuer(),
			Scopes: f.scopes,
			Reason: "it requires a login by a person",
		}
	}
	if err := f.describe(a); err != nil {
		return err
	}
	f.ui.Show(a)
	if f.ui.Open != nil {
		if err := f.ui.Open(ctx, a.URL); err != nil && f.ui.Failed != nil {
			f.ui.Failed(err)
		}
	}
	return nil
}

// describe completes what is shown of a login, and verifies the page to open.
func (f *flow) describe(a *Authorization) error {
	if err := f.web.checkURL(a.URL); err != nil {
		return fmt.Errorf("the login page: %w: it was not opened", err)
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return err
	}
	a.Host = u.Host
	a.Server = f.server
	a.Issuer = f.issuer()
	a.Scopes = f.scopes
	return nil
}

// pasted returns a channel with what the user pastes.
func (f *flow) pasted(ctx context.Context) <-chan string {
	if f.ui.Paste == nil {
		return nil
	}
	lines := make(chan string)
	go func() { // ends with ctx or the input
		for {
			text, err := f.ui.Paste(ctx)
			if err != nil {
				return
			}
			select {
			case lines <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// ErrTimeout reports that the user did not complete a login in time.
var ErrTimeout = errors.New("no answer from the browser in time")

// waitError is the error of a login that ended while it waited for the user.
func waitError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return ErrTimeout
	}
	return context.Cause(ctx)
}

// errForeignAnswer reports an answer that does not belong to this login. It is ignored,
// because any page can make the browser send one.
var errForeignAnswer = errors.New("it does not belong to this login")

// pendingCode is what an answer of the authorization server is verified against. It is
// recorded before the browser opens.
type pendingCode struct {
	issuer string
	// announced reports that the server sends its issuer with each answer.
	announced bool
	// redirect is where the answer arrives, and address the page that the user opens.
	redirect, address string
	state, verifier   string
}

// accept verifies an answer and returns its code. Nothing of an answer with another issuer
// is used or shown, not even its error (RFC 9207, section 2.4).
func (p *pendingCode) accept(query url.Values) (code string, err error) {
	if len(query["state"]) != 1 ||
		subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(p.state)) == 0 {
		return "", fmt.Errorf("%w: another state", errForeignAnswer)
	}
	issuers := query["iss"]
	switch {
	case len(issuers) == 0 && p.announced:
		return "", fmt.Errorf("the answer of the browser does not name its issuer, although %s announces that: "+
			"it was not used", secrets.URL(p.issuer))
	case len(issuers) > 1 || len(issuers) == 1 && issuers[0] != p.issuer:
		return "", fmt.Errorf("the answer of the browser is of another issuer than %s: it was not used",
			secrets.URL(p.issuer))
	}
	if query.Has("error") {
		return "", &ServerError{
			Host:        hostOf(p.issuer),
			Code:        printable(query.Get("error")),
			Description: printable(query.Get("error_description")),
		}
	}
	code = query.Get("code")
	if len(query["code"]) != 1 || code == "" || len(code) > maxSecret {
		return "", errors.New("the answer of the browser has no code")
	}
	return code, nil
}

// acceptPasted verifies a pasted address or code. A code alone cannot name its issuer.
func (p *pendingCode) acceptPasted(text string) (code string, err error) {
	text = strings.TrimSpace(text)
	if query, ok := pastedQuery(text); ok {
		return p.accept(query)
	}
	switch {
	case text == "" || strings.ContainsAny(text, " \t"):
		return "", fmt.Errorf("%w: want the address to which the browser returned", errForeignAnswer)
	case p.announced:
		return "", fmt.Errorf("%w: want the whole address, as it names the issuer", errForeignAnswer)
	}
	return text, nil
}

// pastedQuery returns the query of a pasted address, with or without what precedes it.
func pastedQuery(text string) (url.Values, bool) {
	_, query, ok := strings.Cut(text, "?")
	if !ok {
		query = text
	}
	query, _, _ = strings.Cut(query, "#")
	values, err := url.ParseQuery(query)
	return values, err == nil && (values.Has("code") || values.Has("error"))
}

// hostOf returns the host of a URL, for messages.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return u.Host
}
