package compose

import (
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

// Edits say how the tools of a source are shown. All names but [ToolEdit.Name] are
// the source's own.
type Edits struct {
	// Enabled are the only tools to offer; nil stands for all.
	Enabled []string
	// Disabled are tools not to offer, also if they are enabled.
	Disabled []string
	// Tools are shown otherwise than the source has them.
	Tools map[string]ToolEdit
}

// ToolEdit is how a tool is shown. What is not set stays as the source has it.
type ToolEdit struct {
	Name               string
	Title, Description *string
}

func (e *Edits) allows(tool string) bool {
	return (e.Enabled == nil || slices.Contains(e.Enabled, tool)) && !slices.Contains(e.Disabled, tool)
}

// Missing returns the names of tools in e that a source does not have, sorted.
func (e *Edits) Missing(cat *mcp.Catalog) (names []string) {
	for _, name := range slices.Concat(e.Enabled, e.Disabled, slices.Collect(maps.Keys(e.Tools))) {
		if cat.Tool(name) == nil && cat.WithheldTools[name] == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Edit returns src with its tools as edits say: those that are not allowed are
// neither listed nor called, and the others are shown, and called, by their new
// names. Nothing else passes through it otherwise than it came: a definition keeps
// all its bytes but those of the name, title and description that are edited.
//
// Two edits that give one name are an error that names both tools. A tool of the
// source that has a name which an edit gives another is not offered: whoever wrote
// the edit did not mean that one. Nil edits, and empty ones, return src itself. The
// Source returned implements io.Closer, which closes src.
func Edit(src mcp.Source, edits *Edits) (mcp.Source, error) {
	if edits == nil || edits.Enabled == nil && len(edits.Disabled) == 0 && len(edits.Tools) == 0 {
		return src, nil
	}
	e := &edited{Source: src, edits: edits, own: make(map[string]string)}
	for _, name := range slices.Sorted(maps.Keys(edits.Tools)) {
		to := edits.Tools[name].Name
		if to == "" || to == name {
			continue
		}
		if other, taken := e.own[to]; taken {
			return nil, fmt.Errorf("tool %q and tool %q would both be shown as %q", other, name, to)
		}
		e.own[to] = name
	}
	e.watched, e.watches = mcp.AsWatcher(src)
	return e, nil
}

type edited struct {
	mcp.Source
	edits   *Edits
	own     map[string]string // by the new name, of those that have one
	watched mcp.Watcher
	watches bool

	label  string   // see [Label], or empty
	others []string // of [Label]

	last   atomic.Pointer[edition]
	making sync.Mutex // held while last is replaced
}

// edition is the catalog that is made of another.
type edition struct{ of, catalog *mcp.Catalog }

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
	e.making.Lock()
	defer e.making.Unlock()
	if last := e.last.Load(); last != nil && last.of == cat {
		return last.catalog, nil
	}
	made := e.make(cat)
	e.last.Store(&edition{cat, made})
	return made, nil
}

func (e *edited) make(cat *mcp.Catalog) *mcp.Catalog {
	made := cat.Copy()
	made.Tools = nil
	for _, t := range cat.Tools {
		if e.offers(t.Name) {
			made.Tools = append(made.Tools, e.edits.Tools[t.Name].apply(t))
		}
	}
	made.WithheldTools = nil
	for name, why := range cat.WithheldTools {
		if e.offers(name) {
			put(&made.WithheldTools, e.shown(name), why)
		}
	}
	if e.label != "" {
		e.labelled(made)
	}
	return made
}

// offers reports whether a tool is, by its own name.
func (e *edited) offers(own string) bool {
	if !e.edits.allows(own) {
		return false
	}
	other, taken := e.own[e.shown(own)]
	return !taken || other == own
}

// shown returns the name by which a tool is shown.
func (e *edited) shown(own string) string {
	if to := e.edits.Tools[own].Name; to != "" {
		return to
	}
	return own
}

// CallTool implements [mcp.Source].
func (e *edited) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	own, renamed := e.own[params.Name]
	if !renamed {
		own = params.Name
	}
	if !e.edits.allows(own) || e.shown(own) != params.Name {
		return nil, mcp.UnknownTool(params.Name)
	}
	if e.label != "" {
		if err := stillFrom(params, e.label, own); err != nil {
			return nil, err
		}
	}
	if renamed {
		params = &mcp.CallToolParams{Name: own, Arguments: params.Arguments, Origins: params.Origins}
	}
	return e.Source.CallTool(ctx, params)
}

// Subscribe implements [mcp.Subscriber].
func (e *edited) Subscribe(ctx context.Context, uri string) error {
	if s, ok := e.Source.(mcp.Subscriber); ok {
		return s.Subscribe(ctx, uri)
	}
	return nil
}

// ServeMethod implements [mcp.Extender].
func (e *edited) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	if x, ok := e.Source.(mcp.Extender); ok {
		return x.ServeMethod(ctx, method, params)
	}
	return nil, mcp.MethodNotFound(method)
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

// apply returns a tool as it is shown.
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

// memberEdit is a member of an object, and the text that it is to have.
type memberEdit struct{ name, text string }

// withMembers returns the object raw, or nil if it is nil, with the texts of some
// members exchanged, and those that it does not have behind the others. Not a byte
// besides is changed.
func withMembers(raw json.RawMessage, edits []memberEdit) json.RawMessage {
	if raw == nil || len(edits) == 0 {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	done, members := 0, 0
	there := make(map[string]bool)
	end, err := jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(raw, i)
		members++
		k := slices.IndexFunc(edits, func(e memberEdit) bool { return e.name == string(key) })
		if err == nil && k >= 0 {
			out = jsonscan.AppendQuote(append(out, raw[done:i]...), edits[k].text)
			done = end
			there[edits[k].name] = true
		}
		return end, err
	})
	if err != nil {
		return nil // not a definition: let it be encoded from its fields
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

// ValidToolName reports whether a tool may be shown by a name: 1 to 128 letters,
// digits, and "_", "-", ".", "/".
func ValidToolName(name string) bool {
	return name != "" && len(name) <= 128 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == ""
}
