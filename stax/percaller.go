package stax

import (
	"context"
	"encoding/json"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// perCaller is a server that gets the token or the claims of each caller. The catalog of a
// caller is shown to that caller alone.
type perCaller struct {
	mcp.Source // the layers below
	// isolated has the connection of each caller.
	server   *Server
	isolated *client.Isolated
	// closed is the catalog of a caller whose connection fails, and refused that of one that
	// cannot use the server.
	closed, refused *mcp.Catalog
}

var (
	_ mcp.Source     = (*perCaller)(nil)
	_ mcp.Watcher    = (*perCaller)(nil)
	_ mcp.Extender   = (*perCaller)(nil)
	_ mcp.Subscriber = (*perCaller)(nil)
)

// newPerCaller returns a server whose catalogs without a caller are empty. The one that is
// refused says why in its instructions, which a client shows.
func newPerCaller(s *Server, inner mcp.Source, isolated *client.Isolated) *perCaller {
	c := &perCaller{
		Source:   inner,
		server:   s,
		isolated: isolated,
		closed:   unknownCatalog(s),
		refused:  unknownCatalog(s),
	}
	c.closed.PerCaller = true
	c.refused.PerCaller = true
	if s.Auth != nil && s.Auth.Kind == AuthForward {
		c.refused.Instructions = "Not available: " + mayForward(s, nil).Error() + "."
	}
	return c
}

// admit returns why a caller cannot use the server.
func (c *perCaller) admit(ctx context.Context) error {
	p := mcp.PrincipalFrom(ctx)
	if p == nil {
		return mcp.Errorf(mcp.CodeToolDenied, "server %q needs to know its callers, and this request has none",
			c.server.Name)
	}
	if a := c.server.Auth; a != nil && a.Kind == AuthForward {
		return mayForward(c.server, p)
	}
	return nil
}

// Catalog implements [mcp.Source]. To a caller that cannot use the server it is empty, and says
// why.
func (c *perCaller) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	if c.admit(ctx) != nil {
		return c.refused, nil
	}
	if c.isolated.Known(ctx) == nil {
		limited, cancel := context.WithTimeout(ctx, prepareFor)
		defer cancel()
		if c.isolated.Prepare(limited, false) != nil {
			return c.closed, nil
		}
	}
	return c.Source.Catalog(ctx)
}

// CallTool implements [mcp.Source].
func (c *perCaller) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if err := c.admit(ctx); err != nil {
		return nil, err
	}
	return c.Source.CallTool(ctx, p)
}

// ReadResource implements [mcp.Source].
func (c *perCaller) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if err := c.admit(ctx); err != nil {
		return nil, err
	}
	return c.Source.ReadResource(ctx, p)
}

// GetPrompt implements [mcp.Source].
func (c *perCaller) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if err := c.admit(ctx); err != nil {
		return nil, err
	}
	return c.Source.GetPrompt(ctx, p)
}

// Complete implements [mcp.Source].
func (c *perCaller) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if err := c.admit(ctx); err != nil {
		return nil, err
	}
	return c.Source.Complete(ctx, p)
}

// ServeMethod implements [mcp.Extender].
func (c *perCaller) ServeMethod(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
	if c.admit(ctx) != nil {
		return nil, mcp.MethodNotFound(method)
	}
	return c.Source.(mcp.Extender).ServeMethod(ctx, method, params)
}

// Subscribe implements [mcp.Subscriber].
func (c *perCaller) Subscribe(ctx context.Context, uri string) error {
	if err := c.admit(ctx); err != nil {
		return err
	}
	return c.Source.(mcp.Subscriber).Subscribe(ctx, uri)
}

// Watch implements [mcp.Watcher].
func (c *perCaller) Watch(changed func(mcp.Change)) (stop func()) {
	return c.Source.(mcp.Watcher).Watch(changed)
}
