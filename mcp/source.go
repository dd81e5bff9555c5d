package mcp

import (
	"context"
	"encoding/json"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Source is anything with MCP capabilities. A [Server] shows it to clients.
//
// All methods are called concurrently. ctx carries the request being served
// ([RequestFrom]) and ends when the client cancels it, and in any case when the
// method has returned. Errors are worded for clients as [Error] describes. The server has already checked that the named
// tool or prompt is in the Catalog; a Source called directly checks for itself.
//
// Embed [Unimplemented] to implement only a part.
type Source interface {
	// Catalog returns what the source offers now. It is called for every
	// request, so it must be cheap: return a value kept ready, and a new one
	// only when something changed. ctx may narrow the view to one caller.
	Catalog(ctx context.Context) (*Catalog, error)

	// CallTool runs a tool. A tool that the caller should retry differently
	// returns [InvalidArguments] or a result with IsError.
	CallTool(ctx context.Context, params *CallToolParams) (*CallToolResult, error)

	// ReadResource reads a resource, whether it is listed or matches a template.
	// If there is none, the error is [ResourceNotFound].
	ReadResource(ctx context.Context, params *ReadResourceParams) (*ReadResourceResult, error)

	// GetPrompt fills in a prompt. Required arguments are present.
	GetPrompt(ctx context.Context, params *GetPromptParams) (*GetPromptResult, error)

	// Complete suggests values for an argument of a prompt or a variable of a
	// resource template. It is only called if Catalog.Completions is true.
	Complete(ctx context.Context, params *CompleteParams) (*CompleteResult, error)
}

// Watcher is a Source whose catalog or resources can change while it is served.
type Watcher interface {
	// Watch calls changed, from any goroutine and without waiting for the
	// client, each time something changed. After stop returns, changed is not
	// called any more.
	Watch(changed func(Change)) (stop func())
}

// Extender is a Source with methods of its own, such as those of an extension
// that it declares in [Catalog.Extensions].
type Extender interface {
	// ServeMethod answers a request for a method that the protocol itself does
	// not have in the client's version. params is the object as it was received,
	// or nil. For a method that it does not know either, the error is
	// [MethodNotFound].
	ServeMethod(ctx context.Context, method string, params json.RawMessage) (*MethodResult, error)
}

// Subscriber is a [Watcher] that has to be told which resources somebody wants to
// hear of, because it hears of them from somewhere else.
type Subscriber interface {
	// Subscribe is called when a client subscribes to a resource, and so may be
	// called many times for one. It is not told when nobody is interested any
	// more. An error refuses the subscription, except to 2026-07-28 clients, who
	// subscribe to several things at once.
	Subscribe(ctx context.Context, uri string) error
}

// MethodResult is the outcome of [Extender.ServeMethod].
type MethodResult struct {
	// Result is the result object. For 2026-07-28 clients the server adds the
	// members that every result must have.
	Result *Raw
	// Cache, if not nil, is sent as ttlMs and cacheScope to 2026-07-28 clients.
	Cache *CacheHint
}

// AsWatcher returns src as a [Watcher] if it can change while it is served. A
// Watcher that never does, such as one of a file format that is sometimes
// watched, says so by a method Changes() bool that returns false.
func AsWatcher(src Source) (Watcher, bool) {
	w, ok := src.(Watcher)
	if c, says := src.(interface{ Changes() bool }); ok && says {
		ok = c.Changes()
	}
	return w, ok
}

// Change says what is different now. The Catalog already shows it.
type Change struct {
	Tools, Resources, Prompts bool // the list or an entry of it
	// URI, if not empty, is a resource whose contents changed.
	URI string

	// id is that of a task of this server whose state changed, or of an
	// elicitation that is complete.
	id string
}

// CallToolParams are the parameters of tools/call.
type CallToolParams struct {
	Name string `json:"name"`
	// Arguments is a JSON object in the client's own bytes, valid JSON, or nil
	// if the client sent none. Names may be given twice in it: whoever decodes
	// it decides. The Source may keep it but not change it.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Origins are those of the tool that the server admitted the call for, see
	// [Tool.Origins]; nil if a program makes the call. A Source that joins others
	// must pass them on, and refuse a call whose name has come to mean another tool.
	Origins []Origin `json:"-"`
}

// Argument returns the argument with that name as the client wrote it, or nil
// if it is absent. Of a name that is given twice it returns the last value.
func (p *CallToolParams) Argument(name string) json.RawMessage {
	if p.Arguments == nil {
		return nil
	}
	return jsonscan.Member(p.Arguments, name)
}

// StringArgument returns the string argument with that name, and whether there
// is one. For arguments with rules of their own, decode Arguments.
func (p *CallToolParams) StringArgument(name string) (value string, ok bool) {
	return jsonscan.Unquote(p.Argument(name))
}

// ReadResourceParams are the parameters of resources/read.
type ReadResourceParams struct {
	// URI is opaque: it is compared byte for byte and never normalized.
	URI string `json:"uri"`
}

// GetPromptParams are the parameters of prompts/get.
type GetPromptParams struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// CompleteParams are the parameters of completion/complete. Exactly one of
// Prompt and URITemplate is set.
type CompleteParams struct {
	// Prompt is the name in a ref/prompt reference.
	Prompt string
	// URITemplate is the uri in a ref/resource reference.
	URITemplate string
	// Argument is the argument or variable to complete, Value what has been
	// typed of it so far.
	Argument, Value string
	// Arguments holds the values already chosen for others (from 2025-06-18).
	Arguments map[string]string
}

// Unimplemented is a Source that offers nothing. Embed it in a Source that
// implements only some of the methods.
type Unimplemented struct{}

var _ Source = Unimplemented{}

// Catalog returns an empty catalog.
func (Unimplemented) Catalog(context.Context) (*Catalog, error) { return emptyCatalog, nil }

// CallTool reports that there is no such tool.
func (Unimplemented) CallTool(_ context.Context, p *CallToolParams) (*CallToolResult, error) {
	return nil, UnknownTool(p.Name)
}

// ReadResource reports that there is no such resource.
func (Unimplemented) ReadResource(_ context.Context, p *ReadResourceParams) (*ReadResourceResult, error) {
	return nil, ResourceNotFound(p.URI, "")
}

// GetPrompt reports that there is no such prompt.
func (Unimplemented) GetPrompt(_ context.Context, p *GetPromptParams) (*GetPromptResult, error) {
	return nil, UnknownPrompt(p.Name)
}

// Complete suggests nothing.
func (Unimplemented) Complete(context.Context, *CompleteParams) (*CompleteResult, error) {
	return &CompleteResult{}, nil
}

// UnknownTool is the error for a tool that is not in the catalog.
func UnknownTool(name string) *Error { return Errorf(CodeInvalidParams, "unknown tool %q", name) }

// MethodNotFound is the error for a method that nobody serves.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "method %q not found", method)
}

// UnknownPrompt is the error for a prompt that is not in the catalog.
func UnknownPrompt(name string) *Error { return Errorf(CodeInvalidParams, "unknown prompt %q", name) }
