package apps

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
)

// Call answers a request of the document to its server. Errors are, or wrap, [*mcp.Error].
//
// Only tools of the same server that are visible to user interfaces are listed and can be
// called. If a layer renamed a tool, the document can also use the name that its server
// gave it. Methods of the page itself, such as ui/open-link, are unknown here.
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
		return encode(v.source.ReadResource(ctx, &read))
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
		return list("resources", catalog.Resources)
	case "resources/templates/list":
		return list("resourceTemplates", catalog.Templates)
	case "prompts/list":
		return list("prompts", catalog.Prompts)
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

// sameServer reports whether two tools come from the same joined source.
func sameServer(a, b []mcp.Origin) bool { return slices.Equal(joinedFrom(a), joinedFrom(b)) }

// joinedFrom returns the joined sources that a tool passed through.
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
