package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Edits describe how a source and its tools are presented. All names of tools except
// [ToolEdit.Name] are the source's own.
type Edits struct {
	// Name and Title replace those of the server. Empty keeps the source's.
	Name, Title string
	// Enabled lists the only tools to offer; nil means all.
	Enabled []string
	// Disabled lists tools to hide, even if they are enabled.
	Disabled []string
	// Tools holds the edits by tool name.
	Tools map[string]ToolEdit
}

// ToolEdit changes how a tool is presented. Unset fields keep the source's values.
type ToolEdit struct {
	// Name replaces the name; empty keeps it.
	Name string
	// Title and Description replace those of the definition; nil keeps them, and a pointer
	// to "" removes them.
	Title, Description *string
}

// empty reports whether the edits change nothing. Enabled that is empty and not nil hides all
// tools, which is a change.
func (e *Edits) empty() bool {
	return e == nil ||
		e.Name+e.Title == "" && e.Enabled == nil && len(e.Disabled) == 0 &&
			len(e.Tools) == 0
}

// allows reports whether clients see a tool, by its own name. Disabled wins over Enabled.
func (e *Edits) allows(tool string) bool {
	return (e.Enabled == nil || slices.Contains(e.Enabled, tool)) &&
		!slices.Contains(e.Disabled, tool)
}

// Missing returns the tools named in e that the source does not have, sorted.
func (e *Edits) Missing(cat *mcp.Catalog) (names []string) {
	edited := slices.Collect(maps.Keys(e.Tools))
	for _, name := range slices.Concat(e.Enabled, e.Disabled, edited) {
		if cat.Tool(name) == nil && cat.WithheldTools[name] == "" &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Edit applies edits to src and its tools: disallowed tools are neither listed nor
// callable, the others are listed and called by their new names. Everything else passes
// through unchanged: a definition keeps all its bytes except for an edited name, title or
// description.
//
// Two edits that yield the same name are an error that names both tools. If an edit gives
// a tool a name that another tool of the source already has, the other tool is hidden.
// Nil or empty edits return src itself. The returned Source implements io.Closer, which
// closes src.
func Edit(src mcp.Source, edits *Edits) (mcp.Source, error) {
	if edits.empty() {
		return src, nil
	}
	e := &edited{
		Source:   src,
		edits:    edits,
		ownNames: make(map[string]string),
	}
	for _, name := range slices.Sorted(maps.Keys(edits.Tools)) {
		to := edits.Tools[name].Name
		if to == "" || to == name {
			continue
		}
		if other, taken := e.ownNames[to]; taken {
			return nil, fmt.Errorf("tool %q and tool %q would both be shown as %q",
				other, name, to)
		}
		e.ownNames[to] = name
	}
	e.watched, e.watches = mcp.AsWatcher(src)
	return e, nil
}

// edited is a Source with changed names and descriptions. Calls are translated back, so
// the original never sees the new names.
type edited struct {
	mcp.Source
	edits    *Edits
	ownNames map[string]string // own names by new name, for renamed tools
	// watched and watches say whether the original can be watched, found out once.
	watched mcp.Watcher
	watches bool

	label  string   // see [Label], or empty
	others []string // of [Label]

	// last is the edited catalog of the last catalog seen, so that an unchanged original
	// is edited once.
	last    atomic.Pointer[editedCatalog]
	editing sync.Mutex             // held while last is replaced; guards edited
	edited  recent[*editedCatalog] // of other callers
}

// editedCatalog is an edited catalog and its original.
type editedCatalog struct{ of, catalog *mcp.Catalog }

var (
	_ mcp.Source     = (*edited)(nil)
	_ mcp.Watcher    = (*edited)(nil)
	_ mcp.Extender   = (*edited)(nil)
	_ mcp.Subscriber = (*edited)(nil)
	_ io.Closer      = (*edited)(nil)
)

// Catalog implements [mcp.Source].
func (e *edited) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := e.Source.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if last := e.last.Load(); last != nil && last.of == cat {
		return last.catalog, nil
	}
	e.editing.Lock()
	defer e.editing.Unlock()
	if last := e.last.Load(); last != nil && last.of == cat {
		return last.catalog, nil
	}
	result, ok := e.edited.find(func(c *editedCatalog) bool { return c.of == cat })
	if !ok {
		result = &editedCatalog{cat, e.edit(cat)}
		e.edited.add(result, result.catalog.Size())
	}
	e.last.Store(result)
	return result.catalog, nil
}

// edit returns an edited copy. Tools that are not offered leave no trace in the reasons
// either.
func (e *edited) edit(cat *mcp.Catalog) *mcp.Catalog {
	result := cat.Copy()
	result.Server.Name = cmp.Or(e.edits.Name, result.Server.Name)
	result.Server.Title = cmp.Or(e.edits.Title, result.Server.Title)
	result.Tools = nil
	for _, t := range cat.Tools {
		if e.offers(t.Name) {
			result.Tools = append(result.Tools, e.edits.Tools[t.Name].apply(t))
		}
	}
	if cat.WithheldTools != nil {
		result.WithheldTools = make(map[string]string)
	}
	for name, why := range cat.WithheldTools {
		if e.offers(name) {
			result.WithheldTools[e.shown(name)] = why
		}
	}
	if e.label != "" {
		e.addLabel(result)
	}
	return result
}

// offers reports whether a tool, given by its own name, is offered.
func (e *edited) offers(own string) bool {
	if !e.edits.allows(own) {
		return false
	}
	other, taken := e.ownNames[e.shown(own)]
	return !taken || other == own
}

// shown returns the name under which a tool is offered.
func (e *edited) shown(own string) string {
	if to := e.edits.Tools[own].Name; to != "" {
		return to
	}
	return own
}

// CallTool implements [mcp.Source].
func (e *edited) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	own, renamed := e.ownNames[params.Name]
	if !renamed {
		own = params.Name
	}
	if !e.edits.allows(own) || e.shown(own) != params.Name {
		return nil, mcp.UnknownTool(params.Name)
	}
	if e.label != "" {
		if err := checkOrigin(params, e.label, own); err != nil {
			return nil, err
		}
	}
	if renamed {
		params = &mcp.CallToolParams{
			Name:      own,
			Arguments: params.Arguments,
			Origins:   params.Origins,
			Index:     params.Index,
		}
	}
	return e.Source.CallTool(ctx, params)
}

// ReadResource implements [mcp.Source].
func (e *edited) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if only, restricted := outermost(params.Sources); restricted && e.label != "" {
		if only != e.label {
			return nil, mcp.ResourceNotFound(params.URI, "")
		}
		params = &mcp.ReadResourceParams{
			URI:     params.URI,
			Sources: inner(params.Sources),
		}
	}
	return e.Source.ReadResource(ctx, params)
}

// Subscribe implements [mcp.Subscriber].
func (e *edited) Subscribe(ctx context.Context, uri string) error {
	_, err := subscribe(e.Source, ctx, uri)
	return err
}

// ServeMethod implements [mcp.Extender].
func (e *edited) ServeMethod(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
	return serveMethod(e.Source, ctx, extension{method, params})
}

// Changes reports whether the source can change: see [mcp.AsWatcher].
func (e *edited) Changes() bool { return e.watches }

// Watch implements [mcp.Watcher].
func (e *edited) Watch(changed func(mcp.Change)) (stop func()) {
	if !e.watches {
		return func() {}
	}
	return e.watched.Watch(changed)
}

// Close implements io.Closer.
func (e *edited) Close() error {
	if c, ok := e.Source.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// apply returns the edited tool.
func (e ToolEdit) apply(t mcp.Tool) mcp.Tool {
	var edits []memberEdit
	if e.Name != "" && e.Name != t.Name {
		edits = append(edits, memberEdit{"name", e.Name})
		t.Origins = mcp.Origin{Name: t.Name}.After(t.Origins)
		t.Name = e.Name
	}
	if e.Title != nil {
		edits = append(edits, memberEdit{"title", *e.Title})
		t.Title = *e.Title
	}
	if e.Description != nil {
		edits = append(edits, memberEdit{"description", *e.Description})
		t.Description = *e.Description
	}
	t.Raw = withMembers(t.Raw, edits)
	return t
}

// memberEdit is a member of an object and its new text.
type memberEdit struct{ name, text string }

// withMembers returns the object raw with the text of some members replaced; members it
// lacks are appended. All other bytes stay the same. It returns nil if raw is nil or not
// an object.
func withMembers(raw json.RawMessage, edits []memberEdit) json.RawMessage {
	if raw == nil || len(edits) == 0 {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	done := 0
	members := 0
	there := make(map[string]bool)
	end, err := jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(raw, i)
		members++
		k := slices.IndexFunc(edits, func(e memberEdit) bool {
			return e.name == string(key)
		})
		if err == nil && k >= 0 {
			out = jsonscan.AppendQuote(append(out, raw[done:i]...), edits[k].text)
			done = end
			there[edits[k].name] = true
		}
		return end, err
	})
	if err != nil {
		return nil // not a definition: encode it from its fields instead
	}
	out = append(out, raw[done:end-1]...)
	for _, e := range edits {
		if there[e.name] {
			continue
		}
		if members++; members > 1 {
			out = append(out, ',')
		}
		out = jsonscan.AppendQuote(append(jsonscan.AppendQuote(out, e.name), ':'), e.text)
	}
	return append(out, '}')
}

// ValidToolName reports whether a tool may be renamed to name: 1 to 128 letters, digits,
// and "_", "-", ".", "/".
func ValidToolName(name string) bool {
	return name != "" &&
		len(name) <= 128 &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == ""
}
