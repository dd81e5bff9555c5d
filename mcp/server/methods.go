package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
	name         string
	since, until mcp.Version
	// capability reports whether the catalog provides the capability of the method; nil
	// means always.
	capability func(*mcp.Catalog) bool
	// beforeInitialize allows the method before the handshake of a stream.
	beforeInitialize bool
	serve            func(*Server, *request, *mcp.Catalog, *answer) error
}

// methods is the complete table. Each row names the versions that have the method.
var methods = []method{
	{name: "initialize", since: mcp.Version20241105, until: mcp.Version20251125, beforeInitialize: true,
		serve: (*Server).initialize},
	{name: "ping", since: mcp.Version20241105, until: mcp.Version20251125, beforeInitialize: true, serve: (*Server).ping},
	{name: "server/discover", since: mcp.Version20260728, until: mcp.LatestVersion, serve: (*Server).discover},
	{name: "logging/setLevel", since: mcp.Version20241105, until: mcp.Version20251125, capability: hasLogging,
		serve: (*Server).setLevel},

	{name: "tools/list", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasTools, serve: list("tools/list")},
	{name: "tools/call", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasTools, serve: (*Server).callTool},
	{name: "resources/list", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasResources,
		serve: list("resources/list")},
	{name: "resources/templates/list", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasResources,
		serve: list("resources/templates/list")},
	{name: "resources/read", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasResources,
		serve: (*Server).readResource},
	{name: "resources/subscribe", since: mcp.Version20241105, until: mcp.Version20251125, capability: hasSubscribe,
		serve: (*Server).subscribe},
	{name: "resources/unsubscribe", since: mcp.Version20241105, until: mcp.Version20251125, capability: hasSubscribe,
		serve: (*Server).unsubscribe},
	{name: "subscriptions/listen", since: mcp.Version20260728, until: mcp.LatestVersion, serve: (*Server).listen},
	{name: "prompts/list", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasPrompts, serve: list("prompts/list")},
	{name: "prompts/get", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasPrompts,
		serve: (*Server).getPrompt},
	{name: "tasks/get", since: mcp.Version20260728, until: mcp.LatestVersion, capability: hasTasks, serve: (*Server).getTask},
	{name: "tasks/update", since: mcp.Version20260728, until: mcp.LatestVersion, capability: hasTasks,
		serve: (*Server).updateTask},
	{name: "tasks/cancel", since: mcp.Version20260728, until: mcp.LatestVersion, capability: hasTasks,
		serve: (*Server).cancelTask},
	{name: "completion/complete", since: mcp.Version20241105, until: mcp.LatestVersion, capability: hasCompletions,
		serve: (*Server).complete},
}

func hasTools(c *mcp.Catalog) bool       { return c.Growing || len(c.Tools)+len(c.WithheldTools) > 0 }
func hasResources(c *mcp.Catalog) bool   { return c.Growing || len(c.Resources)+len(c.Templates) > 0 }
func hasTasks(c *mcp.Catalog) bool       { return c.Tasks }
func hasSubscribe(c *mcp.Catalog) bool   { return hasResources(c) && c.Subscribe }
func hasPrompts(c *mcp.Catalog) bool     { return c.Growing || len(c.Prompts)+len(c.WithheldPrompts) > 0 }
func hasCompletions(c *mcp.Catalog) bool { return c.Completions }
func hasLogging(c *mcp.Catalog) bool     { return c.Logging }

// findMethod returns the row for a method in version v, or nil.
func findMethod(name []byte, v mcp.Version) *method {
	for i := range methods {
		if m := &methods[i]; m.name == string(name) && m.since <= v && v <= m.until {
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
	}{v.String(), s.capabilities(rc, cat), cat.ServerInfo(v), cat.Instructions})
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
	if cat.Cache.Public && !rc.form().Private {
		scope = "public"
	}
	head, err := mcp.Marshal(struct {
		SupportedVersions []string        `json:"supportedVersions"`
		Capabilities      json.RawMessage `json:"capabilities"`
		Instructions      string          `json:"instructions,omitempty"`
		TTL               int64           `json:"ttlMs"`
		Scope             string          `json:"cacheScope"`
	}{supportedVersions(), s.capabilities(rc, cat), cat.Instructions, max(0, cat.Cache.TTL.Milliseconds()), scope})
	if err != nil {
		return err
	}
	raw, err := mcp.ParseRaw(head)
	if err != nil {
		return err
	}
	return a.result(rc, cat, &mcp.MethodResult{Result: raw})
}

func supportedVersions() []string {
	var names []string
	for _, v := range mcp.Versions() {
		names = append(names, v.String())
	}
	return names
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
func (s *Server) capabilities(rc *request, cat *mcp.Catalog) json.RawMessage {
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

func (s *Server) setLevel(rc *request, _ *mcp.Catalog, a *answer) error {
	var name string
	if err := rc.decodeParams(fields{"level": &name}); err != nil {
		return err
	}
	level, ok := mcp.ParseLogLevel(name)
	if !ok {
		return mcp.Errorf(mcp.CodeInvalidParams, "unknown level %q, want one of %s", name, levelNames())
	}
	if rc.session != nil {
		rc.session.logLevel.Store(uint32(level))
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

func list(method string) func(*Server, *request, *mcp.Catalog, *answer) error {
	return func(_ *Server, rc *request, cat *mcp.Catalog, a *answer) error {
		cursor := ""
		if raw := rc.msg.cursor; raw != nil && string(raw) != "null" {
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

func (s *Server) callTool(rc *request, cat *mcp.Catalog, a *answer) error {
	name, ok := jsonscan.UnquoteBytes(rc.msg.name)
	if !ok {
		return mcp.Errorf(mcp.CodeInvalidParams, `params.name is required and must be a string`)
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
		return mcp.Errorf(mcp.CodeInvalidParams, "params.arguments must be an object")
	}
	if rc.header != nil && rc.version.Modern() {
		if err := rc.checkParamHeaders(cat.HeaderParams(tool), arguments); err != nil {
			return err
		}
	}
	rc.callTool = mcp.CallToolParams{Name: tool.Name, Arguments: arguments, Origins: tool.Origins}
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
	rc.toolError = result.Failed()
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
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(e.Message)}, IsError: true}, nil
	case errors.Is(err, mcp.ErrInputRequired):
		return nil, err // the questions are the answer
	case ended != nil && isContextError(err):
		if errors.Is(ended, context.DeadlineExceeded) {
			return nil, &mcp.Error{Code: mcp.CodeToolTimeout, Message: "the tool ran out of time", Cause: err}
		}
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(err.Error())}, IsError: true}, nil
}

func isContextError(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (s *Server) readResource(rc *request, cat *mcp.Catalog, a *answer) error {
	uri, ok := jsonscan.Unquote(rc.msg.uri)
	if !ok || uri == "" {
		return mcp.Errorf(mcp.CodeInvalidParams, `params.uri is required and must be a string`)
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
		return &mcp.Error{Code: mcp.CodeResourceTimeout, Message: "reading the resource ran out of time",
			Data: mcp.ResourceNotFound(uri, "").Data, Cause: err}
	}
	return &mcp.Error{Code: mcp.CodeResourceUnavailable, Message: "the resource cannot be reached in time",
		Data: mcp.ResourceNotFound(uri, "").Data, Cause: err}
}

func (s *Server) getPrompt(rc *request, cat *mcp.Catalog, a *answer) error {
	name, ok := jsonscan.Unquote(rc.msg.name)
	if !ok {
		return mcp.Errorf(mcp.CodeInvalidParams, `params.name is required and must be a string`)
	}
	prompt := cat.Prompt(name)
	if prompt == nil {
		return noPrompt(cat, name)
	}
	p := mcp.GetPromptParams{Name: name}
	if rc.msg.arguments != nil {
		if err := decodeStrings(&p.Arguments, rc.msg.arguments); err != nil {
			return mcp.Errorf(mcp.CodeInvalidParams, "params.arguments: %v", err)
		}
	}
	if missing := missingArguments(prompt, p.Arguments); len(missing) > 0 {
		return mcp.Errorf(mcp.CodeInvalidParams, "prompt %q: missing required arguments: %s", name, strings.Join(missing, ", "))
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

func missingArguments(p *mcp.Prompt, given map[string]string) (missing []string) {
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			missing = append(missing, a.Name)
		}
	}
	return missing
}

func (s *Server) complete(rc *request, cat *mcp.Catalog, a *answer) error {
	var p mcp.CompleteParams
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
			return noPrompt(cat, name)
		}
		if !hasArgument(prompt, p.Argument) {
			return mcp.Errorf(mcp.CodeInvalidParams, "prompt %q has no argument %q, it has: %s",
				prompt.Name, p.Argument, argumentNames(prompt))
		}
		p.Prompt = prompt.Name
	case "ref/resource":
		switch {
		case !hasTemplate(cat, uri):
			return mcp.Errorf(mcp.CodeInvalidParams, "unknown resource template %q", uri)
		case !hasVariable(uri, p.Argument):
			return mcp.Errorf(mcp.CodeInvalidParams, "resource template %q has no variable %q", uri, p.Argument)
		}
		p.URITemplate = uri
	default:
		return mcp.Errorf(mcp.CodeInvalidParams, `params.ref.type must be "ref/prompt" or "ref/resource"`)
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

func argumentNames(p *mcp.Prompt) string {
	names := make([]string, 0, len(p.Arguments))
	for _, a := range p.Arguments {
		names = append(names, a.Name)
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}

func hasTemplate(cat *mcp.Catalog, uriTemplate string) bool {
	return slices.ContainsFunc(cat.Templates, func(t mcp.ResourceTemplate) bool { return t.URITemplate == uriTemplate })
}

// noTool returns the error for a tool that is not offered.
func noTool(c *mcp.Catalog, name string) error {
	if why, ok := c.WithheldTools[name]; ok {
		return &mcp.Error{Code: mcp.CodeToolDenied, Message: why}
	}
	return suggest(mcp.UnknownTool(name), name, func(yield func(string) bool) {
		for i := range c.Tools {
			if !yield(c.Tools[i].Name) {
				return
			}
		}
	})
}

// noPrompt returns the error for a prompt that is not offered.
func noPrompt(c *mcp.Catalog, name string) error {
	if why, ok := c.WithheldPrompts[name]; ok {
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: why}
	}
	return suggest(mcp.UnknownPrompt(name), name, func(yield func(string) bool) {
		for i := range c.Prompts {
			if !yield(c.Prompts[i].Name) {
				return
			}
		}
	})
}

// suggest adds the offered name that is most similar to the unknown one.
func suggest(e *mcp.Error, name string, offered iter.Seq[string]) *mcp.Error {
	if near := nearest.NearestOf(name, offered, 1); len(near) > 0 {
		e.Message += fmt.Sprintf(", did you mean %q?", near[0])
	}
	return e
}
