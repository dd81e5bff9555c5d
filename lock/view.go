package lock

import (
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// view is the visible part of a source, for one catalog and one lock.
type view struct {
	of *mcp.Catalog // nil if the source must not be called
	// lock is the lock that the view was computed with.
	lock     *File
	locked   *Entry       // the locked source that applies, or nil
	admitted bool         // it matches the lock, or did when it was admitted
	catalog  *mcp.Catalog // what clients see
	open     bool         // everything is allowed
	mismatch *Drift       // why everything is refused, or nil

	// refused has what the source offers but clients may not use, with the reason.
	refused  map[Item]refused
	listed   map[string]bool // URIs of resources that match the lock
	pinnedUI map[string]bool // URIs whose contents are locked
	// templates are those that match the lock, to decide about URIs that are not listed.
	templates []*uritemplate.Template
	offered   map[string]bool // templates, as text
}

// refused is the reason an item is refused, and whether the lock contains another version
// of it.
type refused struct {
	// why completes a sentence that begins with the name of the item.
	why     string
	changed bool
}

// compare compares the source's catalog with the lock.
func (p *restricted) compare(lock *File, cat *mcp.Catalog) *view {
	locked, mismatch := p.applicableEntry(lock)
	v := &view{
		of:       cat,
		lock:     lock,
		locked:   locked,
		admitted: mismatch == nil,
		catalog:  cat,
	}
	if locked == nil {
		// The policy is Warn; under Block, the source would not have been called.
		v.open = true
		return v
	}
	if offersNothing(cat) { // a server that has not run yet: its identity is still unknown
		v.catalog = emptyCatalog(cat.Server.Name)
		v.catalog.Server.Version = cat.Server.Version
		return v
	}
	drifts := drifts(p.name, locked, cat)
	for _, d := range drifts {
		if d.Refused() || d.Item.Kind == Version {
			p.guard.report(d)
		}
	}
	if p.guard.opts.Policy == Warn {
		v.open = true
		return v
	}
	v.restrict(p.name, locked, drifts)
	return v
}

// offersNothing reports whether a catalog is empty, so that it cannot drift.
func offersNothing(cat *mcp.Catalog) bool {
	items := len(cat.Tools) + len(cat.Resources) + len(cat.Templates) + len(cat.Prompts)
	return items == 0 &&
		cat.Instructions == "" &&
		cat.Extensions == nil
}

// drifts returns the items of a catalog that differ from the lock.
func drifts(source string, locked *Entry, cat *mcp.Catalog) (all []Drift) {
	compare := func(item Item, digest string) {
		d := Drift{source, item, locked.pin(item), &Pin{Digest: digest}}
		if !d.isUnchanged() {
			all = append(all, d)
		}
	}
	var identity string
	if text, err := identityOf(cat.Server); err == nil {
		identity, _ = Digest(Server, text) // without a digest, it counts as another server
	}
	compare(Item{Kind: Server}, identity)
	if cat.Instructions != "" {
		digest, _ := Digest(Instructions, quoted(cat.Instructions))
		compare(Item{Kind: Instructions}, digest)
	}
	for _, e := range entries(cat) {
		digest, _ := e.digest() // without a digest, it counts as changed
		compare(e.item, digest)
	}
	if locked.Version != cat.Server.Version {
		all = append(all, versionDrift(source, locked.Version, cat.Server.Version))
	}
	return all
}

// restrict computes the visible catalog and the refused items with their reasons.
func (v *view) restrict(source string, locked *Entry, drifts []Drift) {
	v.refused = make(map[Item]refused)
	for _, d := range drifts {
		if !d.Refused() {
			continue
		}
		v.refused[d.Item] = refused{refusal(d), d.Was != nil}
		if d.Item.Kind == Server && locked.name() != v.of.Server.Name {
			v.mismatch = &d
		}
	}
	if v.mismatch != nil {
		v.catalog = emptyCatalog(source)
		v.recordReasons()
		return
	}
	v.catalog = v.of.Copy()
	v.catalog.Tools = allowedItems(v, Tools, v.of.Tools, func(t *mcp.Tool) string {
		return t.Name
	})
	v.catalog.Prompts = allowedItems(v, Prompts, v.of.Prompts, func(p *mcp.Prompt) string {
		return p.Name
	})
	v.catalog.Resources = allowedItems(v, Resources, v.of.Resources, func(r *mcp.Resource) string {
		return r.URI
	})
	v.catalog.Templates = allowedItems(v, Templates, v.of.Templates, func(t *mcp.ResourceTemplate) string {
		return t.URITemplate
	})
	if v.refuses(Item{Kind: Instructions}) {
		v.catalog.Instructions = ""
	}
	if v.refuses(Item{Kind: Server}) {
		v.catalog.Server = mcp.Implementation{
			Name:    v.of.Server.Name,
			Version: v.of.Server.Version,
		}
	}
	v.index(locked)
	v.recordReasons()
}

// index builds the lookup tables for readable resources.
func (v *view) index(locked *Entry) {
	v.listed = make(map[string]bool)
	v.offered = make(map[string]bool)
	v.pinnedUI = make(map[string]bool)
	for item := range locked.Items {
		if item.Kind == UI {
			v.pinnedUI[item.Name] = true
		}
	}
	for i := range v.catalog.Resources {
		v.listed[v.catalog.Resources[i].URI] = true
	}
	for i := range v.catalog.Templates {
		text := v.catalog.Templates[i].URITemplate
		v.offered[text] = true
		if t, err := uritemplate.Parse(text); err == nil {
			v.templates = append(v.templates, t)
		}
	}
}

// name returns the server's name as it was locked.
func (s *Entry) name() string {
	name, _ := jsonscan.Unquote(jsonscan.Member(s.Items[Item{Kind: Server}].Definition, "name"))
	return name
}

// allowedItems returns the entries that are not refused.
func allowedItems[T any](v *view, kind Kind, all []T, name func(*T) string) []T {
	out := make([]T, 0, len(all))
	for i := range all {
		if !v.refuses(Item{kind, name(&all[i])}) {
			out = append(out, all[i])
		}
	}
	return out
}

// recordReasons records the reasons for missing tools and prompts, for the server to report to
// clients.
func (v *view) recordReasons() {
	v.catalog.WithheldTools = reasonsFor(v, Tools, v.of.Tools, func(t *mcp.Tool) string {
		return t.Name
	})
	v.catalog.WithheldPrompts = reasonsFor(v, Prompts, v.of.Prompts, func(p *mcp.Prompt) string {
		return p.Name
	})
}

// reasonsFor returns the reasons of the refused items by name, or nil if there are none.
func reasonsFor[T any](
	v *view,
	kind Kind,
	all []T,
	name func(*T) string,
) (reasons map[string]string) {
	for i := range all {
		item := Item{kind, name(&all[i])}
		if why := v.reason(item); why != "" {
			if reasons == nil {
				reasons = make(map[string]string)
			}
			reasons[item.Name] = why
		}
	}
	return reasons
}

// reason returns the reason an item is refused, or "".
func (v *view) reason(item Item) string {
	if v.mismatch != nil {
		return refusal(*v.mismatch)
	}
	return v.refused[item].why
}

// refuses reports whether clients may not use an item.
func (v *view) refuses(item Item) bool { return v.refused[item].why != "" }

// refusal returns the reason that a client gets. It names the command that approves the
// item, and nothing about the machine.
func refusal(d Drift) string {
	approve := "slipway lock approve SOURCE"
	if d.Item.Kind != Whole {
		approve += " --item " + process.ShellWord(visible.Line(d.Item.String()))
	}
	return fmt.Sprintf(
		"refused by %s: %s: %s; review it with slipway lock diff SOURCE and accept it with %s",
		FileName, visible.Line(d.Source), d, approve)
}

// denied returns the error of a refused call. Its cause marks it as drift for logs and
// metrics.
func denied(code mcp.Code, why string) error {
	return &mcp.Error{
		Code:    code,
		Message: why,
		Cause:   errDrift,
	}
}

// tool returns the reason a tool must not be called, or nil.
func (v *view) tool(name string) error {
	if v.catalog.Tool(name) != nil {
		return nil
	}
	return v.deny(Item{Tools, name}, mcp.CodeToolDenied, mcp.UnknownTool(name))
}

// prompt returns the reason a prompt must not be requested, or nil.
func (v *view) prompt(name string) error {
	if v.catalog.Prompt(name) != nil {
		return nil
	}
	return v.deny(Item{Prompts, name}, mcp.CodeInvalidParams, mcp.UnknownPrompt(name))
}

// template returns the reason a template must not be completed, or nil.
func (v *view) template(text string) error {
	if v.offered[text] {
		return nil
	}
	unknown := mcp.Errorf(mcp.CodeInvalidParams, "unknown resource template %q", text)
	return v.deny(Item{Templates, text}, mcp.CodeInvalidParams, unknown)
}

// deny returns the error for an item that is refused or, if it is not, unknown.
func (v *view) deny(item Item, code mcp.Code, unknown *mcp.Error) error {
	if why := v.reason(item); why != "" {
		return denied(code, why)
	}
	return unknown
}

// resource returns the reason a resource must not be read, or nil. A newly listed
// resource may be read if it matches a locked template.
func (v *view) resource(uri string) error {
	item := Item{Resources, uri}
	why := v.reason(item)
	switch {
	case v.mismatch != nil:
		return mcp.ResourceNotFound(uri, why)
	case v.refused[item].changed:
		return denied(mcp.CodeResourceDenied, why)
	case isUI(uri):
		return v.ui(uri, why)
	case v.listed[uri]:
		return nil
	}
	for _, t := range v.templates {
		if _, ok := t.Match(uri); ok {
			return nil
		}
	}
	if why != "" {
		return denied(mcp.CodeResourceDenied, why)
	}
	return mcp.ResourceNotFound(uri, "no such resource in "+FileName)
}

// ui is resource for ui:// resources, which clients run: only their contents matter.
func (v *view) ui(uri, why string) error {
	switch {
	case v.pinnedUI[uri] && why == "":
		return nil
	case why != "":
		return denied(mcp.CodeResourceDenied, why)
	case v.listed[uri]:
		return denied(mcp.CodeResourceDenied, "refused by "+FileName+": what this resource yields was not locked")
	}
	return mcp.ResourceNotFound(uri, "no such resource in "+FileName)
}
