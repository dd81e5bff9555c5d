package stax

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
)

// perUser is a server that is used with the login of each caller. It is the outermost layer of
// an [Opened]: what it offers before a login is not from the server, so it is neither locked
// nor edited.
//
// A caller whose catalog is not known sees one tool, connect_NAME, which asks for the login.
// The catalog of a caller is shown to that caller alone.
type perUser struct {
	mcp.Source // the layers below
	// name is that of the server, url its address, and tool the name of its tool that asks for
	// a login.
	name, url, tool string
	// isolated has the connection of each caller, and vault the logins.
	isolated *client.Isolated
	vault    *identity.Vault
	closed   *mcp.Catalog // before a login
	watchers mcp.Watchers
	unwatch  func()

	mu sync.Mutex // guards the following fields
	// joined is when callers have connected, for keepTool.
	joined map[identity.Caller]time.Time
	// shown are catalogs with the tool, or the reason why it is gone, by the catalog below.
	shown map[shownKey]*mcp.Catalog
	// size is that of shown, in bytes.
	size int64
}

// shownKey identifies a catalog that perUser has changed.
type shownKey struct {
	of   *mcp.Catalog
	tool bool // it has the tool
}

// Limits of perUser.
const (
	// keepTool is how long connect_NAME is still offered after a login, so that the call that
	// asked for it can be repeated.
	keepTool   = 2 * time.Minute
	maxJoined  = 1000
	maxShown   = 32
	maxBytes   = 64 << 20        // of shown, as an estimate; one catalog is always kept
	maxLogins  = 3               // of one request
	prepareFor = 5 * time.Second // how long a list waits for the server
)

var (
	_ mcp.Source     = (*perUser)(nil)
	_ mcp.Watcher    = (*perUser)(nil)
	_ mcp.Extender   = (*perUser)(nil)
	_ mcp.Subscriber = (*perUser)(nil)
)

// newPerUser returns the outermost layer of a server.
func newPerUser(
	s *Server,
	inner mcp.Source,
	isolated *client.Isolated,
	vault *identity.Vault,
) *perUser {
	u := &perUser{
		Source:   inner,
		name:     s.Name,
		url:      s.URL,
		tool:     "connect_" + s.Name,
		isolated: isolated,
		vault:    vault,
		closed:   unknownCatalog(s),
		joined:   make(map[identity.Caller]time.Time),
		shown:    make(map[shownKey]*mcp.Catalog),
	}
	u.closed.Tools = []mcp.Tool{u.connectTool()}
	vault.Name(s.URL, s.Name)
	u.unwatch = vault.Watch(u.changed)
	return u
}

// unknownCatalog is the catalog of a server that offers different things to its callers.
func unknownCatalog(s *Server) *mcp.Catalog {
	return s.Failover.Declare(&mcp.Catalog{
		Server: mcp.Implementation{
			Name:    s.Name,
			Version: "0",
		},
		Growing: true,
		Sources: []mcp.JoinedSource{{
			Name:    s.Name,
			Unknown: true,
		}},
	})
}

// connectTool returns the tool that asks for a login.
func (u *perUser) connectTool() mcp.Tool {
	no := false
	return mcp.Tool{
		Name:  u.tool,
		Title: "Log in to " + u.name,
		Description: fmt.Sprintf("Logs the user in to %q, whose tools are available afterwards. "+
			"The user opens a page in a browser.", u.name),
		InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{
			DestructiveHint: &no,
			IdempotentHint:  true,
		},
	}
}

// changed handles a new or ended connection of a caller.
func (u *perUser) changed(c identity.Caller, server string) {
	if !identity.SameServer(server, u.url) {
		return
	}
	connected := u.vault.Connected(c, server)
	u.mu.Lock()
	if len(u.joined) >= maxJoined {
		clear(u.joined)
	}
	if delete(u.joined, c); connected {
		u.joined[c] = time.Now()
	}
	u.mu.Unlock()
	isCaller := func(p *mcp.Principal) bool {
		who, ok := identity.CallerOf(p)
		return ok && who == c
	}
	u.isolated.Retry(isCaller)
	if !connected {
		u.isolated.Stop(isCaller)
	}
	u.watchers.Tell(mcp.Change{
		Tools:     true,
		Resources: true,
		Prompts:   true,
	})
}

// Catalog implements [mcp.Source].
func (u *perUser) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	caller, ok := identity.CallerOf(mcp.PrincipalFrom(ctx))
	if !ok {
		return u.closed, nil
	}
	if u.isolated.Known(ctx) == nil {
		if !u.vault.Connected(caller, u.url) {
			return u.closed, nil
		}
		limited, cancel := context.WithTimeout(ctx, prepareFor)
		defer cancel()
		if u.isolated.Prepare(limited, false) != nil {
			return u.closed, nil // a call of its tool returns the error
		}
	}
	cat, err := u.Source.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	return u.withTool(caller, cat), nil
}

// withTool returns the catalog of a caller with the tool that asked for the login, for as long
// as the call may be repeated, and afterwards with the reason why it is gone.
func (u *perUser) withTool(c identity.Caller, cat *mcp.Catalog) *mcp.Catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	at, recent := u.joined[c]
	key := shownKey{cat, recent && time.Since(at) < keepTool}
	if known := u.shown[key]; known != nil {
		return known
	}
	shown := cat.Copy()
	switch {
	case cat.Tool(u.tool) != nil: // the server has a tool of the same name
	case key.tool:
		shown.Tools = append(shown.Tools[:len(shown.Tools):len(shown.Tools)], u.connectTool())
	default:
		if shown.WithheldTools == nil {
			shown.WithheldTools = make(map[string]string)
		}
		shown.WithheldTools[u.tool] = fmt.Sprintf("the user is logged in to %q: list the tools again", u.name)
	}
	size := shown.Size()
	if len(u.shown) >= maxShown || u.size+size > maxBytes {
		clear(u.shown)
		u.size = 0
	}
	u.shown[key] = shown
	u.size += size
	return shown
}

// CallTool implements [mcp.Source].
func (u *perUser) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	known := u.isolated.Known(ctx)
	result, err := loggedIn(ctx, u, func() (*mcp.CallToolResult, error) {
		if p.Name == u.tool && (known == nil || known.Tool(u.tool) == nil) {
			return u.connect(ctx)
		}
		return u.Source.CallTool(ctx, p)
	})
	var address *identity.ConnectError
	if errors.As(err, &address) {
		return &mcp.CallToolResult{
			Content: []mcp.Content{mcp.Text(address.Error())},
			IsError: true,
		}, nil
	}
	return result, err
}

// connect is the tool that asks for a login.
func (u *perUser) connect(ctx context.Context) (*mcp.CallToolResult, error) {
	if err := u.isolated.Prepare(ctx, true); err != nil {
		return nil, err
	}
	cat, err := u.Source.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("The user is logged in to %q. List the tools again: it has %d.", u.name, len(cat.Tools))
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

// loggedIn makes a request, and again after a login if it requires one.
func loggedIn[T any](ctx context.Context, u *perUser, do func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		result, err := do()
		var need *identity.LoginRequiredError
		if err == nil ||
			!errors.As(err, &need) ||
			n > maxLogins ||
			n > 1 && need.Repeated {
			return result, err
		}
		if err := u.vault.Ask(ctx, u.url, need); err != nil {
			var none T
			return none, err
		}
	}
}

// orError is loggedIn for requests whose results cannot carry the address.
func orError[T any](
	ctx context.Context,
	u *perUser,
	code mcp.Code,
	do func() (T, error),
) (T, error) {
	result, err := loggedIn(ctx, u, do)
	var address *identity.ConnectError
	if errors.As(err, &address) {
		err = mcp.Errorf(code, "%s", address.Error())
	}
	return result, err
}

// ReadResource implements [mcp.Source].
func (u *perUser) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return orError(ctx, u, mcp.CodeResourceUnavailable, func() (*mcp.ReadResourceResult, error) {
		return u.Source.ReadResource(ctx, p)
	})
}

// GetPrompt implements [mcp.Source].
func (u *perUser) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return orError(ctx, u, mcp.CodeToolUnavailable, func() (*mcp.GetPromptResult, error) {
		return u.Source.GetPrompt(ctx, p)
	})
}

// ServeMethod implements [mcp.Extender].
func (u *perUser) ServeMethod(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
	if u.isolated.Known(ctx) == nil {
		return nil, mcp.MethodNotFound(method)
	}
	return orError(ctx, u, mcp.CodeToolUnavailable, func() (*mcp.MethodResult, error) {
		return u.Source.(mcp.Extender).ServeMethod(ctx, method, params)
	})
}

// Subscribe implements [mcp.Subscriber]. It does not ask for a login.
func (u *perUser) Subscribe(ctx context.Context, uri string) error {
	if u.isolated.Known(ctx) == nil {
		return mcp.ResourceNotFound(uri, "")
	}
	return u.Source.(mcp.Subscriber).Subscribe(ctx, uri)
}

// Watch implements [mcp.Watcher].
func (u *perUser) Watch(changed func(mcp.Change)) (stop func()) {
	own := u.watchers.Watch(changed)
	below := u.Source.(mcp.Watcher).Watch(changed)
	return func() {
		own()
		below()
	}
}
