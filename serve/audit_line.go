package serve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// audited reports whether a successful request of that method is logged: it made the
// Source do or return something. Other methods only list what is offered, or check that
// the server is alive.
func audited(method string) bool {
	switch method {
	case "tools/list", "resources/list", "resources/templates/list",
		"prompts/list", "ping", "server/discover", "logging/setLevel":
		return false
	}
	return true
}

// auditor records requests in the Audit of the current policy, if it has one, and refuses
// those that must be recorded but cannot be.
type auditor struct{ admission *admission }

var (
	_ server.Observer = auditor{}
	_ server.Gate     = auditor{}
)

// Observe implements [server.Observer].
func (a auditor) Observe(ctx context.Context, e server.Event) {
	audit := a.admission.policy.Load().audit
	if audit == nil {
		return
	}
	switch e.Kind {
	case server.EventAnswer:
		if audited(e.Method) || e.Err != nil {
			audit.request(ctx, "request", &e)
		}
	case server.EventRefused:
		audit.request(ctx, "refused", &e)
	case server.EventSessionEnd:
		audit.request(ctx, "session_end", &e)
	}
}

// Enter implements [server.Gate]. It does nothing unless the log is required.
func (a auditor) Enter(ctx context.Context, op server.Operation) error {
	audit := a.admission.policy.Load().audit
	if audit == nil || !audit.required || !audited(op.Method) || op.Follows {
		return nil
	}
	req := mcp.RequestFrom(ctx)
	e := server.Event{
		Method:    op.Method,
		Name:      op.Name,
		Transport: op.Transport,
		Session:   req.Session(),
	}
	if req != nil {
		e.Version = req.Version()
	}
	if audit.request(ctx, "begin", &e) != nil {
		return &mcp.Error{
			Code:    mcp.CodeToolBusy,
			Message: "the audit log cannot be written, so requests are refused",
			Status:  http.StatusServiceUnavailable,
			Header:  http.Header{"Retry-After": {"5"}},
		}
	}
	return nil
}

// Leave implements [server.Gate].
func (auditor) Leave(context.Context, server.Operation) {}

// lineBuffer is a pooled buffer for building a line.
type lineBuffer struct{ b []byte }

// lineBuffers are the buffers of lines: each call writes several, none of which is kept.
var lineBuffers = sync.Pool{New: func() any {
	return &lineBuffer{make([]byte, 0, 1024)}
}}

// request records a request. It returns an error if the log is required and the request
// could not be recorded.
func (a *Audit) request(ctx context.Context, event string, e *server.Event) error {
	buf := lineBuffers.Get().(*lineBuffer)
	defer lineBuffers.Put(buf)
	l := auditLine{a: a, b: a.begin(buf.b[:0], event)}
	l.what(ctx, event, e)
	l.who(ctx, e)
	if event != "begin" {
		l.outcome(e)
	}
	buf.b = append(l.b, '}')
	n := a.add(buf.b)
	if !a.required {
		return nil
	}
	return a.sync(n)
}

// refused records a request that was not admitted.
func (a *Audit) refused(c *caller, why *refusal) {
	l := auditLine{a: a, b: a.begin(nil, "refused")}
	l.text("remote", c.remote)
	l.number("status", int64(why.status))
	l.text("reason", why.logged())
	a.add(append(l.b, '}'))
}

// AuditServer is an event of an upstream server. Only Name and What are required.
type AuditServer struct {
	Name    string // its local name
	What    string // "started", "lost", "changed" and the like
	Address string // its URL or command, without secrets
	Origin  string // where it comes from, with its digest first
	Reason  string // why, without secrets
}

// Server records an event of an upstream server. A nil Audit records nothing.
func (a *Audit) Server(s *AuditServer) {
	if a == nil {
		return
	}
	l := auditLine{a: a, b: a.begin(nil, "server")}
	l.text("what", s.What)
	l.text("server", s.Name)
	l.text("address", s.Address)
	l.text("origin", s.Origin)
	l.text("reason", s.Reason)
	a.add(append(l.b, '}'))
}

// connection records an event of the login of a caller to an upstream server. A nil Audit
// records nothing.
func (a *Audit) connection(e *identity.Event) {
	if a == nil {
		return
	}
	l := auditLine{a: a, b: a.begin(nil, "connection")}
	l.text("what", string(e.Kind))
	l.principal(e.Caller.String())
	l.text("server", e.Name)
	l.text("address", auditURI(e.Server))
	l.text("issuer", auditURI(e.Issuer))
	l.text("reason", e.Reason)
	a.add(append(l.b, '}'))
}

// opened writes the first line of this process.
func (a *Audit) opened() { a.event("opened", 0) }

// event records an event of the log itself.
func (a *Audit) event(what string, lines uint64) {
	a.add(a.appendEvent(nil, what, lines))
}

// appendEvent appends the line of an event of the log itself. The id of the key tells
// readers which hashes can be compared.
func (a *Audit) appendEvent(dst []byte, what string, lines uint64) []byte {
	l := auditLine{a: a, b: a.begin(dst, "log")}
	l.text("what", what)
	l.number("pid", int64(os.Getpid()))
	if lines > 0 {
		l.number("lines", int64(lines))
	}
	l.text("key", a.hashes.id)
	return append(l.b, '}')
}

// begin starts a line with the time and the event.
func (a *Audit) begin(dst []byte, event string) []byte {
	dst = append(dst, `{"time":"`...)
	dst = time.Now().UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
	return append(append(append(dst, `","event":"`...), event...), '"')
}

// auditLine is a line being built.
type auditLine struct {
	// a has the keys for hashes, and b the line so far.
	a   *Audit
	b   []byte
	cut bool // something was too long or too much
}

// key appends a comma and a name, which must need no escapes in JSON.
func (l *auditLine) key(name string) {
	l.b = append(append(append(l.b, `,"`...), name...), `":`...)
}

// The longest texts that are included unchanged.
const (
	maxAuditText = 512
	maxAuditName = 128
)

// text adds a member, unless it is empty. A text that is too long is truncated.
func (l *auditLine) text(name, value string) {
	if value == "" {
		return
	}
	l.key(name)
	if len(value) > maxAuditText {
		l.cut = true
		value = strings.ToValidUTF8(value[:maxAuditText], "") + "…"
	}
	start := len(l.b)
	l.b = jsonscan.AppendQuote(l.b, value)
	l.escape(start)
}

// escape makes the member that begins at start safe to print on a terminal.
func (l *auditLine) escape(start int) {
	l.b = append(l.b[:start], visible.JSON(l.b[start:])...)
}

// maxAuditList is the most values that a list in a line has.
const maxAuditList = 32

// list adds an array of texts, unless it is empty. Further values are left out.
func (l *auditLine) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	l.key(name)
	l.array(values)
}

// array adds an array of texts after a key.
func (l *auditLine) array(values []string) {
	l.b = append(l.b, '[')
	l.cut = l.cut || len(values) > maxAuditList
	for i, value := range values[:min(len(values), maxAuditList)] {
		if i > 0 {
			l.b = append(l.b, ',')
		}
		l.quote(value)
	}
	l.b = append(l.b, ']')
}

// quote adds a text of at most maxAuditName bytes.
func (l *auditLine) quote(value string) {
	l.cut = l.cut || len(value) > maxAuditName
	start := len(l.b)
	l.b = jsonscan.AppendQuote(l.b, strings.ToValidUTF8(value[:min(len(value), maxAuditName)], ""))
	l.escape(start)
}

// Limits of the claims in a line.
const (
	maxAuditClaims     = 16
	maxAuditClaimBytes = 4096
)

// claims adds the claims that the operator maps, by name. Further claims are left out.
func (l *auditLine) claims(mapped map[string][]string) {
	if len(mapped) == 0 {
		return
	}
	l.key("claims")
	l.b = append(l.b, '{')
	begin := len(l.b)
	for i, name := range slices.Sorted(maps.Keys(mapped)) {
		if i == maxAuditClaims {
			l.cut = true
			break
		}
		before := len(l.b)
		if i > 0 {
			l.b = append(l.b, ',')
		}
		l.quote(name)
		l.b = append(l.b, ':')
		l.array(mapped[name])
		if len(l.b)-begin > maxAuditClaimBytes {
			l.b = l.b[:before]
			l.cut = true
			break
		}
	}
	l.b = append(l.b, '}')
}

// number appends a member with an integer.
func (l *auditLine) number(name string, value int64) {
	l.key(name)
	l.b = strconv.AppendInt(l.b, value, 10)
}

// raw adds a string in its JSON encoding, unless it is not a string or too long.
func (l *auditLine) raw(name string, value []byte) {
	if len(value) > 2 && value[0] == '"' && len(value) <= maxAuditName {
		l.key(name)
		start := len(l.b)
		l.b = append(l.b, value...)
		l.escape(start)
	}
}

// hash adds the keyed hash of a value that must not be in the log.
func (l *auditLine) hash(name string, value []byte, size int) {
	l.key(name)
	l.b = append(l.b, '"')
	l.b = append(l.a.hashes.append(l.b, value, size), '"')
}

// what adds the method and the target of the request.
func (l *auditLine) what(ctx context.Context, event string, e *server.Event) {
	req := mcp.RequestFrom(ctx)
	params := req.Params()
	method := e.Method
	if len(method) > maxAuditName || !utf8.ValidString(method) {
		method = otherName // chosen by the client
	}
	if method != "" {
		l.text("method", method)
	}
	switch e.Method {
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		l.text("uri", auditURI(e.Name))
	case "tools/call", "prompts/get":
		if e.Name != "" {
			l.text("name", e.Name)
		} else { // no such tool, at least not for this client
			l.raw("name", jsonscan.Member(params, "name"))
		}
		if given := jsonscan.Member(params, "arguments"); given != nil {
			l.hash("arguments", given, sha256.Size)
		}
	case "completion/complete":
		if given := jsonscan.Member(params, "argument"); given != nil {
			l.hash("arguments", given, sha256.Size)
		}
	}
	l.text("server", e.Server)
	l.text("item", e.Item)
	if t, ok := req.Trace(); ok {
		l.text("trace_id", t.TraceID)
	}
}

// principal adds the name of a caller.
func (l *auditLine) principal(name string) {
	if len(name) > maxAuditName {
		l.hash("principal_hash", []byte(name), sha256.Size)
	} else {
		l.text("principal", name)
	}
}

// who adds who made the request, and how.
func (l *auditLine) who(ctx context.Context, e *server.Event) {
	if p := mcp.PrincipalFrom(ctx); p != nil {
		l.principal(p.Name)
		if e.Rule != "" { // so that the decision can be repeated with other rules
			l.list("scopes", p.Scopes)
			l.list("groups", p.Groups)
			l.list("roles", p.Roles)
			l.text("token_client", p.Client)
			l.text("tenant", p.Tenant)
			l.claims(p.Claims)
		}
	}
	if l.cut && e.Rule != "" {
		l.key("incomplete")
		l.b = append(l.b, "true"...)
	}
	var client []byte
	if e.Session != nil {
		client = e.Session.ClientInfo()
	} else if meta := mcp.RequestFrom(ctx).Meta(); meta != nil {
		client = jsonscan.Member(meta, "io.modelcontextprotocol/clientInfo")
	}
	if client != nil {
		l.raw("client", jsonscan.Member(client, "name"))
		l.raw("client_version", jsonscan.Member(client, "version"))
	}
	if e.Session != nil && e.Session.ID() != "" {
		l.hash("session", []byte(e.Session.ID()), 8)
	}
	if e.Version != 0 {
		l.text("protocol", e.Version.String())
	}
	l.text("transport", e.Transport)
	l.text("remote", remoteOf(ctx))
}

// outcome adds the outcome.
func (l *auditLine) outcome(e *server.Event) {
	if e.Kind == server.EventAnswer {
		outcome := e.Outcome
		switch outcome {
		case server.OutcomePanicked:
			outcome = server.OutcomeError
		case server.OutcomeInputRequired:
			outcome = server.OutcomeOK
		}
		l.text("outcome", string(outcome))
	}
	l.text("rule", e.Rule)
	l.text("approval", e.Approval)
	if e.Err != nil {
		l.number("code", int64(e.Err.Code))
	}
	if e.Status != 0 {
		l.number("status", int64(e.Status))
	}
	if e.Duration > 0 {
		l.key("duration_ms")
		l.b = strconv.AppendFloat(l.b, float64(e.Duration.Microseconds())/1000, 'f', -1, 64)
	}
	if e.Kind != server.EventSessionEnd {
		l.number("received", int64(e.Received))
		l.number("sent", int64(e.Sent))
	}
}

// auditURI returns a URI without the parts that may be secret: query, fragment and user
// information.
func auditURI(uri string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	if start := strings.Index(uri, "://"); start >= 0 {
		start += len("://")
		end := len(uri)
		if i := strings.IndexByte(uri[start:], '/'); i >= 0 {
			end = start + i
		}
		if at := strings.LastIndexByte(uri[start:end], '@'); at >= 0 {
			uri = uri[:start] + uri[start+at+1:]
		}
	}
	return uri
}

// minAuditKey is the minimum length of the hash key, in bytes.
const minAuditKey = 16

// hashes computes keyed hashes. In a plain hash, guessable values such as the argument
// "Oslo" could be found by trial.
type hashes struct {
	pool sync.Pool // of *keyed
	id   string    // identifies the key without revealing it
}

// keyed is an HMAC with a buffer for its sum, reused between lines.
type keyed struct {
	hash.Hash
	sum []byte
}

// init sets the key; nil means a random one.
func (h *hashes) init(key []byte) {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails: it ends the program instead
	}
	h.pool.New = func() any {
		return &keyed{hmac.New(sha256.New, key), make([]byte, 0, sha256.Size)}
	}
	h.id = string(h.append(nil, []byte("slipway audit key"), 4))
}

// append appends the first size bytes of the hash in hexadecimal digits.
func (h *hashes) append(dst, value []byte, size int) []byte {
	k := h.pool.Get().(*keyed)
	defer h.pool.Put(k)
	k.Reset()
	_, _ = k.Write(value) // writing to a hash never fails
	k.sum = k.Sum(k.sum[:0])
	return hex.AppendEncode(dst, k.sum[:size])
}
