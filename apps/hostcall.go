package apps

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// Call answers a request of the document to its server. Errors are, or wrap, [*mcp.Error].
//
// Only tools of the same server that are visible to user interfaces are listed and can be
// called, and only resources of the same server can be read. If a layer renamed a tool or
// resource, the document can also use the name that its server gave it. Methods of the
// page itself, such as ui/open-link, are unknown here.
func (v *View) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "ping":
		return json.RawMessage(`{}`), nil
	case "tools/call":
		return v.callTool(ctx, params)
	case "resources/read":
		var read mcp.ReadResourceParams
		if err := json.Unmarshal(params, &read); err != nil || read.URI == "" {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "resources/read needs a uri")
		}
		return v.readResource(ctx, &read)
	case "sampling/createMessage":
		if v.host.opts.Sampling != nil {
			return v.host.opts.Sampling(ctx, params)
		}
	}
	catalog, err := v.source.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	switch method {
	case "tools/list":
		return list("tools", v.appTools(catalog))
	case "resources/list":
		return list("resources", ownItems(v, catalog.Resources, resourceOrigins))
	case "resources/templates/list":
		return list("resourceTemplates", ownItems(v, catalog.Templates, templateOrigins))
	case "prompts/list":
		return list("prompts", ownItems(v, catalog.Prompts, promptOrigins))
	}
	return nil, mcp.MethodNotFound(method)
}

// list returns a whole list as one page.
func list[T any](name string, entries []T) (json.RawMessage, error) {
	if entries == nil {
		entries = []T{}
	}
	return mcp.Marshal(map[string][]T{name: entries})
}

func encode[T any](result T, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return mcp.Marshal(result)
}

// callTool calls a tool for the document. Only tools that declare themselves callable by
// user interfaces are, by their visible or original name.
func (v *View) callTool(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var call mcp.CallToolParams
	if err := json.Unmarshal(params, &call); err != nil || call.Name == "" {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "tools/call needs a name")
	}
	if len(call.Arguments) > 0 && call.Arguments[0] != '{' {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "the arguments are not an object")
	}
	catalog, err := v.source.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	tools := v.appTools(catalog)
	at := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == call.Name })
	if at < 0 {
		at = slices.IndexFunc(tools, func(t mcp.Tool) bool {
			return len(t.Origins) > 0 && t.Origins[0].Name == call.Name
		})
	}
	if at < 0 {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "user interfaces cannot call tool %q", call.Name)
	}
	call.Name = tools[at].Name
	call.Origins = tools[at].Origins
	return encode(v.source.CallTool(ctx, &call))
}

// appTools returns the tools of the document's server that it can call. A tool with
// unreadable _meta is not among them.
func (v *View) appTools(catalog *mcp.Catalog) []mcp.Tool {
	var tools []mcp.Tool
	for i := range catalog.Tools {
		t := &catalog.Tools[i]
		ui, err := ToolUIOf(t)
		if err != nil || ui != nil && !ui.VisibleTo(VisibleToApp) {
			continue
		}
		if sameServer(t.Origins, v.Tool.Origins) {
			tools = append(tools, *t)
		}
	}
	return tools
}

// readResource reads a resource of the document's own server. Where several servers are
// joined, that is the document itself, what its server lists, and what its templates match; no
// other server answers, even if the URI would lead there.
func (v *View) readResource(ctx context.Context, read *mcp.ReadResourceParams) (json.RawMessage, error) {
	catalog, err := v.source.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if read.URI != v.Resource && len(catalog.Sources) > 1 {
		uri, ok := v.ownURI(catalog, read.URI)
		if !ok {
			return nil, mcp.ResourceNotFound(read.URI, "the server of this user interface does not offer it")
		}
		read.URI = uri
	}
	read.Sources = joinedFrom(v.Tool.Origins)
	return encode(v.source.ReadResource(ctx, read))
}

// ownURI returns the visible URI of a resource of the document's server.
func (v *View) ownURI(catalog *mcp.Catalog, uri string) (string, bool) {
	for i := range catalog.Resources {
		if r := &catalog.Resources[i]; r.URI == uri {
			return uri, sameServer(r.Origins, v.Tool.Origins)
		}
	}
	for _, r := range ownItems(v, catalog.Resources, resourceOrigins) {
		if len(r.Origins) > 0 && r.Origins[0].Name == uri {
			return r.URI, true
		}
	}
	for _, t := range ownItems(v, catalog.Templates, templateOrigins) {
		parsed, err := uritemplate.Parse(t.URITemplate)
		if err != nil {
			continue
		}
		if _, matches := parsed.Match(uri); matches {
			return uri, true
		}
	}
	return "", false
}

func resourceOrigins(r *mcp.Resource) []mcp.Origin         { return r.Origins }
func templateOrigins(t *mcp.ResourceTemplate) []mcp.Origin { return t.Origins }
func promptOrigins(p *mcp.Prompt) []mcp.Origin             { return p.Origins }

// ownItems returns the items that come from the document's server.
func ownItems[T any](v *View, items []T, origins func(*T) []mcp.Origin) []T {
	var own []T
	for i := range items {
		if sameServer(origins(&items[i]), v.Tool.Origins) {
			own = append(own, items[i])
		}
	}
	return own
}

// sameServer reports whether two items come from the same joined source.
func sameServer(a, b []mcp.Origin) bool { return slices.Equal(joinedFrom(a), joinedFrom(b)) }

// joinedFrom returns the joined sources that an item passed through.
func joinedFrom(origins []mcp.Origin) []string {
	var sources []string
	for _, o := range origins {
		if o.Source != "" {
			sources = append(sources, o.Source)
		}
	}
	return sources
}

// asError returns err as a document receives it.
func asError(err error) *mcp.Error {
	var coded *mcp.Error
	if errors.As(err, &coded) {
		return coded
	}
	return &mcp.Error{
		Code:    mcp.CodeInternalError,
		Message: err.Error(),
		Cause:   err,
	}
}
