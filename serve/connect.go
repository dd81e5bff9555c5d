package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
)

// connectPage serves the page on which callers log in to the servers behind the gateway, see
// [identity.Vault]. It needs no token: its user has to prove to be the caller.
type connectPage struct {
	vault     *identity.Vault
	admission *admission
	// origins refuses forms that pages of other sites send with the browser of a user.
	origins *http.CrossOriginProtection
	broker  *Broker // nil unless the server signs users in
}

// serveVault makes the page available, and returns its handler, or nil without a vault.
func (o *Options) serveVault(d *admission) *connectPage {
	if o.Vault == nil {
		return nil
	}
	p := &connectPage{
		vault:     o.Vault,
		admission: d,
		origins:   http.NewCrossOriginProtection(),
		broker:    o.Broker,
	}
	p.follow()
	return p
}

// follow applies changed options to the vault. p may be nil.
func (p *connectPage) follow() {
	if p == nil {
		return
	}
	p.vault.Serve(&identity.VaultHost{
		Base:     p.admission.policy.Load().public,
		Verify:   p.verify,
		Resource: p.resource,
		Provider: p.broker.providerOf,
		Observe:  p.observe,
	})
}

// observe writes an event of a login to the audit log.
func (p *connectPage) observe(e *identity.Event) {
	p.admission.policy.Load().audit.connection(e)
}

// run reports logins that other processes end, until stop is called. p may be nil.
func (p *connectPage) run() (stop func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.vault.Follow(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// verify returns the holder of a token.
func (p *connectPage) verify(ctx context.Context, token string) (*mcp.Principal, error) {
	auth := p.admission.policy.Load().auth
	if auth == nil {
		return nil, ErrToken
	}
	return auth.verify(ctx, token)
}

// issuerVerifier is a [Verifier] for the tokens of one issuer.
type issuerVerifier interface {
	Verifier
	// accepts returns the issuer, and the first audience.
	accepts() (issuer, audience string)
}

var (
	_ issuerVerifier = (*JWT)(nil)
	_ issuerVerifier = (*Introspection)(nil)
)

func (v *JWT) accepts() (issuer, audience string) { return v.opts.Issuer, v.opts.Audience[0] }

func (v *Introspection) accepts() (issuer, audience string) {
	return v.opts.Issuer, v.opts.Audience[0]
}

// resource returns the audience that tokens of an issuer have here.
func (p *connectPage) resource(issuer string) (audience string, ok bool) {
	auth := p.admission.policy.Load().auth
	if auth == nil {
		return "", false
	}
	for _, v := range auth.Verifiers {
		if v, ok := v.(issuerVerifier); ok {
			if known, audience := v.accepts(); known == issuer {
				return audience, true
			}
		}
	}
	return "", false
}

// browserCookie is the name of the cookie that recognizes a browser. Over https, no other host
// and no page over http can set it.
func (p *connectPage) browserCookie() string {
	const name = "slipway-connect"
	if p.secure() {
		return "__Host-" + name
	}
	return name
}

// secure reports whether browsers reach the page by HTTPS, so that cookies can be limited to it.
func (p *connectPage) secure() bool {
	return strings.HasPrefix(p.admission.policy.Load().public, "https://")
}

// browser returns the secret of the browser that sent a request, or "".
func (p *connectPage) browser(r *http.Request) string {
	cookies := r.CookiesNamed(p.browserCookie())
	if len(cookies) != 1 {
		return ""
	}
	return cookies[0].Value
}

// maxForm bounds the body of a request to the page.
const maxForm = 4 << 10

// ServeHTTP implements [http.Handler].
func (p *connectPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// Forms lead to the login pages of other hosts, so form-action cannot be restricted.
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // the address is secret; a form must have an Origin
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := p.origins.Check(r); err != nil {
		p.fail(w, &identity.TicketError{Text: "This request came from another site. Nothing was connected."})
		return
	}
	id := strings.TrimPrefix(r.URL.Path, identity.ConnectPath)
	switch {
	case r.Method == http.MethodPost && r.URL.Path != identity.ConnectCallback:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		p.begin(w, r, id)
	case !isGet(w, r):
	case r.URL.Path == identity.ConnectCallback:
		p.answer(w, r)
	default:
		p.show(w, r, id)
	}
}

// show shows the page of a ticket.
func (p *connectPage) show(w http.ResponseWriter, r *http.Request, id string) {
	t, err := p.vault.Ticket(id, p.browser(r))
	if err != nil {
		p.fail(w, err)
		return
	}
	view := &connectView{Ticket: t}
	if t.Proved {
		view.Heading = "Connect to " + t.Server
	} else {
		view.Heading = "Sign in"
	}
	if t.Joined {
		view.Heading = "Connected to " + t.Server
	}
	view.write(w, http.StatusOK)
}

// begin leads the browser to a login: at the caller's issuer, or then at the server.
func (p *connectPage) begin(w http.ResponseWriter, r *http.Request, id string) {
	browser := p.browser(r)
	var address string
	var err error
	switch r.PostFormValue("step") {
	case "prove":
		if len(browser) < identity.BrowserSecret { // several tabs of a browser share it
			browser = rand.Text()
		}
		address, err = p.vault.Prove(r.Context(), id, browser)
	case "join":
		address, err = p.vault.Join(r.Context(), id, browser)
	default:
		err = &identity.TicketError{Text: "This request is not one of this page."}
	}
	if err != nil {
		p.fail(w, err)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name:     p.browserCookie(),
		Value:    browser,
		Path:     "/",
		MaxAge:   int((15 * time.Minute).Seconds()),
		Secure:   p.secure(),
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // the browser returns from another site
	})
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// answer handles the return from a login.
func (p *connectPage) answer(w http.ResponseWriter, r *http.Request) {
	id, err := p.vault.Answer(r.Context(), p.browser(r), r.URL.Query())
	if err != nil {
		p.fail(w, err)
		return
	}
	// Without the code in the address.
	http.Redirect(w, r, identity.ConnectPath+id, http.StatusSeeOther)
}

// fail shows why the page cannot go on. Only errors that are for its reader are shown.
func (p *connectPage) fail(w http.ResponseWriter, err error) {
	var ticket *identity.TicketError
	var setup *identity.SetupError
	var answered *identity.ServerError
	status := http.StatusBadGateway
	text := "The login could not begin or complete. The log of the gateway says why."
	switch {
	case errors.As(err, &ticket):
		text = ticket.Text
		status = http.StatusForbidden
		if ticket.Gone {
			status = http.StatusNotFound
		}
	case errors.As(err, &answered) && answered.Status == 0:
		text = "The login was not completed: " + answered.Error() + ". Go back to try again."
		status = http.StatusBadRequest
	case errors.As(err, &setup):
		text = "The gateway is not set up for this login. Its log says what is missing."
		p.admission.log.Error("login of a caller", "error", err, "hint", setup.Hint)
	default:
		p.admission.log.Error("login of a caller", "error", err)
	}
	(&connectView{
		Heading: "Not connected",
		Problem: text,
	}).write(w, status)
}

// connectView is the content of the page.
type connectView struct {
	Heading, Problem string
	Ticket           *identity.Ticket
}

// write answers with the page.
func (v *connectView) write(w http.ResponseWriter, status int) {
	writePage(w, status, v.page())
}

// page returns the page.
func (v *connectView) page() string {
	var b strings.Builder
	b.WriteString(pageStart(v.Heading, v.Problem))
	switch t := v.Ticket; {
	case t == nil:
	case t.Joined:
		b.WriteString("<p>You are logged in. Close this page and go back to your MCP client.</p>\n")
	case t.Proved:
		scopes := cmp.Or(strings.Join(t.Scopes, " "), "as the server decides")
		b.WriteString("<p>An MCP client that is signed in as you asked for a login to this server. " +
			"Continue only if it is your client.</p>\n" + definitionList([][2]string{
			{"Server", t.Server},
			{"Host", t.Host},
			{"Permissions", scopes},
			{"You", t.Caller.Subject + " at " + t.Caller.Issuer},
		}) + connectForm("join", "Log in to "+t.Host))
	default:
		b.WriteString("<p>An MCP client asked for a login. Sign in to this gateway first, " +
			"so that it knows that the client is yours.</p>\n" + connectForm("prove", "Sign in"))
	}
	b.WriteString(pageEnd)
	return b.String()
}

// connectForm returns a form with one button.
func connectForm(step, button string) string {
	return postForm("step", step, "<button>"+html.EscapeString(button)+"</button>")
}

// postForm returns a form with a hidden field and buttons in HTML.
func postForm(field, value, buttons string) string {
	return `<form method="post"><input type="hidden" name="` + html.EscapeString(field) + `" value="` +
		html.EscapeString(value) + `">` + buttons + "</form>\n"
}

// pageStart returns the start of a page.
func pageStart(heading, problem string) string {
	heading = html.EscapeString(heading)
	start := fmt.Sprintf(connectHead, heading, heading)
	if problem != "" {
		start += fmt.Sprintf("<p role=\"alert\">%s</p>\n", html.EscapeString(problem))
	}
	return start
}

// definitionList returns rows of a term and what it is.
func definitionList(rows [][2]string) string {
	var b strings.Builder
	b.WriteString("<dl>\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "<dt>%s</dt><dd>%s</dd>\n", html.EscapeString(row[0]), html.EscapeString(row[1]))
	}
	b.WriteString("</dl>\n")
	return b.String()
}

// pageEnd is the end of a page.
const pageEnd = "</main></body></html>\n"

// writePage answers with a page.
func writePage(w http.ResponseWriter, status int, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page) // the browser may be gone
}

// connectHead is the start of the page; the title comes twice.
const connectHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%s</title>
<style>
:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;margin:12vh auto;max-width:36rem;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem}dt{font-weight:600}dd{margin:0 0 .5rem}
button{font:inherit;padding:.5rem 1rem}
</style></head>
<body><main><h1>%s</h1>
`

// Connection is a login of a caller to a server behind the gateway. It contains no secrets.
type Connection struct {
	// Principal is the name of the caller, and Server that of the server, or its URL.
	Principal string `json:"principal"`
	Server    string `json:"server"`
	URL       string `json:"url"`
	// Issuer is the authorization server, and Scopes what the login permits.
	Issuer string   `json:"issuer"`
	Scopes []string `json:"scopes,omitempty"`
	// Expires is when the token expires, and Refreshable whether it is then replaced.
	Expires     time.Time `json:"expires,omitzero"`
	Refreshable bool      `json:"refreshable"`
	// Ended is why the login has to be repeated, or empty.
	Ended string `json:"ended,omitempty"`
}

// connections returns the logins of callers.
func (o *Options) connections() ([]Connection, error) {
	if o.Vault == nil {
		return nil, nil
	}
	stored, err := o.Vault.Connections()
	if err != nil {
		return nil, err
	}
	all := make([]Connection, 0, len(stored))
	for i := range stored {
		c := &stored[i]
		one := Connection{
			Principal:   c.Caller.String(),
			Server:      c.Name,
			URL:         c.Server,
			Issuer:      c.Issuer,
			Scopes:      c.Scopes,
			Expires:     c.Expires,
			Refreshable: c.Refreshable,
			Ended:       c.Ended,
		}
		if one.Server == "" {
			one.Server = c.Server
		}
		all = append(all, one)
	}
	return all, nil
}

// serveConnections lists the logins of callers to operators, and ends them:
//
//	GET    /connections
//	DELETE /connections?principal=NAME&server=NAME
func (p *connectPage) serveConnections(mux *http.ServeMux) {
	if p == nil {
		return
	}
	o := &Options{Live: Live{Vault: p.vault}}
	mux.HandleFunc("GET /connections", func(w http.ResponseWriter, _ *http.Request) {
		all, err := o.connections()
		p.reply(w, map[string]any{"connections": all}, err)
	})
	mux.HandleFunc("DELETE /connections", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("principal") == "" {
			http.Error(w, "principal is missing: DELETE /connections?principal=NAME&server=NAME", http.StatusBadRequest)
			return
		}
		ended, err := p.vault.Disconnect(r.Context(), q.Get("principal"), q.Get("server"))
		if errors.Is(err, identity.ErrNoLogin) {
			http.Error(w, "no such connection", http.StatusNotFound)
			return
		}
		p.reply(w, map[string]any{"ended": ended}, err)
	})
}

// reply answers an operator.
func (p *connectPage) reply(w http.ResponseWriter, document any, err error) {
	replyOperator(w, p.admission.log, "logins", document, err)
}

// replyOperator answers an operator with a document. kept is what the store contains.
func replyOperator(
	w http.ResponseWriter,
	log *slog.Logger,
	kept string,
	document any,
	err error,
) {
	if err != nil {
		log.Error(kept+" of callers", "error", err)
		http.Error(w, "the store of "+kept+" cannot be used: see the log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(document) // the operator may be gone
}
