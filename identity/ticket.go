package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
)

// ConnectPath is the path of the page of a vault, to which the ID of a ticket is appended, and
// callbackOf that of the address to which browsers return.
const ConnectPath = "/connect/"

// ConnectCallback is the path to which browsers return from a login.
const ConnectCallback = ConnectPath + "callback"

// Limits of tickets. An ID has 130 bits.
const (
	ticketLife          = 10 * time.Minute
	maxTickets          = 1000
	maxTicketsPerCaller = 8
	// maxAttempts is how often the page of a ticket may begin a login, which makes requests.
	maxAttempts = 10
)

// ticketPhase is the state of a ticket:
//
//	phase    event                                         next
//	asked    the page begins a proof                       proving
//	proving  the browser proves to be the caller           proved
//	proving  it proves to be another user, or fails        asked
//	proved   the page begins the login to the server       joining
//	joining  the login fails                               proved
//	joining  the login is stored                           joined
//
// The page may begin again in every phase up to joining. A ticket that expires or is replaced
// is removed in any phase.
type ticketPhase int

const (
	asked ticketPhase = iota
	proving
	proved
	joining
	joined
)

// ticket is a login that a caller was asked for. Its ID is the one-time part of the address.
// It is guarded by Vault.mu.
type ticket struct {
	id     string
	number string // for the client; it opens nothing
	caller Caller
	// server is the URL of the server, and need why it needs a login.
	server  string
	need    *LoginRequiredError
	expires time.Time

	phase    ticketPhase
	attempts int
	busy     bool // a request of the page is being handled
	// browser is the secret of the browser that began the proof, and the only one that may
	// continue.
	browser string
	begun   *Begun
	// session is the latest client that was asked, or nil. It learns that the login is done.
	session mcp.Session
	done    chan struct{} // closed when it is joined
}

// TicketError is why a page cannot go on. Its text is for the user of the browser.
type TicketError struct {
	// Text says what happened, and Gone that the ticket can no longer be used.
	Text string
	Gone bool
}

// Error implements the error interface.
func (e *TicketError) Error() string { return e.Text }

// errGone is the error for an unknown or expired ticket. They are not told apart.
var errGone = &TicketError{
	Text: "This address is not valid, or no longer: it works once, for 10 minutes. " +
		"Go back to your MCP client and try again to get another one.",
	Gone: true,
}

// errStranger is the error for the browser of another user.
var errStranger = &TicketError{
	Text: "This address was made for another user than the one who is signed in here. Nothing was connected.",
}

// ticketFor returns the open ticket of a caller for a server, or a new one.
func (v *Vault) ticketFor(c Caller, server string, need *LoginRequiredError) (*ticket, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expireLocked()
	own := 0
	for _, t := range v.tickets {
		if t.caller != c {
			continue
		}
		own++
		if t.phase < joined && SameServer(t.server, server) && slices.Equal(t.need.Scopes, need.Scopes) {
			return t, nil
		}
	}
	switch {
	case own >= maxTicketsPerCaller:
		return nil, mcp.Errorf(mcp.CodeToolBusy, "%d logins of this caller are already open: complete one of them", own)
	case len(v.tickets) >= maxTickets:
		return nil, mcp.Errorf(mcp.CodeToolBusy, "%d logins are already open", len(v.tickets))
	}
	v.number++
	t := &ticket{
		id:      rand.Text(),
		number:  strconv.Itoa(v.number) + "-" + rand.Text(),
		caller:  c,
		server:  server,
		need:    need,
		expires: v.now().Add(ticketLife),
		done:    make(chan struct{}),
	}
	v.tickets[t.id] = t
	v.log.Info("caller asked to log in", "principal", c.String(), "server", secrets.URL(server), "reason", need.Reason)
	return t, nil
}

// expireLocked removes tickets whose time is over.
func (v *Vault) expireLocked() {
	now := v.now()
	for _, t := range v.tickets {
		if now.After(t.expires) {
			v.removeLocked(t)
		}
	}
}

func (v *Vault) removeLocked(t *ticket) {
	delete(v.tickets, t.id)
	v.awaitLocked(t, nil)
}

// awaitLocked sets the login whose answer a ticket waits for.
func (v *Vault) awaitLocked(t *ticket, b *Begun) {
	if t.begun != nil {
		delete(v.states, t.begun.State())
	}
	if t.begun = b; b != nil {
		v.states[b.State()] = t
	}
}

// Ticket is what the page of a ticket may show.
type Ticket struct {
	// Proved reports that the browser has proved to be the caller. Without that, the other
	// fields are empty.
	Proved bool
	// Joined reports that the login is complete.
	Joined bool
	Caller Caller
	// Server is the name of the server, and Host its host.
	Server, Host string
	// Scopes are those that the login asks for, as far as they are known.
	Scopes []string
}

// Ticket returns what to show to a browser. browser is its secret, or empty.
func (v *Vault) Ticket(id, browser string) (*Ticket, error) {
	v.mu.Lock()
	v.expireLocked()
	t := v.tickets[id]
	if t == nil {
		v.mu.Unlock()
		return nil, errGone
	}
	if t.phase < proved || !t.isBrowser(browser) {
		v.mu.Unlock()
		return &Ticket{}, nil
	}
	shown := &Ticket{
		Proved: true,
		Joined: t.phase == joined,
		Caller: t.caller,
		Host:   hostOf(t.server),
		Scopes: t.need.requested(),
	}
	server := t.server
	v.mu.Unlock()
	shown.Server = v.nameOf(server)
	return shown, nil
}

// requested returns the scopes that a login asks for, as far as they are known before it begins:
// see flow.selectScopes.
func (e *LoginRequiredError) requested() []string {
	switch {
	case e.settings == nil || len(e.settings.Scopes) == 0:
		return slices.Clone(e.Scopes)
	case e.demand.code == "insufficient_scope":
		return mergeScopes(e.settings.Scopes, e.Scopes)
	}
	return mergeScopes(e.settings.Scopes)
}

// isBrowser reports whether a secret is that of the browser that began.
func (t *ticket) isBrowser(browser string) bool {
	return t.browser != "" && subtle.ConstantTimeCompare([]byte(t.browser), []byte(browser)) == 1
}

// BrowserSecret is the least length of the secret of a browser.
const BrowserSecret = 26

// claim reserves a ticket for a request of its page, which begins a login.
func (v *Vault) claim(id string, may func(*ticket) error) (*ticket, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expireLocked()
	t := v.tickets[id]
	if t == nil || t.phase == joined {
		return nil, errGone
	}
	if err := may(t); err != nil {
		return nil, err
	}
	switch {
	case t.busy:
		return nil, &TicketError{Text: "Another request for this address is in progress. Wait, and try again."}
	case t.attempts == maxAttempts:
		v.removeLocked(t)
		return nil, errGone
	}
	t.attempts++
	t.busy = true
	return t, nil
}

// release ends the reservation of claim. If begun is not nil, the ticket waits for its answer.
func (v *Vault) release(t *ticket, next ticketPhase, begun *Begun) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.releaseLocked(t, next, begun)
}

// releaseLocked reports whether the ticket is in the next phase: a ticket that is joined or
// gone meanwhile stays so.
func (v *Vault) releaseLocked(t *ticket, next ticketPhase, begun *Begun) bool {
	t.busy = false
	if v.tickets[t.id] != t || t.phase == joined {
		return false
	}
	t.phase = next
	v.awaitLocked(t, begun)
	return true
}

// Prove begins the proof that the user of a browser is the caller of a ticket, and returns the
// page to open. The ticket then belongs to that browser, until another one begins.
func (v *Vault) Prove(ctx context.Context, id, browser string) (address string, err error) {
	host, err := v.hosted()
	if err != nil {
		return "", err
	}
	if len(browser) < BrowserSecret {
		return "", errors.New("the secret of a browser is too short")
	}
	t, err := v.claim(id, func(*ticket) error { return nil })
	if err != nil {
		return "", err
	}
	resource, ok := host.Resource(t.caller.Issuer)
	if !ok {
		v.release(t, asked, nil)
		return "", errGone
	}
	settings := v.proof
	begun, err := v.client.BeginProof(ctx, t.caller.Issuer, resource, &BeginOptions{
		Redirect: host.Base + ConnectCallback,
		Settings: &settings,
	})
	if err != nil {
		v.release(t, asked, nil)
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.releaseLocked(t, proving, begun) {
		return "", errGone
	}
	t.browser = browser // together with the phase: what was proved by another browser is void
	return begun.Authorization().URL, nil
}

// Join begins the login to the server of a ticket, and returns the page to open. The browser
// must have proved to be the caller.
func (v *Vault) Join(ctx context.Context, id, browser string) (address string, err error) {
	host, err := v.hosted()
	if err != nil {
		return "", err
	}
	t, err := v.claim(id, func(t *ticket) error {
		if t.phase < proved || !t.isBrowser(browser) {
			return errStranger
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	begun, err := v.client.For(t.caller.key()).Begin(ctx, t.server, &BeginOptions{
		Redirect: host.Base + ConnectCallback,
		Settings: t.need.settings,
		Reason:   t.need,
	})
	if err != nil {
		v.release(t, proved, nil)
		return "", err
	}
	v.release(t, joining, begun)
	return begun.Authorization().URL, nil
}

// Answer handles the answer with which a browser returns from a login, and returns the ID of
// its ticket. The answer of another browser than the one that began changes nothing.
func (v *Vault) Answer(ctx context.Context, browser string, query url.Values) (id string, err error) {
	host, err := v.hosted()
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	v.expireLocked()
	t := v.states[query.Get("state")]
	if t == nil || len(query["state"]) != 1 {
		v.mu.Unlock()
		return "", errGone
	}
	if !t.isBrowser(browser) {
		v.mu.Unlock()
		return "", &TicketError{Text: "This login was begun in another browser. Nothing was connected."}
	}
	begun := t.begun
	phase := t.phase
	v.awaitLocked(t, nil) // an answer is used once
	t.busy = true
	v.mu.Unlock()
	if phase == proving {
		return t.id, v.proveCaller(ctx, host, t, begun, query)
	}
	return t.id, v.join(ctx, t, begun, query)
}

// proveCaller verifies that the user of the browser is the caller of a ticket.
func (v *Vault) proveCaller(ctx context.Context, host *VaultHost, t *ticket, begun *Begun, query url.Values) error {
	token, err := begun.FinishProof(ctx, query)
	if err != nil {
		v.release(t, asked, nil)
		return err
	}
	p, err := host.Verify(ctx, token)
	if err != nil {
		v.release(t, asked, nil)
		v.log.Error("the issuer's token for the page that connects is not valid here", "issuer", t.caller.Issuer,
			"error", err)
		return &TicketError{Text: "The gateway does not accept the token of " + hostOf(t.caller.Issuer) +
			". Its log says why."}
	}
	if who, ok := CallerOf(p); !ok || who != t.caller {
		v.release(t, asked, nil)
		v.log.Warn("a page that connects was opened by another user", "principal", t.caller.String(),
			"opened by", p.Name)
		return errStranger
	}
	v.release(t, proved, nil)
	return nil
}

// join completes the login to the server of a ticket.
func (v *Vault) join(ctx context.Context, t *ticket, begun *Begun, query url.Values) error {
	login, err := begun.Finish(ctx, query)
	if err != nil {
		v.release(t, proved, nil)
		return err
	}
	v.mu.Lock()
	first := v.releaseLocked(t, joined, nil)
	session := t.session
	v.mu.Unlock()
	v.log.Info("caller connected", "principal", t.caller.String(), "server", v.nameOf(t.server),
		"issuer", secrets.URL(login.Issuer))
	v.tell(t.caller, t.server)
	if first {
		close(t.done)
	}
	if session != nil {
		session.ElicitationComplete(t.number)
	}
	return nil
}

// holdTime is how long a repeated call of 2026-07-28 waits for the login.
const holdTime = time.Minute

// ConnectError asks the user to open an address, for clients that cannot be asked.
type ConnectError struct {
	// Server is the name of the server, and URL the page to open.
	Server, URL string
	// Pending reports that the user was asked and has not completed the login yet.
	Pending bool
}

// Error returns what to show to the model and to the user.
func (e *ConnectError) Error() string {
	text := fmt.Sprintf("%q requires a login", e.Server)
	if e.Pending {
		text = fmt.Sprintf("the login to %q is not complete yet", e.Server)
	}
	return text + ": ask the user to open " + e.URL + " in a browser within 10 minutes, and repeat the call afterwards"
}

// Ask asks the caller of ctx to log in to a server, and returns nil once that is done.
//
// A client that has elicitation by URL is asked in its version: up to 2025-11-25 the call
// waits; in 2026-07-28 the error is [mcp.ErrInputRequired], and the repeated call waits up to
// a minute. Otherwise, and if the login takes longer, the error is a [*ConnectError] with the
// address.
func (v *Vault) Ask(ctx context.Context, server string, need *LoginRequiredError) error {
	host, err := v.hosted()
	if err != nil {
		return mcp.Errorf(mcp.CodeToolUnavailable, "%q requires a login, and %v", v.nameOf(server), err)
	}
	name := v.nameOf(server)
	caller, ok := CallerOf(mcp.PrincipalFrom(ctx))
	if ok {
		_, ok = host.Resource(caller.Issuer)
	}
	if !ok {
		return mcp.Errorf(mcp.CodeToolDenied,
			"%q requires a login of each caller, and only callers with a token of an issuer can prove who they are", name)
	}
	t, err := v.ticketFor(caller, server, need)
	if err != nil {
		return err
	}
	question := &mcp.ElicitParams{
		Key:           "slipway-connect-" + t.number,
		Mode:          "url",
		Message:       fmt.Sprintf("%q requires a login. Open the page of the gateway to log in.", name),
		URL:           host.Base + ConnectPath + t.id,
		ElicitationID: t.number,
	}
	req := mcp.RequestFrom(ctx)
	v.mu.Lock()
	t.session = req.Session()
	v.mu.Unlock()
	answer, err := req.Elicit(ctx, question)
	switch {
	case errors.Is(err, mcp.ErrInputRequired):
		return err
	case err != nil:
		return &ConnectError{
			Server: name,
			URL:    question.URL,
		}
	case answer.Action != "accept":
		return mcp.Errorf(mcp.CodeToolDenied, "%q requires a login, which the user declined", name)
	}
	if err := v.await(ctx, t, req); err != nil {
		return err
	}
	select {
	case <-t.done:
		return nil
	default:
		return &ConnectError{
			Server:  name,
			URL:     question.URL,
			Pending: true,
		}
	}
}

// await waits until a ticket is joined or has expired, or the call cannot wait longer.
func (v *Vault) await(ctx context.Context, t *ticket, req *mcp.Request) error {
	limit := t.expires.Sub(v.now())
	if req.Version().Modern() {
		limit = min(limit, holdTime)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	release, err := req.Keep(0, cancel)
	if err != nil {
		return err
	}
	defer release()
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	return nil
}
