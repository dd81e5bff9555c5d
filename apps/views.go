package apps

import (
	"context"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Views hides tools that only user interfaces may call ([ToolUI.VisibleTo]) from
// clients that do not declare the extension, which can then neither list nor call
// them. A Source does not need it: hosts hide these tools from their models, and
// some of them show user interfaces without declaring anything. Use it where such
// a tool must not reach a model even through a client that ignores the visibility.
// It is immutable and safe for concurrent use.
//
//	func (s *source) Catalog(ctx context.Context) (*mcp.Catalog, error) {
//		return s.views.For(ctx), nil
//	}
type Views struct{ all, model *mcp.Catalog }

// NewViews prepares the views of c. When they differ, c is told here that no
// cache may share its lists between callers; make the Views before c is used.
// A tool whose _meta cannot be read is seen by everybody.
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
// declare the extension, whatever the Source is. The zero value is ready. It is safe
// for concurrent use and keeps the [Views] of one catalog, the last: a Source that has
// a catalog for each caller makes its own Views instead.
type ToolFilter struct{ last atomic.Pointer[filtered] }

type filtered struct {
	whole *mcp.Catalog
	views *Views
}

// Client returns the catalog for the client being served under ctx, as [Views.For]
// does. It is a View of [mcp.ServerOptions].
func (f *ToolFilter) Client(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog {
	return f.of(whole).For(ctx)
}

// Undeclared returns the catalog for a reader that declares nothing.
func (f *ToolFilter) Undeclared(whole *mcp.Catalog) *mcp.Catalog { return f.of(whole).model }

func (f *ToolFilter) of(whole *mcp.Catalog) *Views {
	v := f.last.Load()
	if v == nil || v.whole != whole {
		v = &filtered{whole, viewsOfUsed(whole)}
		f.last.Store(v)
	}
	return v.views
}

// viewsOfUsed is [NewViews] for a catalog that is in use and cannot be changed.
func viewsOfUsed(c *mcp.Catalog) *Views {
	if len(modelTools(c)) == len(c.Tools) {
		return &Views{c, c}
	}
	return NewViews(c.Copy())
}

// modelTools returns the tools of c that are not for user interfaces alone.
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

// For returns the catalog for the client being served under ctx. Where no client
// is being served it is the whole catalog: a program sees everything.
func (v *Views) For(ctx context.Context) *mcp.Catalog {
	if v.all == v.model || mcp.RequestFrom(ctx) == nil || Supported(ctx) {
		return v.all
	}
	return v.model
}
