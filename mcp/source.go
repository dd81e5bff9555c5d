package mcp

import (
	"context"
	"encoding/json"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Source provides MCP capabilities. Package server exposes it to clients.
//
// All methods are called concurrently. ctx carries the request being served
// ([RequestFrom]); it ends when the client cancels the request, and at the latest when
// the method returns. Error messages are written for clients, see [Error]. The server has
// already checked that the named tool or prompt is in the Catalog; a Source that is
// called directly must check this itself.
//
// Embed [Unimplemented] to implement only some of the methods.
type Source interface {
	// Catalog returns what the source currently offers. It is called for every request, so
	// it must be cheap: return a prepared value, and a new one only after a change. ctx may
	// narrow the view to one caller.
	Catalog(ctx context.Context) (*Catalog, error)

	// CallTool runs a tool. If the caller should retry with different arguments, return
	// [InvalidArguments] or a result with IsError.
	CallTool(ctx context.Context, params *CallToolParams) (*CallToolResult, error)

	// ReadResource reads a resource that is listed or matches a template. If the resource
	// does not exist, the error is [ResourceNotFound].
	ReadResource(ctx context.Context, params *ReadResourceParams) (*ReadResourceResult, error)

	// GetPrompt fills in a prompt. All required arguments are present.
	GetPrompt(ctx context.Context, params *GetPromptParams) (*GetPromptResult, error)

	// Complete suggests values for a prompt argument or a variable of a resource template.
	// It is only called if Catalog.Completions is true.
	Complete(ctx context.Context, params *CompleteParams) (*CompleteResult, error)
}

// Watcher is a Source whose catalog or resources can change while it is served.
type Watcher interface {
	// Watch calls changed after each change, from any goroutine and without waiting for the
	// client. It does not call changed after stop has returned.
	Watch(changed func(Change)) (stop func())
}

// Extender is a Source with additional methods, such as those of an extension declared in
// [Catalog.Extensions].
type Extender interface {
	// ServeMethod serves a method that is not part of the protocol in the client's version.
	// params is the object as received, or nil. If the method is unknown, the error is
	// [MethodNotFound].
	ServeMethod(ctx context.Context, method string, params json.RawMessage) (*MethodResult, error)
}

// Subscriber is a [Watcher] that must know which resources clients are interested in,
// because it subscribes to them at an upstream.
type Subscriber interface {
	// Subscribe is called when a client subscribes to a resource, possibly many times for
	// the same one. It is not called when the last client unsubscribes. An error rejects the
	// subscription, except for 2026-07-28 clients, which subscribe to several things at
	// once.
	Subscribe(ctx context.Context, uri string) error
}

// MethodResult is the outcome of [Extender.ServeMethod].
type MethodResult struct {
	// Result is the result object. For 2026-07-28 clients the server adds the members that
	// every result must have.
	Result *Raw
	// Cache, if not nil, is sent as ttlMs and cacheScope to 2026-07-28 clients.
	Cache *CacheHint
}

// AsWatcher returns src as a [Watcher] if it can change while it is served. A Source that
// has the Watch method but may never change, such as a file format that is only sometimes
// watched, can opt out with a method Changes() bool that returns false.
func AsWatcher(src Source) (Watcher, bool) {
	w, ok := src.(Watcher)
	c, says := src.(interface{ Changes() bool })
	if ok && says {
		ok = c.Changes()
	}
	return w, ok
}

// Change describes what changed. The Catalog already includes it.
type Change struct {
	Tools, Resources, Prompts bool // the list or an entry of it
	// URI, if not empty, is the resource whose contents changed.
	URI string
}

// CallToolParams are the parameters of tools/call.
type CallToolParams struct {
	Name string `json:"name"`
	// Arguments is a valid JSON object, byte for byte as the client sent it, or nil if the
	// client sent none. Names may be repeated; the decoder decides which value counts. The
	// Source may keep Arguments but must not modify it.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Origins are the [Tool.Origins] of the tool for which the server admitted the call, or
	// nil for a direct call by a program. A Source that joins others must pass them on, and
	// must reject a call whose name now refers to another tool.
	Origins []Origin `json:"-"`
	// Index, which may be nil, holds where the members of Arguments are, from when the server
	// read them: Argument and StringArgument do not scan the text again. An index of another
	// text is ignored.
	Index *jsonscan.Index `json:"-"`
}

// Argument returns the raw JSON of the named argument, or nil if it is absent. If the
// name is repeated, the last value wins.
func (p *CallToolParams) Argument(name string) json.RawMessage {
	if p.Arguments == nil {
		return nil
	}
	return p.Index.Member(p.Arguments, name)
}

// StringArgument returns the named string argument, and whether it exists. For arguments
// with their own decoding rules, decode Arguments.
func (p *CallToolParams) StringArgument(name string) (value string, ok bool) {
	return jsonscan.Unquote(p.Argument(name))
}

// ReadResourceParams are the parameters of resources/read.
type ReadResourceParams struct {
	// URI is opaque: it is compared byte for byte and never normalized.
	URI string `json:"uri"`
	// Sources restrict which joined source may answer, innermost first, as [Tool.Origins] name
	// them; nil means any. A Source that joins others reads from the last one, whatever source
	// the URI leads to otherwise, and passes the remaining ones on.
	Sources []string `json:"-"`
}

// GetPromptParams are the parameters of prompts/get.
type GetPromptParams struct {
	// Name is that of a prompt of the catalog.
	Name string `json:"name"`
	// Arguments are the arguments by name; the server has verified that required ones
	// exist.
	Arguments map[string]string `json:"arguments,omitempty"`
}

// CompleteParams are the parameters of completion/complete. Exactly one of
// Prompt and URITemplate is set.
type CompleteParams struct {
	// Prompt is the name in a ref/prompt reference.
	Prompt string
	// URITemplate is the uri in a ref/resource reference.
	URITemplate string
	// Argument is the argument or variable to complete, Value the text typed so far.
	Argument, Value string
	// Arguments holds the values already chosen for other arguments (from 2025-06-18).
	Arguments map[string]string
}

// MarshalJSON implements json.Marshaler. It encodes the params of completion/complete.
func (p CompleteParams) MarshalJSON() ([]byte, error) {
	ref := map[string]string{"type": "ref/prompt", "name": p.Prompt}
	if p.URITemplate != "" {
		ref = map[string]string{"type": "ref/resource", "uri": p.URITemplate}
	}
	params := map[string]any{
		"ref":      ref,
		"argument": map[string]string{"name": p.Argument, "value": p.Value},
	}
	if len(p.Arguments) > 0 {
		params["context"] = map[string]any{"arguments": p.Arguments}
	}
	return Marshal(params)
}

// Unimplemented is a Source that offers nothing. Embed it in a Source that implements
// only some of the methods.
type Unimplemented struct{}

var _ Source = Unimplemented{}

// Catalog returns an empty catalog.
func (Unimplemented) Catalog(context.Context) (*Catalog, error) {
	return emptyCatalog, nil
}

// CallTool returns [UnknownTool].
func (Unimplemented) CallTool(_ context.Context, p *CallToolParams) (*CallToolResult, error) {
	return nil, UnknownTool(p.Name)
}

// ReadResource returns [ResourceNotFound].
func (Unimplemented) ReadResource(_ context.Context, p *ReadResourceParams) (*ReadResourceResult, error) {
	return nil, ResourceNotFound(p.URI, "")
}

// GetPrompt returns [UnknownPrompt].
func (Unimplemented) GetPrompt(_ context.Context, p *GetPromptParams) (*GetPromptResult, error) {
	return nil, UnknownPrompt(p.Name)
}

// Complete returns no suggestions.
func (Unimplemented) Complete(context.Context, *CompleteParams) (*CompleteResult, error) {
	return &CompleteResult{}, nil
}
