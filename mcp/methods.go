package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// method is one row of the table of protocol methods.
type method struct {
	name         string
	since, until Version
	// capability reports whether the catalog provides the capability of the method; nil
	// means always.
	capability func(*Catalog) bool
	// beforeInitialize allows the method before the handshake of a stream.
	beforeInitialize bool
	serve            func(*Server, *requestContext, *Catalog, *answer) error
}

// methods is the complete table. Each row names the versions that have the method.
var methods = []method{
	{name: "initialize", since: Version20241105, until: Version20251125, beforeInitialize: true,
		serve: (*Server).initialize},
	{name: "ping", since: Version20241105, until: Version20251125, beforeInitialize: true, serve: (*Server).ping},
	{name: "server/discover", since: Version20260728, until: LatestVersion, serve: (*Server).discover},
	{name: "logging/setLevel", since: Version20241105, until: Version20251125, capability: hasLogging,
		serve: (*Server).setLevel},

	{name: "tools/list", since: Version20241105, until: LatestVersion, capability: hasTools, serve: list(listTools)},
	{name: "tools/call", since: Version20241105, until: LatestVersion, capability: hasTools, serve: (*Server).callTool},
	{name: "resources/list", since: Version20241105, until: LatestVersion, capability: hasResources,
		serve: list(listResources)},
	{name: "resources/templates/list", since: Version20241105, until: LatestVersion, capability: hasResources,
		serve: list(listTemplates)},
	{name: "resources/read", since: Version20241105, until: LatestVersion, capability: hasResources,
		serve: (*Server).readResource},
	{name: "resources/subscribe", since: Version20241105, until: Version20251125, capability: hasSubscribe,
		serve: (*Server).subscribe},
	{name: "resources/unsubscribe", since: Version20241105, until: Version20251125, capability: hasSubscribe,
		serve: (*Server).unsubscribe},
	{name: "subscriptions/listen", since: Version20260728, until: LatestVersion, serve: (*Server).listen},
	{name: "prompts/list", since: Version20241105, until: LatestVersion, capability: hasPrompts, serve: list(listPrompts)},
	{name: "prompts/get", since: Version20241105, until: LatestVersion, capability: hasPrompts,
		serve: (*Server).getPrompt},
	{name: "tasks/get", since: Version20260728, until: LatestVersion, capability: hasTasks, serve: (*Server).getTask},
	{name: "tasks/update", since: Version20260728, until: LatestVersion, capability: hasTasks,
		serve: (*Server).updateTask},
	{name: "tasks/cancel", since: Version20260728, until: LatestVersion, capability: hasTasks,
		serve: (*Server).cancelTask},
	{name: "completion/complete", since: Version20241105, until: LatestVersion, capability: hasCompletions,
		serve: (*Server).complete},
}

func hasTools(c *Catalog) bool       { return c.Growing || len(c.Tools)+len(c.WithheldTools) > 0 }
func hasResources(c *Catalog) bool   { return c.Growing || len(c.Resources)+len(c.Templates) > 0 }
func hasTasks(c *Catalog) bool       { return c.Tasks }
func hasSubscribe(c *Catalog) bool   { return hasResources(c) && c.Subscribe }
func hasPrompts(c *Catalog) bool     { return c.Growing || len(c.Prompts)+len(c.WithheldPrompts) > 0 }
func hasCompletions(c *Catalog) bool { return c.Completions }
func hasLogging(c *Catalog) bool     { return c.Logging }

// findMethod returns the row for a method in version v, or nil.
func findMethod(name []byte, v Version) *method {
	for i := range methods {
		if m := &methods[i]; m.name == string(name) && m.since <= v && v <= m.until {
			return m
		}
	}
	return nil
}

func (s *Server) ping(rc *requestContext, _ *Catalog, a *answer) error {
	a.encoded(rc, []byte(`{}`))
	return nil
}

// initialize starts a session. It accepts the version that the client requests, if it has
// a handshake, and otherwise offers the latest version that does.
func (s *Server) initialize(rc *requestContext, cat *Catalog, a *answer) error {
	var requested string
	var client, capabilities json.RawMessage
	if err := rc.decodeParams(fields{
		"protocolVersion": &requested,
		"capabilities":    &capabilities,
		"clientInfo":      &client,
	}); err != nil {
		return err
	}
	v, ok := ParseVersion(requested)
	if !ok || v.Modern() {
		v = LatestLegacyVersion
	}
	switch {
	case rc.session == nil:
		return errors.New("initialize without a session")
	case rc.session.Version() != 0:
		return invalidRequest("already initialized")
	}
	rc.version = v
	info, err := cat.Server.wire(v)
	if err != nil {
		return err
	}
	result, err := Marshal(struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
		Instructions    string          `json:"instructions,omitempty"`
	}{v.String(), s.capabilities(rc, cat), info, cat.Instructions})
	if err != nil {
		return err
	}
	size := rc.session.begin(v, client, capabilities)
	if err := s.keepSession(rc, size); err != nil {
		return err
	}
	a.encoded(rc, result)
	return nil
}

// keepSession books a session that has started.
func (s *Server) keepSession(rc *requestContext, size int) error {
	session := rc.session
	lasts := session.id != "" || rc.header == nil // without an id it ends with the request
	if lasts && s.opts.Observer != nil {
		session.began = time.Now().UnixNano() // before others see the session
	}
	fits := true
	switch {
	case session.id != "":
		fits = s.sessions.add(session, rc.client(), size)
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
func (s *Server) discover(rc *requestContext, cat *Catalog, a *answer) error {
	names := make([]string, 0, len(versionNames))
	for _, v := range Versions() {
		names = append(names, v.String())
	}
	head, err := Marshal(struct {
		SupportedVersions []string        `json:"supportedVersions"`
		Capabilities      json.RawMessage `json:"capabilities"`
		Instructions      string          `json:"instructions,omitempty"`
	}{names, s.capabilities(rc, cat), cat.Instructions})
	if err != nil {
		return err
	}
	result := append(head[:len(head)-1], ',')
	result = append(appendCacheHint(result, rc.narrowed(cat.Cache)), ',')
	result = append(append(result, cat.completeMembers()...), '}')
	a.encoded(rc, result)
	return nil
}

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
func (s *Server) capabilities(rc *requestContext, cat *Catalog) json.RawMessage {
	var c capabilities
	items := capability{ListChanged: rc.listChanged}
	if hasTools(cat) {
		c.Tools = &items
	}
	if hasResources(cat) {
		c.Resources = &capability{ListChanged: rc.listChanged, Subscribe: rc.listChanged && cat.Subscribe}
	}
	if hasPrompts(cat) {
		c.Prompts = &items
	}
	if hasLogging(cat) {
		c.Logging = &capability{}
	}
	if hasCompletions(cat) && rc.version >= Version20250326 {
		c.Completions = &capability{}
	}
	if rc.version >= Version20251125 {
		c.Extensions = cat.extensions(rc.version)
	}
	encoded, err := Marshal(c)
	if err != nil {
		return json.RawMessage(`{}`) // only Extensions can fail: it is not JSON
	}
	return encoded
}

func (s *Server) setLevel(rc *requestContext, _ *Catalog, a *answer) error {
	var name string
	if err := rc.decodeParams(fields{"level": &name}); err != nil {
		return err
	}
	level, ok := ParseLogLevel(name)
	if !ok {
		return Errorf(CodeInvalidParams, "unknown level %q, want one of %s", name, strings.Join(logLevelNames[:], ", "))
	}
	if rc.session != nil {
		rc.session.logLevel.Store(uint32(level))
	}
	a.encoded(rc, []byte(`{}`))
	return nil
}

func list(k listKind) func(*Server, *requestContext, *Catalog, *answer) error {
	return func(_ *Server, rc *requestContext, cat *Catalog, a *answer) error {
		offset := 0
		if rc.msg.cursor != nil && string(rc.msg.cursor) != "null" {
			cursor, ok := jsonscan.Unquote(rc.msg.cursor)
			if ok {
				offset, ok = decodeCursor(cursor, k)
			}
			if !ok {
				return Errorf(CodeInvalidParams, "invalid cursor: use the nextCursor of an earlier answer to the same list")
			}
		}
		who := asDeclared
		if rc.narrowed(cat.Cache) != cat.Cache {
			who = callerOnly
		}
		result, err := cat.list(k, min(offset, cat.length(k)), rc.version, who)
		if err != nil {
			return err
		}
		a.encoded(rc, result)
		return nil
	}
}

func (s *Server) callTool(rc *requestContext, cat *Catalog, a *answer) error {
	name, ok := jsonscan.UnquoteBytes(rc.msg.name)
	if !ok {
		return Errorf(CodeInvalidParams, `params.name is required and must be a string`)
	}
	tool := cat.tool(name)
	if tool == nil {
		return cat.noTool(string(name))
	}
	arguments := rc.msg.arguments
	if string(arguments) == "null" {
		arguments = nil
	}
	if arguments != nil && arguments[0] != '{' {
		return Errorf(CodeInvalidParams, "params.arguments must be an object")
	}
	if rc.header != nil && rc.version.Modern() {
		if err := rc.checkParamHeaders(cat.headerParams(tool), arguments); err != nil {
			return err
		}
	}
	rc.callTool = CallToolParams{Name: tool.Name, Arguments: arguments, Origins: tool.Origins}
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
		return Errorf(CodeToolBadOutput, "tool %q returned no result", tool.Name)
	}
	rc.toolError = result.IsError || result.Raw != nil && result.Raw.isError
	return a.result(rc, cat, result, nil)
}

// toolFailure decides whether an error of a tool is sent to the model as a result, or to
// the client as a JSON-RPC error. ended is the error of the request's context, or nil if
// it has not ended. A context error only counts as a timeout or cancellation of the
// request if ended is set, because a tool may use shorter timeouts for parts of its work.
func toolFailure(err error, v Version, ended error) (*CallToolResult, error) {
	var e *Error
	switch {
	case errors.As(err, &e):
		if !e.arguments || v < Version20251125 {
			return nil, err
		}
		return &CallToolResult{Content: []Content{Text(e.Message)}, IsError: true}, nil
	case errors.Is(err, ErrInputRequired):
		return nil, err // the questions are the answer
	case ended != nil && isContextError(err):
		if errors.Is(ended, context.DeadlineExceeded) {
			return nil, &Error{Code: CodeToolTimeout, Message: "the tool ran out of time", Cause: err}
		}
		return nil, err
	}
	return &CallToolResult{Content: []Content{Text(err.Error())}, IsError: true}, nil
}

func isContextError(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (s *Server) readResource(rc *requestContext, cat *Catalog, a *answer) error {
	uri, ok := jsonscan.Unquote(rc.msg.uri)
	if !ok || uri == "" {
		return Errorf(CodeInvalidParams, `params.uri is required and must be a string`)
	}
	rc.read = ReadResourceParams{URI: uri}
	result, err := s.source.ReadResource(rc, &rc.read)
	if err != nil {
		return readFailure(err, uri, rc.Err())
	}
	if result == nil || result.Raw == nil && len(result.Contents) == 0 {
		return ResourceNotFound(uri, "")
	}
	return a.result(rc, cat, result, &result.Cache)
}

// readFailure converts a timeout while a resource was read. If only a part of the work
// has timed out and the request itself has not, the resource counts as unavailable.
func readFailure(err error, uri string, ended error) error {
	var e *Error
	switch {
	case errors.As(err, &e), !errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(ended, context.DeadlineExceeded):
		return &Error{Code: CodeResourceTimeout, Message: "reading the resource ran out of time",
			Data: uriData(uri), Cause: err}
	}
	return &Error{Code: CodeResourceUnavailable, Message: "the resource cannot be reached in time",
		Data: uriData(uri), Cause: err}
}

func (s *Server) getPrompt(rc *requestContext, cat *Catalog, a *answer) error {
	name, ok := jsonscan.Unquote(rc.msg.name)
	if !ok {
		return Errorf(CodeInvalidParams, `params.name is required and must be a string`)
	}
	prompt := cat.Prompt(name)
	if prompt == nil {
		return cat.noPrompt(name)
	}
	p := GetPromptParams{Name: name}
	if rc.msg.arguments != nil {
		if err := decodeStrings(&p.Arguments, rc.msg.arguments); err != nil {
			return Errorf(CodeInvalidParams, "params.arguments: %v", err)
		}
	}
	if missing := missingArguments(prompt, p.Arguments); len(missing) > 0 {
		return Errorf(CodeInvalidParams, "prompt %q: missing required arguments: %s", name, strings.Join(missing, ", "))
	}
	result, err := s.source.GetPrompt(rc, &p)
	if err != nil {
		return err
	}
	if result == nil {
		return Errorf(CodeInternalError, "prompt %q returned no messages", name)
	}
	return a.result(rc, cat, result, nil)
}

func missingArguments(p *Prompt, given map[string]string) (missing []string) {
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			missing = append(missing, a.Name)
		}
	}
	return missing
}

func (s *Server) complete(rc *requestContext, cat *Catalog, a *answer) error {
	var p CompleteParams
	var kind, name, uri string
	if err := rc.decodeParams(fields{
		"ref":      fields{"type": &kind, "name": &name, "uri": &uri},
		"argument": fields{"name": &p.Argument, "value": &p.Value},
		"context":  fields{"arguments": &p.Arguments},
	}); err != nil {
		return err
	}
	switch kind {
	case "ref/prompt":
		prompt := cat.Prompt(name)
		if prompt == nil {
			return cat.noPrompt(name)
		}
		if !hasArgument(prompt, p.Argument) {
			return Errorf(CodeInvalidParams, "prompt %q has no argument %q, it has: %s",
				prompt.Name, p.Argument, argumentNames(prompt))
		}
		p.Prompt = prompt.Name
	case "ref/resource":
		switch {
		case !cat.hasTemplate(uri):
			return Errorf(CodeInvalidParams, "unknown resource template %q", uri)
		case !hasVariable(uri, p.Argument):
			return Errorf(CodeInvalidParams, "resource template %q has no variable %q", uri, p.Argument)
		}
		p.URITemplate = uri
	default:
		return Errorf(CodeInvalidParams, `params.ref.type must be "ref/prompt" or "ref/resource"`)
	}
	result, err := s.source.Complete(rc, &p)
	if err != nil {
		return err
	}
	if result == nil {
		result = &CompleteResult{}
	}
	return a.result(rc, cat, result, nil)
}

func hasArgument(p *Prompt, name string) bool {
	for _, a := range p.Arguments {
		if a.Name == name {
			return true
		}
	}
	return false
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

func argumentNames(p *Prompt) string {
	names := make([]string, 0, len(p.Arguments))
	for _, a := range p.Arguments {
		names = append(names, a.Name)
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}
