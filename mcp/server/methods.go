package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
)

// method is one row of the table of protocol methods.
type method struct {
	// name is the method, and in are the versions that have it.
	name string
	in   versions
	// capability reports whether the catalog provides the capability of the method; nil
	// means always.
	capability func(*mcp.Catalog) bool
	// serve answers the request. A returned error becomes the answer.
	serve func(*Server, *request, *mcp.Catalog, *answer) error
}

// lists reports whether m shows clients what the catalog contains. m may be nil.
func (m *method) lists() bool {
	return m != nil && (strings.HasSuffix(m.name, "/list") || m.name == "initialize" || m.name == "server/discover")
}

// versions are the versions from since to until.
type versions struct{ since, until mcp.Version }

var (
	always    = versions{mcp.Version20241105, mcp.LatestVersion}
	handshake = versions{mcp.Version20241105, mcp.LatestLegacyVersion}
	stateless = versions{mcp.Version20260728, mcp.LatestVersion}
)

// methods is the complete table. Each row names the versions that have the method.
var methods = []method{
	{"initialize", handshake, nil, (*Server).initialize},
	{"ping", handshake, nil, (*Server).ping},
	{"server/discover", stateless, nil, (*Server).discover},
	{"logging/setLevel", handshake, hasLogging, (*Server).setLevel},

	{"tools/list", always, hasTools, list("tools/list")},
	{"tools/call", always, hasTools, (*Server).callTool},
	{"resources/list", always, hasResources, list("resources/list")},
	{"resources/templates/list", always, hasResources, list("resources/templates/list")},
	{"resources/read", always, hasResources, (*Server).readResource},
	{"resources/subscribe", handshake, hasSubscribe, (*Server).subscribe},
	{"resources/unsubscribe", handshake, hasSubscribe, (*Server).unsubscribe},
	{"subscriptions/listen", stateless, nil, (*Server).listen},
	{"prompts/list", always, hasPrompts, list("prompts/list")},
	{"prompts/get", always, hasPrompts, (*Server).getPrompt},
	{"tasks/get", stateless, hasTasks, (*Server).getTask},
	{"tasks/update", stateless, hasTasks, (*Server).updateTask},
	{"tasks/cancel", stateless, hasTasks, (*Server).cancelTask},
	{"completion/complete", always, hasCompletions, (*Server).complete},
}

// beforeInitialize reports whether m may be called before the handshake of a stream.
func (m *method) beforeInitialize() bool {
	return m.name == "initialize" || m.name == "ping"
}

func hasTools(c *mcp.Catalog) bool {
	return c.Growing || len(c.Tools)+len(c.WithheldTools) > 0
}
func hasResources(c *mcp.Catalog) bool {
	return c.Growing || len(c.Resources)+len(c.Templates) > 0
}
func hasTasks(c *mcp.Catalog) bool { return c.Tasks }
func hasSubscribe(c *mcp.Catalog) bool {
	return hasResources(c) && c.Subscribe
}
func hasPrompts(c *mcp.Catalog) bool {
	return c.Growing || len(c.Prompts)+len(c.WithheldPrompts) > 0
}
func hasCompletions(c *mcp.Catalog) bool { return c.Completions }
func hasLogging(c *mcp.Catalog) bool     { return c.Logging }

// findMethod returns the row for a method in version v, or nil.
func findMethod(name []byte, v mcp.Version) *method {
	for i := range methods {
		m := &methods[i]
		if m.name == string(name) && m.in.since <= v && v <= m.in.until {
			return m
		}
	}
	return nil
}

func (s *Server) ping(rc *request, _ *mcp.Catalog, a *answer) error {
	a.encoded(rc, []byte(`{}`))
	return nil
}

// initialize starts a session. It accepts the version that the client requests, if it has
// a handshake, and otherwise offers the latest version that does.
func (s *Server) initialize(rc *request, cat *mcp.Catalog, a *answer) error {
	var requested string
	var client, capabilities json.RawMessage
	if err := rc.decodeParams(fields{
		"protocolVersion": &requested,
		"capabilities":    &capabilities,
		"clientInfo":      &client,
	}); err != nil {
		return err
	}
	v, ok := mcp.ParseVersion(requested)
	if !ok || v.Modern() {
		v = mcp.LatestLegacyVersion
	}
	switch {
	case rc.session == nil:
		return errors.New("initialize without a session")
	case rc.session.Version() != 0:
		return invalidRequest("already initialized")
	}
	rc.version = v
	result, err := mcp.Marshal(struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
		Instructions    string          `json:"instructions,omitempty"`
	}{v.String(), s.capabilities(rc, cat), cat.ServerInfo(v), rc.shown.Instructions})
	if err != nil {
		return err
	}
	size := rc.session.begin(v, client, capabilities)
	if err := s.keepSession(rc, size); err != nil {
		return err
	}
	if records := s.opts.Sessions; records != nil && rc.session.id != "" && (cat.Stateless || cat.Restartable) {
		records.Started(rc.session.id)
	}
	a.encoded(rc, result)
	return nil
}

// keepSession books a session that has started.
func (s *Server) keepSession(rc *request, size int) error {
	session := rc.session
	lasts := session.id != "" || rc.header == nil // without an id it ends with the request
	if lasts && s.opts.Observer != nil {
		session.began = time.Now().UnixNano() // before others see the session
	}
	fits := true
	switch {
	case session.id != "":
		fits = s.sessions.add(session, rc.Client(), size)
	case lasts:
		fits = s.ledger.grow(&session.kept, int64(size))
	}
	if !fits {
		session.version.Store(0)
		return errBudget
	}
	if lasts && s.opts.Observer != nil {
		s.opts.Observer.Observe(rc, rc.event(EventSession))
	}
	return nil
}

// discover is the stateless counterpart of initialize.
func (s *Server) discover(rc *request, cat *mcp.Catalog, a *answer) error {
	scope := "private"
	if rc.shown.Cache.Public && !rc.form().Private {
		scope = "public"
	}
	head, err := mcp.Marshal(struct {
		SupportedVersions []string        `json:"supportedVersions"`
		Capabilities      json.RawMessage `json:"capabilities"`
		Instructions      string          `json:"instructions,omitempty"`
		TTL               int64           `json:"ttlMs"`
		Scope             string          `json:"cacheScope"`
	}{supportedVersions(), s.capabilities(rc, cat), rc.shown.Instructions, max(0, cat.Cache.TTL.Milliseconds()), scope})
	if err != nil {
		return err
	}
	raw, err := mcp.ParseRaw(head)
	if err != nil {
		return err
	}
	return a.result(rc, cat, &mcp.MethodResult{Result: raw})
}

// supportedVersions returns the names of all versions, newest first.
func supportedVersions() []string {
	var names []string
	for _, v := range mcp.Versions() {
		names = append(names, v.String())
	}
	return names
}

// capability is one member of a server's capabilities.
type capability struct {
	Subscribe   bool `json:"subscribe,omitempty"`
	ListChanged bool `json:"listChanged,omitempty"`
}

type capabilities struct {
	Completions *capability     `json:"completions,omitempty"`
	Logging     *capability     `json:"logging,omitempty"`
	Prompts     *capability     `json:"prompts,omitempty"`
	Resources   *capability     `json:"resources,omitempty"`
	Tools       *capability     `json:"tools,omitempty"`
	Extensions  json.RawMessage `json:"extensions,omitempty"`
}

// capabilities declares what this client can use: the capabilities of the catalog, and
// listChanged only if such notifications can be delivered.
func (s *Server) capabilities(rc *request, cat *mcp.Catalog) json.RawMessage {
	var c capabilities
	items := capability{ListChanged: rc.listChanged}
	if hasTools(cat) {
		c.Tools = &items
	}
	if hasResources(cat) {
		c.Resources = &capability{
			ListChanged: rc.listChanged,
			Subscribe:   rc.listChanged && cat.Subscribe,
		}
	}
	if hasPrompts(cat) {
		c.Prompts = &items
	}
	if hasLogging(cat) {
		c.Logging = &capability{}
	}
	if hasCompletions(cat) && rc.version >= mcp.Version20250326 {
		c.Completions = &capability{}
	}
	if rc.version >= mcp.Version20251125 {
		c.Extensions = extensions(cat, rc.version)
	}
	encoded, err := mcp.Marshal(c)
	if err != nil {
		return json.RawMessage(`{}`) // only Extensions can fail: it is not JSON
	}
	return encoded
}

// extensions returns capabilities.extensions for a client of version v.
func extensions(cat *mcp.Catalog, v mcp.Version) json.RawMessage {
	if !cat.Tasks || !v.Modern() {
		return cat.Extensions
	}
	all := make(map[string]json.RawMessage)
	if cat.Extensions != nil && json.Unmarshal(cat.Extensions, &all) != nil {
		return cat.Extensions // not an object: reported where it is encoded
	}
	all[tasksExtension] = json.RawMessage(`{}`)
	encoded, err := mcp.Marshal(all)
	if err != nil {
		return cat.Extensions
	}
	return encoded
}

// setLevel serves logging/setLevel, which applies to the session.
func (s *Server) setLevel(rc *request, _ *mcp.Catalog, a *answer) error {
	var name string
	if err := rc.decodeParams(fields{"level": &name}); err != nil {
		return err
	}
	level, ok := mcp.ParseLogLevel(name)
	if !ok {
		return invalidParams("unknown level %q, want one of %s", name, levelNames())
	}
	if rc.session != nil {
		before := rc.session.logLevel.Swap(uint32(level))
		if err := s.sessionChanged(rc); err != nil {
			rc.session.logLevel.CompareAndSwap(uint32(level), before) // unless it was changed again
			return err
		}
	}
	a.encoded(rc, []byte(`{}`))
	return nil
}

func levelNames() string {
	var names []string
	for l := mcp.LogDebug; l <= mcp.LogEmergency; l++ {
		names = append(names, l.String())
	}
	return strings.Join(names, ", ")
}

// list returns the function that serves a list method.
func list(method string) func(*Server, *request, *mcp.Catalog, *answer) error {
	return func(_ *Server, rc *request, cat *mcp.Catalog, a *answer) error {
		cursor := ""
		raw := rc.msg.cursor
		if raw != nil && string(raw) != "null" {
			var ok bool
			if cursor, ok = jsonscan.Unquote(raw); !ok {
				cursor = "?" // not a cursor of any list
			}
		}
		result, err := cat.List(method, cursor, rc.form())
		if err != nil {
			return err
		}
		a.encoded(rc, result)
		return nil
	}
}

// callTool serves tools/call. The Source may also turn the call into a task.
func (s *Server) callTool(rc *request, cat *mcp.Catalog, a *answer) error {
	name, ok := jsonscan.UnquoteBytes(rc.msg.name)
	if !ok {
		return invalidParams(`params.name is required and must be a string`)
	}
	tool := cat.Tool(string(name))
	if tool == nil {
		return noTool(cat, string(name))
	}
	arguments := rc.msg.arguments
	if string(arguments) == "null" {
		arguments = nil
	}
	if arguments != nil && arguments[0] != '{' {
		return invalidParams("params.arguments must be an object")
	}
	if rc.header != nil && rc.version.Modern() {
		if err := rc.checkParamHeaders(cat.HeaderParams(tool), arguments); err != nil {
			return err
		}
	}
	rc.callTool = mcp.CallToolParams{
		Name:      tool.Name,
		Arguments: arguments,
		Origins:   tool.Origins,
		Index:     &rc.msg.index,
	}
	result, err := s.source.CallTool(rc, &rc.callTool)
	if rc.started != nil {
		a.taskCreated(rc, cat)
		return nil
	}
	if err != nil {
		if result, err = toolFailure(err, rc.version, rc.Err()); err != nil {
			return err
		}
	}
	if result == nil {
		return mcp.Errorf(mcp.CodeToolBadOutput, "tool %q returned no result", tool.Name)
	}
	if result.Failed() {
		rc.outcome = OutcomeToolError
	}
	return a.result(rc, cat, result)
}

// toolFailure decides whether an error of a tool is sent to the model as a result, or to
// the client as a JSON-RPC error. ended is the error of the request's context, or nil if
// it has not ended. A context error only counts as a timeout or cancellation of the
// request if ended is set, because a tool may use shorter timeouts for parts of its work.
func toolFailure(err error, v mcp.Version, ended error) (*mcp.CallToolResult, error) {
	var e *mcp.Error
	switch {
	case errors.As(err, &e):
		if !e.ToModel || v < mcp.Version20251125 {
			return nil, err
		}
		return &mcp.CallToolResult{
			Content: []mcp.Content{mcp.Text(e.Message)},
			IsError: true,
		}, nil
	case errors.Is(err, mcp.ErrInputRequired):
		return nil, err // the questions are the answer
	case ended != nil && isContextError(err):
		if errors.Is(ended, context.DeadlineExceeded) {
			return nil, &mcp.Error{
				Code:    mcp.CodeToolTimeout,
				Message: "the tool ran out of time",
				Cause:   err,
			}
		}
		return nil, err
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{mcp.Text(err.Error())},
		IsError: true,
	}, nil
}

func isContextError(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// readResource serves resources/read.
func (s *Server) readResource(rc *request, cat *mcp.Catalog, a *answer) error {
	uri, ok := jsonscan.Unquote(rc.msg.uri)
	if !ok || uri == "" {
		return invalidParams(`params.uri is required and must be a string`)
	}
	rc.read = mcp.ReadResourceParams{URI: uri}
	result, err := s.source.ReadResource(rc, &rc.read)
	if err != nil {
		return readFailure(err, uri, rc.Err())
	}
	if result == nil || result.Raw == nil && len(result.Contents) == 0 {
		return mcp.ResourceNotFound(uri, "")
	}
	return a.result(rc, cat, result)
}

// readFailure converts a timeout while a resource was read. If only a part of the work
// has timed out and the request itself has not, the resource counts as unavailable.
func readFailure(err error, uri string, ended error) error {
	var e *mcp.Error
	switch {
	case errors.As(err, &e), !errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(ended, context.DeadlineExceeded):
		return &mcp.Error{
			Code:    mcp.CodeResourceTimeout,
			Message: "reading the resource ran out of time",
			Data:    mcp.ResourceNotFound(uri, "").Data,
			Cause:   err,
		}
	}
	return &mcp.Error{
		Code:    mcp.CodeResourceUnavailable,
		Message: "the resource cannot be reached in time",
		Data:    mcp.ResourceNotFound(uri, "").Data,
		Cause:   err,
	}
}

// getPrompt serves prompts/get, once all required arguments are present.
func (s *Server) getPrompt(rc *request, cat *mcp.Catalog, a *answer) error {
	name, ok := jsonscan.Unquote(rc.msg.name)
	if !ok {
		return invalidParams(`params.name is required and must be a string`)
	}
	prompt := cat.Prompt(name)
	if prompt == nil {
		return noPrompt(cat, name)
	}
	p := mcp.GetPromptParams{Name: name}
	if rc.msg.arguments != nil {
		if err := decodeStrings(&p.Arguments, rc.msg.arguments); err != nil {
			return invalidParams("params.arguments: %v", err)
		}
	}
	if missing := missingArguments(prompt, p.Arguments); len(missing) > 0 {
		return invalidParams("prompt %q: missing required arguments: %s", name,
			strings.Join(missing, ", "))
	}
	result, err := s.source.GetPrompt(rc, &p)
	if err != nil {
		return err
	}
	if result == nil {
		return mcp.Errorf(mcp.CodeInternalError, "prompt %q returned no messages", name)
	}
	return a.result(rc, cat, result)
}

// missingArguments returns the required arguments that a request lacks.
func missingArguments(p *mcp.Prompt, given map[string]string) (missing []string) {
	for _, a := range p.Arguments {
		_, ok := given[a.Name]
		if a.Required && !ok {
			missing = append(missing, a.Name)
		}
	}
	return missing
}

// complete serves completion/complete for an argument of a known prompt or a variable of
// a known template.
func (s *Server) complete(rc *request, cat *mcp.Catalog, a *answer) error {
	var p mcp.CompleteParams
	var kind, name, uri string
	if err := rc.decodeParams(fields{
		"ref": fields{
			"type": &kind,
			"name": &name,
			"uri":  &uri,
		},
		"argument": fields{
			"name":  &p.Argument,
			"value": &p.Value,
		},
		"context": fields{"arguments": &p.Arguments},
	}); err != nil {
		return err
	}
	switch kind {
	case "ref/prompt":
		prompt := cat.Prompt(name)
		if prompt == nil {
			return noPrompt(cat, name)
		}
		if !hasArgument(prompt, p.Argument) {
			return invalidParams("prompt %q has no argument %q, it has: %s",
				prompt.Name, p.Argument, argumentNames(prompt))
		}
		p.Prompt = prompt.Name
	case "ref/resource":
		switch {
		case !hasTemplate(cat, uri):
			return invalidParams("unknown resource template %q", uri)
		case !hasVariable(uri, p.Argument):
			return invalidParams("resource template %q has no variable %q", uri, p.Argument)
		}
		p.URITemplate = uri
	default:
		return invalidParams(`params.ref.type must be "ref/prompt" or "ref/resource"`)
	}
	result, err := s.source.Complete(rc, &p)
	if err != nil {
		return err
	}
	if result == nil {
		result = &mcp.CompleteResult{}
	}
	return a.result(rc, cat, result)
}

func hasArgument(p *mcp.Prompt, name string) bool {
	return slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool {
		return a.Name == name
	})
}

// hasVariable reports whether an RFC 6570 template has a variable of that name.
func hasVariable(template, name string) bool {
	for {
		_, rest, found := strings.Cut(template, "{")
		expression, rest, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return false
		}
		template = rest
		for v := range strings.SplitSeq(strings.TrimLeft(expression, "+#./;?&=,!@|"), ",") {
			if v, _, _ = strings.Cut(v, ":"); strings.TrimSuffix(v, "*") == name {
				return true
			}
		}
	}
}

// argumentNames lists the arguments of a prompt for an error message.
func argumentNames(p *mcp.Prompt) string {
	names := make([]string, 0, len(p.Arguments))
	for _, a := range p.Arguments {
		names = append(names, a.Name)
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}

func hasTemplate(cat *mcp.Catalog, uriTemplate string) bool {
	return slices.ContainsFunc(cat.Templates, func(t mcp.ResourceTemplate) bool {
		return t.URITemplate == uriTemplate
	})
}

// noTool returns the error for a tool that is not offered.
func noTool(c *mcp.Catalog, name string) error {
	if why, ok := c.WithheldTools[name]; ok {
		return &mcp.Error{
			Code:    mcp.CodeToolDenied,
			Message: why,
		}
	}
	return suggest(mcp.UnknownTool(name), name, len(c.Tools), func(i int) string {
		return c.Tools[i].Name
	})
}

// noPrompt returns the error for a prompt that is not offered, or may be in a list that is missing.
func noPrompt(c *mcp.Catalog, name string) error {
	if why, ok := c.WithheldPrompts[name]; ok {
		return invalidParams("%s", why)
	}
	var unread []string
	for _, m := range c.Missing {
		if m.List == "prompts/list" && m.Entry == 0 {
			unread = append(unread, m.String())
		}
	}
	if unread != nil {
		return mcp.Errorf(mcp.CodeToolUnavailable,
			"prompt %s is not known, because the list of prompts could not be read: %s",
			quoted(name), strings.Join(unread, "; "))
	}
	return suggest(mcp.UnknownPrompt(name), name, len(c.Prompts), func(i int) string {
		return c.Prompts[i].Name
	})
}

// suggest adds the one of n offered names that is most similar to the unknown one.
func suggest(e *mcp.Error, name string, n int, offered func(i int) string) *mcp.Error {
	near := nearest.NearestOf(name, func(yield func(string) bool) {
		for i := 0; i < n && yield(offered(i)); i++ {
		}
	}, 1)
	if len(near) > 0 {
		e.Message += fmt.Sprintf(", did you mean %q?", near[0])
	}
	return e
}

// invalidParams returns an error about the parameters of a request.
func invalidParams(format string, args ...any) *mcp.Error {
	return mcp.Errorf(mcp.CodeInvalidParams, format, args...)
}

// busy returns an error for a request that exceeds a limit.
func busy(format string, args ...any) *mcp.Error {
	return mcp.Errorf(mcp.CodeToolBusy, format, args...)
}
