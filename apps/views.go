package apps

import (
	"context"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Views hides tools that only user interfaces may call ([ToolUI.VisibleTo]) from clients
// that do not declare the extension; these can then neither list nor call them. Most
// Sources do not need it: hosts hide such tools from their models, and some show user
// interfaces without declaring the extension. Use it if such a tool must not reach a
// model even through a client that ignores the visibility. Views is immutable and safe
// for concurrent use.
//
//	func (s *source) Catalog(ctx context.Context) (*mcp.Catalog, error) {
//		return s.views.For(ctx), nil
//	}
type Views struct{ all, model *mcp.Catalog }

// NewViews prepares the views of c. If they differ, it clears c.Cache.Public, as caches
// must not share the lists between callers; so call it before c is used. A tool with
// unreadable _meta is visible to all clients.
func NewViews(c *mcp.Catalog) *Views {
	tools := modelTools(c)
	if len(tools) == len(c.Tools) {
		return &Views{c, c}
	}
	c.Cache.Public = false
	model := c.Copy()
	model.Tools = tools
	return &Views{c, model}
}

// ToolFilter hides tools that only user interfaces may call from clients that do not
// declare the extension, for any Source. The zero value is ready to use. It is safe for
// concurrent use. It caches the [Views] of the last catalog only: a Source with a catalog
// for each caller should create its own Views.
type ToolFilter struct{ last atomic.Pointer[filtered] }

type filtered struct {
	// whole is the catalog that views was made from.
	whole *mcp.Catalog
	views *Views
}

// Client returns the catalog for the client being served in ctx, like [Views.For]. It is
// a View of [server.Options].
func (f *ToolFilter) Client(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog {
	return f.of(whole).For(ctx)
}

// Undeclared returns the catalog for a reader that declares no extensions.
func (f *ToolFilter) Undeclared(whole *mcp.Catalog) *mcp.Catalog {
	return f.of(whole).model
}

// of returns the views of a catalog, which are made once for each.
func (f *ToolFilter) of(whole *mcp.Catalog) *Views {
	v := f.last.Load()
	if v == nil || v.whole != whole {
		v = &filtered{whole, viewsOfUsed(whole)}
		f.last.Store(v)
	}
	return v.views
}

// viewsOfUsed is [NewViews] for a catalog that is in use and must not be modified.
func viewsOfUsed(c *mcp.Catalog) *Views {
	if len(modelTools(c)) == len(c.Tools) {
		return &Views{c, c}
	}
	return NewViews(c.Copy())
}

// modelTools returns the tools of c that are not for user interfaces only.
func modelTools(c *mcp.Catalog) []mcp.Tool {
	var tools []mcp.Tool
	for i := range c.Tools {
		if seenByModel(&c.Tools[i]) {
			tools = append(tools, c.Tools[i])
		}
	}
	return tools
}

func seenByModel(t *mcp.Tool) bool {
	ui, err := ToolUIOf(t)
	return err != nil || ui == nil || ui.VisibleTo(VisibleToModel)
}

// For returns the catalog for the client being served in ctx. If no client is being
// served, it returns the whole catalog, so that programs see all tools.
func (v *Views) For(ctx context.Context) *mcp.Catalog {
	if v.all == v.model || mcp.RequestFrom(ctx) == nil || Supported(ctx) {
		return v.all
	}
	return v.model
}
