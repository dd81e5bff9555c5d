package serve

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Policy enforces the rules of package policy for the requests of a server: on HTTP,
// WebSocket and stdio alike, for every method. It is safe for concurrent use.
type Policy struct {
	engine   *policy.Engine
	watch    *fileWatch // nil unless the rules come from a file
	reloads  *reloads
	endpoint string
	// hides means that what is denied does not exist for the caller, as the items of other
	// endpoints.
	hides bool
	// unrestricted means that the server has no policy, only tool scopes.
	unrestricted bool

	log       *slog.Logger
	path      string // of the file
	approvals *Approvals
	// opts are those that the engine has.
	opts policy.EngineOptions
}

// PolicyOptions configure a [Policy]. The zero value and nil mean the defaults.
type PolicyOptions struct {
	// Hints, Lock and Servers are as in [policy.EngineOptions].
	Hints   func(server, tool string) (hints mcp.ToolAnnotations, locked bool)
	Lock    func() any
	Servers []string
	// Endpoint is the name of the endpoint that is served, for rules about it.
	Endpoint string
	// Approvals remembers the consent of users; nil remembers it in memory.
	Approvals *Approvals
	// Logger receives messages about rules that could not be read again or evaluated. Nil
	// discards them.
	Logger *slog.Logger
}

var _ server.Gate = (*Policy)(nil)

// OpenPolicy reads the rules in a file. When the file changes, they are read again within a
// second. If they are then invalid, that is logged, and the previous rules stay in force.
func OpenPolicy(path string, opts *PolicyOptions) (*Policy, error) {
	watch := newFileWatch(path)
	set, err := policy.Open(path)
	if err != nil {
		return nil, err
	}
	p := NewPolicy(set, opts)
	p.path = path
	p.watch = watch
	p.noteHints(set)
	return p, nil
}

// NewPolicy returns the enforcement of rules that do not change. opts may be nil.
func NewPolicy(set *policy.Set, opts *PolicyOptions) *Policy {
	var o PolicyOptions
	if opts != nil {
		o = *opts
	}
	p := &Policy{
		reloads:   &reloads{},
		log:       o.Logger,
		endpoint:  o.Endpoint,
		approvals: o.Approvals,
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.approvals == nil {
		p.approvals = newApprovals()
	}
	p.opts.Hints = o.Hints
	p.opts.Lock = o.Lock
	p.opts.Servers = o.Servers
	p.engine = policy.NewEngine(set, &p.opts)
	if o.Hints == nil {
		p.noteHints(set)
	}
	return p
}

// with returns the enforcement of other rules about the same, with tool scopes. They do not
// change.
func (p *Policy) with(set *policy.Set, tools *toolScopes) *Policy {
	next := *p
	next.watch = nil
	next.opts.ToolScopes = tools.of
	next.engine = policy.NewEngine(set, &next.opts)
	return &next
}

// noteHints warns about rules that depend on hints that no lock confirms.
func (p *Policy) noteHints(set *policy.Set) {
	if set.ReadsHints() {
		p.log.Info("policy reads hints of tools; tools that are not locked count as destructive", "file", set.Name())
	}
}

// current returns an engine that keeps the rules which are in force now.
func (p *Policy) current() *policy.Engine {
	if p.watch != nil {
		p.watch.refresh(p.reload)
	}
	return p.engine.Pinned()
}

// reload reads the rules again. Invalid rules change nothing.
func (p *Policy) reload() {
	set, err := policy.Open(p.path)
	if err != nil {
		p.log.Error("policy reload failed, keeping the previous rules", "file", p.path, "error", err)
		return
	}
	p.engine.Replace(set)
	p.log.Info("policy reloaded", "file", p.path, "rules", set.Len())
	p.reloads.call()
}

// reloads are the functions to call after other rules were read.
type reloads struct {
	mu  sync.Mutex
	all []*func()
}

// onReload calls f, which must not wait, after each time the rules were read again, until forget is called.
func (p *Policy) onReload(f func()) (forget func()) {
	r := p.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, &f)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = slices.DeleteFunc(r.all, func(other *func()) bool { return other == &f })
	}
}

func (r *reloads) call() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.all {
		(*f)()
	}
}

// principalOf returns the caller of a request. That of a connection may have got another
// token with other scopes.
func principalOf(ctx context.Context) *mcp.Principal { return callerOf(ctx).principalOf(ctx) }

// principalOf returns the principal of a caller, which may be nil, of a request.
func (c *caller) principalOf(ctx context.Context) *mcp.Principal {
	if c != nil {
		if p := c.principal.Load(); p != nil {
			return p
		}
	}
	return mcp.PrincipalFrom(ctx)
}

// situate sets the context of a request, as far as rules read it.
func (p *Policy) situate(now *policy.Situation, ctx context.Context, c *caller, transport string, e *policy.Engine) {
	now.Transport, now.Endpoint = transport, p.endpoint
	if c != nil {
		now.Origin = c.origin
	}
	if e.ReadsClient() {
		p.situateClient(now, ctx, e.Set())
	}
}

// situateClient sets what is found out about the client only if a rule reads it.
func (p *Policy) situateClient(now *policy.Situation, ctx context.Context, set *policy.Set) {
	if set.Reads("endpoint") {
		if name, ok := ctx.Value(endpointKey{}).(string); ok {
			now.Endpoint = name
		}
	}
	if set.Reads("address") {
		if ap, err := netip.ParseAddrPort(remoteOf(ctx)); err == nil {
			now.Address = ap.Addr()
		}
	}
	if set.Reads("application") {
		now.Application = applicationOf(mcp.RequestFrom(ctx))
	}
}

// applicationOf returns the name that the client software gives itself, or "".
func applicationOf(r *mcp.Request) string {
	if r == nil {
		return ""
	}
	info := jsonscan.Member(r.Meta(), "io.modelcontextprotocol/clientInfo")
	if s := r.Session(); s != nil {
		info = s.ClientInfo()
	}
	if info == nil {
		return ""
	}
	name, _ := jsonscan.Unquote(jsonscan.Member(info, "name"))
	return name
}

// listed is [server.Options.Listed]: lists have only what the caller may see.
func (p *Policy) listed(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog {
	method := mcp.RequestFrom(ctx).Method()
	e := p.current()
	c := callerOf(ctx)
	var now policy.Situation
	p.situate(&now, ctx, c, transportOf(ctx), e)
	caller := c.principalOf(ctx)
	if method != "initialize" && method != "server/discover" {
		return e.Visible(caller, whole, method, &now)
	}
	shown := e.Instructions(caller, whole, &now)
	if p.hides && shown == "" && whole.Instructions == "" {
		return whole
	}
	if shown == whole.Instructions && !whole.Cache.Public {
		return whole
	}
	own := whole.Copy()
	own.Instructions = shown
	own.Cache.Public = false
	return own
}

// transportOf returns the transport of the request of ctx.
func transportOf(ctx context.Context) string {
	name, _ := ctx.Value(server.TransportKey{}).(string)
	return name
}

// Enter implements [server.Gate].
func (p *Policy) Enter(ctx context.Context, op server.Operation) error {
	return p.enterOf(ctx, callerOf(ctx), &op)
}

// enterOf is Enter for a request of a caller, which may be nil.
func (p *Policy) enterOf(ctx context.Context, c *caller, op *server.Operation) error {
	if op.Method == methodCall && op.Name != "" && !op.Follows && p.remembers(ctx, c, op) {
		return nil
	}
	return p.decide(ctx, c, op)
}

// remembers reports whether it is remembered that a call is allowed.
func (p *Policy) remembers(ctx context.Context, c *caller, op *server.Operation) bool {
	e := p.current()
	now := policy.Situation{Time: op.Time}
	if op.Transport != transportFiles {
		now.Arguments = op.Arguments
		now.Index = op.Index
	}
	p.situate(&now, ctx, c, op.Transport, e)
	rule, item, ok := e.Allows(c.principalOf(ctx), op.Catalog, op.Name, &now)
	if ok {
		p.noteAllowed(ctx, rule, item)
	}
	return ok
}

// decide decides about a request by the rules.
func (p *Policy) decide(ctx context.Context, c *caller, op *server.Operation) error {
	switch op.Method {
	case "ping", "logging/setLevel", "resources/unsubscribe", "tasks/get", "tasks/update", "tasks/cancel",
		"tools/list", "resources/list", "resources/templates/list", "prompts/list":
		return nil // lists are restricted by listed; the outcome of a task is asked for again
	}
	e := p.current()
	caller := c.principalOf(ctx)
	now := policy.Situation{Time: op.Time}
	p.situate(&now, ctx, c, op.Transport, e)
	if op.Method == methodCall && op.Name != "" && !op.Follows && op.Transport != transportFiles {
		now.Arguments = op.Arguments
		now.Index = op.Index
	}
	q := query{
		policy: p,
		engine: e,
		ctx:    ctx,
		op:     *op,
		caller: caller,
		now:    now,
	}
	return q.enter()
}

// noteAllowed notes for logs that a rule allows a request.
func (p *Policy) noteAllowed(ctx context.Context, rule, item string) {
	if p.hides || p.unrestricted {
		return
	}
	server.AddNote(ctx, server.Note{
		Rule: rule,
		Item: item,
	})
}

// Leave implements [server.Gate].
func (*Policy) Leave(context.Context, server.Operation) {}

// query is one request to decide about.
type query struct {
	policy *Policy
	engine *policy.Engine
	ctx    context.Context
	op     server.Operation
	caller *mcp.Principal
	now    policy.Situation
}

// enter decides by method.
func (q *query) enter() error {
	cat := q.op.Catalog
	switch q.op.Method {
	case "tools/call":
		return q.tool()
	case "initialize", "server/discover":
		return q.answer(q.engine.Connect(q.caller, cat, &q.now), "", mcp.CodeInvalidRequest)
	case "prompts/get":
		if q.op.Name == "" {
			return q.unknown(cat.WithheldPrompts, mcp.UnknownPrompt)
		}
		q.now.Arguments = q.op.Arguments
		d := q.engine.Prompt(q.caller, policy.Get, cat, q.op.Name, &q.now)
		return q.answer(d, q.op.Name, mcp.CodeInvalidParams)
	case "resources/read":
		d := q.engine.Resource(q.caller, policy.Read, cat, q.op.Name, &q.now)
		return q.answer(d, q.op.Name, mcp.CodeResourceDenied)
	case "resources/subscribe":
		d := q.engine.Resource(q.caller, policy.Subscribe, cat, q.op.Name, &q.now)
		return q.answer(d, q.op.Name, mcp.CodeResourceDenied)
	case "subscriptions/listen":
		return q.listen()
	case "completion/complete":
		return q.complete()
	}
	if q.policy.hides {
		return mcp.MethodNotFound(q.op.Method)
	}
	return mcp.Errorf(mcp.CodeMethodNotFound, "denied by policy: the method %q has no action", q.op.Method)
}

// param returns a parameter of the request, or nil.
func (q *query) param(name string) []byte {
	return jsonscan.Member(mcp.RequestFrom(q.ctx).Params(), name)
}

// tool decides about a call, or about the outcome of an earlier one.
func (q *query) tool() error {
	cat := q.op.Catalog
	switch {
	case q.op.Follows:
		t := cat.Tool(q.op.Name)
		if t == nil {
			return mcp.UnknownTool(q.op.Name)
		}
		d := q.engine.ToolOf(q.caller, t, &q.now)
		if d.Effect == policy.Ask { // the call itself had the consent
			d.Effect = policy.Allow
		}
		return q.answer(d, q.op.Name, mcp.CodeToolDenied)
	case q.op.Name == "":
		return q.unknown(cat.WithheldTools, mcp.UnknownTool)
	}
	d := q.engine.Tool(q.caller, cat, q.op.Name, &q.now)
	if d.Effect == policy.Ask {
		return q.ask(&d)
	}
	return q.answer(d, q.op.Name, mcp.CodeToolDenied)
}

// unknown answers a request for an item that is not in the catalog, without suggesting names
// that the caller may not know. The server gives the reason for those that are withheld.
func (q *query) unknown(withheld map[string]string, unknown func(string) *mcp.Error) error {
	name, ok := jsonscan.Unquote(q.param("name"))
	if _, known := withheld[name]; known || !ok {
		return nil
	}
	return unknown(name)
}

// listen decides about the resources of a subscription.
func (q *query) listen() error {
	for _, uri := range q.op.URIs {
		if err := q.ctx.Err(); err != nil {
			return err
		}
		d := q.engine.Resource(q.caller, policy.Subscribe, q.op.Catalog, uri, &q.now)
		if err := q.answer(d, uri, mcp.CodeResourceDenied); err != nil {
			return err
		}
	}
	return nil
}

// complete decides about a completion.
func (q *query) complete() error {
	ref := q.param("ref")
	if ref == nil || ref[0] != '{' {
		return nil // the server checks the form
	}
	kind, _ := jsonscan.Unquote(jsonscan.Member(ref, "type"))
	switch kind {
	case "ref/prompt":
		name, _ := jsonscan.Unquote(jsonscan.Member(ref, "name"))
		d := q.engine.Prompt(q.caller, policy.Complete, q.op.Catalog, name, &q.now)
		return q.answer(d, name, mcp.CodeInvalidParams)
	case "ref/resource":
		uri, _ := jsonscan.Unquote(jsonscan.Member(ref, "uri"))
		d := q.engine.Template(q.caller, q.op.Catalog, uri, &q.now)
		return q.answer(d, uri, mcp.CodeInvalidParams)
	}
	return nil
}

// answer returns a denial as the error for the client, and notes the decision for logs.
func (q *query) answer(d policy.Decision, name string, code mcp.Code) error {
	for _, e := range d.Errors {
		q.policy.log.Warn("policy rule could not be evaluated", "rule", e.Rule.ID, "forbid", e.Rule.Forbid,
			"error", e.Reason)
	}
	noted := q.op.Method != "initialize" && q.op.Method != "server/discover"
	switch {
	case d.Effect == policy.Allow && noted:
		q.policy.noteAllowed(q.ctx, d.RuleID(), d.ItemID)
		return nil
	case d.Effect == policy.Allow:
		return nil
	case q.policy.hides:
		return q.hidden(name)
	case noted:
		q.note(&d, "")
	}
	if len(d.Scopes) > 0 {
		return deniedForScopes(q.ctx, q.op, d.Reason(), d.Scopes)
	}
	e := &mcp.Error{
		Code:    code,
		Message: d.Reason(),
	}
	switch code {
	case mcp.CodeInvalidRequest:
		e.Status = http.StatusForbidden
	case mcp.CodeResourceDenied:
		e.Data = mcp.ResourceNotFound(name, "").Data
	}
	return e
}

// hidden returns the error for an item that does not exist at an endpoint.
func (q *query) hidden(name string) error {
	switch q.op.Method {
	case "tools/call":
		return mcp.UnknownTool(name)
	case "prompts/get":
		return mcp.UnknownPrompt(name)
	case "initialize", "server/discover":
		return nil
	}
	return mcp.ResourceNotFound(name, "")
}
