package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
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

	// attempts counts the proofs that were begun, of which at most maxAttempts are possible.
	phase    ticketPhase
	attempts int
	busy     bool // a request of the page is being handled
	// browser is the secret of the browser that began the proof, and the only one that may
	// continue.
	browser string
	begun   *Begun
	// signIn is the login of begun if the caller signs in at the gateway, or nil.
	signIn *SignIn
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
func (v *Vault) ticketFor(
	ctx context.Context, c Caller, server string, need *LoginRequiredError,
) (t *ticket, err error) {
	if t = v.openTicket(c, server, need); t != nil {
		return t, nil
	}
	id := rand.Text() + v.client.store.tag()
	asked := &sharedTicket{
		ID:      id,
		Number:  rand.Text(),
		Expires: v.now().Add(ticketLife),
	}
	asked, adopted := v.shareTicket(ctx, ticketName(c, server, need.Scopes), asked)
	t, created, err := v.addTicket(c, server, need, asked)
	if created && !adopted {
		v.log.Info("caller asked to log in",
			"principal", c.String(),
			"server", secrets.URL(server),
			"reason", need.Reason,
		)
		v.record(EventAsked, c, server, need.Issuer, need.Reason)
	}
	return t, err
}

// shareTicket stores the record of a new ticket for the other replicas. If one of them has
// already asked for the login, it returns that ticket instead.
func (v *Vault) shareTicket(
	ctx context.Context,
	name string,
	own *sharedTicket,
) (t *sharedTicket, adopted bool) {
	shared := v.client.store.shared
	if shared == nil {
		return own, false
	}
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	own.Replica = shared.replica.ID()
	for range 2 {
		other, revision := shared.ticket(ctx, name, v.now())
		if other != nil {
			return other, true
		}
		if shared.putTicket(ctx, name, own, revision) {
			break
		}
	}
	return own, false
}

// openTicket returns the open ticket of a caller for a server, or nil.
func (v *Vault) openTicket(c Caller, server string, need *LoginRequiredError) *ticket {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expireLocked()
	return v.openLocked(c, server, need)
}

// openLocked returns the caller's ticket for a server and the same scopes that can still be used,
// or nil. A caller that asks twice gets the same address.
func (v *Vault) openLocked(c Caller, server string, need *LoginRequiredError) *ticket {
	for _, t := range v.tickets {
		if t.caller == c &&
			t.phase < joined &&
			SameServer(t.server, server) &&
			slices.Equal(t.need.Scopes, need.Scopes) {
			return t
		}
	}
	return nil
}

// addTicket adds a ticket, unless another call has just done so.
func (v *Vault) addTicket(
	c Caller, server string, need *LoginRequiredError, asked *sharedTicket,
) (t *ticket, created bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t := v.openLocked(c, server, need); t != nil {
		return t, false, nil
	}
	own := 0
	for _, t := range v.tickets {
		if t.caller == c {
			own++
		}
	}
	switch {
	case own >= maxTicketsPerCaller:
		return nil, false, mcp.Errorf(mcp.CodeToolBusy,
			"%d logins of this caller are already open: complete one of them", own)
	case len(v.tickets) >= maxTickets:
		return nil, false, mcp.Errorf(mcp.CodeToolBusy, "%d logins are already open", len(v.tickets))
	}
	t = &ticket{
		id:      asked.ID,
		number:  asked.Number,
		caller:  c,
		server:  server,
		need:    need,
		expires: asked.Expires,
		done:    make(chan struct{}),
	}
	v.tickets[t.id] = t
	return t, true, nil
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

// removeLocked forgets a ticket. Calls that wait for it stop waiting.
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

// refuse is release after a failure, which it reports.
func (v *Vault) refuse(t *ticket, next ticketPhase, issuer string, err error) {
	v.release(t, next, nil)
	v.record(EventRefused, t.caller, t.server, issuer, err.Error())
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
	if !host.accepts(t.caller.Issuer) {
		v.release(t, asked, nil)
		return "", errGone
	}
	begun, signIn, err := v.beginProof(ctx, host, t.caller.Issuer)
	if err != nil {
		v.refuse(t, asked, t.caller.Issuer, err)
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.releaseLocked(t, proving, begun) {
		return "", errGone
	}
	t.signIn = signIn
	t.browser = browser // together with the phase: what was proved by another browser is void
	return begun.Authorization().URL, nil
}

// beginProof begins the login at the issuer of a caller. signIn is nil unless the gateway is the
// authorization server of clients.
func (v *Vault) beginProof(
	ctx context.Context,
	host *VaultHost,
	issuer string,
) (b *Begun, signIn *SignIn, err error) {
	redirect := host.Base + ConnectCallback
	if provider := host.provider(issuer); provider != nil {
		if signIn, err = provider.Begin(ctx, redirect); err != nil {
			return nil, nil, err
		}
		return signIn.begun, signIn, nil
	}
	resource, _ := host.Resource(issuer) // it accepts the issuer
	settings := v.proof
	b, err = v.client.BeginProof(ctx, issuer, resource, &BeginOptions{
		Redirect: redirect,
		Settings: &settings,
		tag:      v.client.store.tag(),
	})
	return b, nil, err
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
		tag:      v.client.store.tag(),
	})
	if err != nil {
		v.refuse(t, proved, t.need.Issuer, err)
		return "", err
	}
	v.release(t, joining, begun)
	v.record(EventBegun, t.caller, t.server, begun.flow.issuer(), "")
	return begun.Authorization().URL, nil
}

// Answer handles the answer with which a browser returns from a login, and returns the ID of
// its ticket. The answer of another browser than the one that began changes nothing.
func (v *Vault) Answer(
	ctx context.Context,
	browser string,
	query url.Values,
) (id string, err error) {
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
		v.record(EventRefused, t.caller, t.server, "", "the answer came from another browser than the one that began")
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
func (v *Vault) proveCaller(
	ctx context.Context,
	host *VaultHost,
	t *ticket,
	begun *Begun,
	query url.Values,
) error {
	if t.signIn != nil {
		return v.proveSignIn(ctx, t, query)
	}
	token, err := begun.FinishProof(ctx, query)
	if err != nil {
		v.refuse(t, asked, t.caller.Issuer, err)
		return err
	}
	p, err := host.Verify(ctx, token)
	if err != nil {
		v.refuse(t, asked, t.caller.Issuer, err)
		v.log.Error("the issuer's token for the page that connects is not valid here", "issuer", t.caller.Issuer,
			"error", err)
		return &TicketError{Text: "The gateway does not accept the token of " + hostOf(t.caller.Issuer) +
			". Its log says why."}
	}
	who, ok := CallerOf(p)
	return v.compare(t, ok && who == t.caller, p.Name)
}

// proveSignIn is proveCaller for callers who sign in at the gateway.
func (v *Vault) proveSignIn(ctx context.Context, t *ticket, query url.Values) error {
	user, err := t.signIn.Finish(ctx, query)
	if err != nil {
		v.refuse(t, asked, t.caller.Issuer, err)
		return err
	}
	who := Caller{t.signIn.provider.Issuer(), user.Subject}
	return v.compare(t, who == t.caller, who.String())
}

// compare ends the proof: same reports whether the user of the browser, who is called name, is the
// caller of the ticket.
func (v *Vault) compare(t *ticket, same bool, name string) error {
	if !same {
		v.refuse(t, asked, t.caller.Issuer, fmt.Errorf("the page was opened by another user, %s", name))
		v.log.Warn("a page that connects was opened by another user", "principal", t.caller.String(),
			"opened by", name)
		return errStranger
	}
	v.release(t, proved, nil)
	return nil
}

// join completes the login to the server of a ticket.
func (v *Vault) join(ctx context.Context, t *ticket, begun *Begun, query url.Values) error {
	login, err := begun.Finish(ctx, query)
	if err != nil {
		v.refuse(t, proved, begun.flow.issuer(), err)
		return err
	}
	v.mu.Lock()
	first := v.releaseLocked(t, joined, nil)
	session := t.session
	v.mu.Unlock()
	v.log.Info("caller connected", "principal", t.caller.String(), "server", v.nameOf(t.server),
		"issuer", secrets.URL(login.Issuer))
	v.record(EventFinished, t.caller, t.server, login.Issuer, "")
	v.tell(t.caller, t.server)
	if first {
		close(t.done)
	}
	if session != nil {
		session.ElicitationComplete(t.number)
	}
	return nil
}

// joinElsewhere completes the tickets of a caller for a server whose login another process has
// stored.
func (v *Vault) joinElsewhere(key connectionKey) {
	v.mu.Lock()
	completed := make(map[string]mcp.Session)
	for _, t := range v.tickets {
		if keyOf(t.caller, t.server) == key && v.releaseLocked(t, joined, nil) {
			completed[t.number] = t.session
			close(t.done)
		}
	}
	v.mu.Unlock()
	for number, session := range completed {
		if session != nil {
			session.ElicitationComplete(number)
		}
	}
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
		ok = host.accepts(caller.Issuer)
	}
	if !ok {
		return mcp.Errorf(mcp.CodeToolDenied,
			"%q requires a login of each caller, and only callers with a token of an issuer can prove who they are", name)
	}
	t, err := v.ticketFor(ctx, caller, server, need)
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
