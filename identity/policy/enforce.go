package policy

import (
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// Tool decides about a tool of a catalog. The decision is bound to where the tool comes from
// ([mcp.Tool.Origins]). A tool that is not in the catalog is denied.
func (e *Engine) Tool(p *mcp.Principal, cat *mcp.Catalog, name string, now *Situation) Decision {
	s := e.state.Load()
	v := s.view(cat)
	if m := v.memos.find(p, name); m != nil {
		if !m.meets(now) {
			m = newMemo(s.set, p, name, m.use, now)
			v.memos.add(m)
		}
		return m.rest.decideOpen(s.set, now)
	}
	t := cat.Tool(name)
	if t == nil {
		return Decision{}
	}
	who, what := s.subject(p), v.tool(t)
	s.memorize(v, who, what, name, now)
	return s.decide(who, Call, what, now)
}

// Allows reports whether it is remembered that [Engine.Tool] allows a call, and by which rule, with the id
// of the item in rules. It takes less time than Tool, which decides about the others.
func (e *Engine) Allows(p *mcp.Principal, cat *mcp.Catalog, name string, now *Situation) (rule, item string, ok bool) {
	m := e.state.Load().view(cat).memos.find(p, name)
	if m == nil || !m.allows(now) {
		return "", "", false
	}
	return m.rule, m.item, true
}

// ToolOf decides about a tool that may no longer be in a catalog, for any arguments: whether
// the caller may see the outcome of an earlier call of it.
func (e *Engine) ToolOf(p *mcp.Principal, t *mcp.Tool, now *Situation) Decision {
	s := e.state.Load()
	item := s.toolItem(t)
	servers := serverObjects(item.Servers)
	return s.set.join(s.subject(p), Call, newObject(item), servers, s.set.prepare, func(c *candidates) Decision {
		if c.action == Connect {
			return c.decide(s.set, now)
		}
		return c.might(s.set, now)
	})
}

// Prompt decides about a prompt of a catalog; a is Get or Complete.
func (e *Engine) Prompt(p *mcp.Principal, a Action, cat *mcp.Catalog, name string, now *Situation) Decision {
	s := e.state.Load()
	prompt := cat.Prompt(name)
	if prompt == nil {
		return Decision{}
	}
	v := s.view(cat)
	for i, o := range v.list(listPrompts) {
		if &cat.Prompts[i] == prompt {
			return s.decide(s.subject(p), a, o, now)
		}
	}
	return Decision{}
}

// Resource decides about a URI; a is Read or Subscribe. A URI that is neither listed nor
// matches a template may be a resource of any source, so all of them have to permit it.
func (e *Engine) Resource(p *mcp.Principal, a Action, cat *mcp.Catalog, uri string, now *Situation) Decision {
	s := e.state.Load()
	who := s.subject(p)
	allowed := Decision{}
	for _, o := range s.view(cat).resources(uri) {
		d := s.decide(who, a, o, now)
		if d.Effect != Allow {
			return d
		}
		allowed = d
	}
	return allowed
}

// Template decides about the completion of a resource template of a catalog.
func (e *Engine) Template(p *mcp.Principal, cat *mcp.Catalog, uriTemplate string, now *Situation) Decision {
	s := e.state.Load()
	for i, o := range s.view(cat).list(listTemplates) {
		if cat.Templates[i].URITemplate == uriTemplate {
			return s.decide(s.subject(p), Complete, o, now)
		}
	}
	return Decision{}
}

// Connect decides whether a caller may connect at all: it may if a rule permits that for a
// server, or if it sees an item, or if it is not known yet what the server offers. A forbid
// for every server denies, unless consent lifts it, for which the user is asked when an item
// is used.
func (e *Engine) Connect(p *mcp.Principal, cat *mcp.Catalog, now *Situation) Decision {
	s := e.state.Load()
	who := s.subject(p)
	v := s.view(cat)
	denied := Decision{}
	forbidden := 0
	for _, server := range v.servers {
		d := s.candidates(who, Connect, server).decide(s.set, now)
		if d.Effect == Allow {
			return d
		}
		if d.forbids() && d.Effect != Ask {
			denied = d
			forbidden++
		}
	}
	if len(v.servers) > 0 && forbidden == len(v.servers) {
		return denied
	}
	empty := true
	for l := range listCount {
		for _, o := range v.list(l) {
			empty = false
			if d := s.sees(who, o, now); d.visible() {
				return Decision{
					Effect: Allow,
					Rules:  d.Rules,
					ItemID: d.ItemID,
				}
			}
		}
	}
	if empty && (cat.Growing || cat.Unknown()) {
		return Decision{Effect: Allow}
	}
	return denied
}

// Visible returns the catalog with only the items of a list that a caller may see. method
// is the method of the list; other methods return cat itself. Callers who see the same items
// get the same catalog, so that its encoded lists are shared, and are never others.
func (e *Engine) Visible(p *mcp.Principal, cat *mcp.Catalog, method string, now *Situation) *mcp.Catalog {
	l := list(slices.Index(listMethods[:], method))
	if l < 0 {
		return cat
	}
	s := e.state.Load()
	v := s.view(cat)
	who := s.subject(p)
	objects := v.list(l)
	key := make([]byte, 1+(len(objects)+7)/8)
	key[0] = byte(l)
	for i, o := range objects {
		if d := s.sees(who, o, now); d.visible() {
			key[1+i/8] |= 1 << (i % 8)
		}
	}
	return v.restricted(l, key)
}

// restricted returns the catalog with the items of a list whose bits are set in key.
func (v *view) restricted(l list, key []byte) *mcp.Catalog {
	v.mu.RLock()
	known := v.shown[string(key)]
	v.mu.RUnlock()
	if known != nil {
		return known
	}
	visible := func(i int) bool { return key[1+i/8]&(1<<(i%8)) != 0 }
	made := v.catalog.Copy()
	made.Tools, made.Resources, made.Templates, made.Prompts = nil, nil, nil, nil
	made.WithheldTools, made.WithheldPrompts = nil, nil
	made.Instructions = ""
	made.Cache.Public = false
	switch l {
	case listTools:
		made.Tools = pick(v.catalog.Tools, visible)
	case listResources:
		made.Resources = pick(v.catalog.Resources, visible)
	case listTemplates:
		made.Templates = pick(v.catalog.Templates, visible)
	case listPrompts:
		made.Prompts = pick(v.catalog.Prompts, visible)
	}
	v.keep(string(key), made)
	return made
}

// pick returns the items whose index is visible.
func pick[T any](items []T, visible func(int) bool) []T {
	var some []T
	for i := range items {
		if visible(i) {
			some = append(some, items[i])
		}
	}
	return some
}

// keep remembers a restricted catalog. If all of them together are too large, those of the
// view are dropped.
func (v *view) keep(key string, made *mcp.Catalog) {
	size := made.Size() + int64(len(key))
	s := v.of
	s.mu.Lock()
	defer s.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shown[key] != nil || size > maxShownBytes || s.views[v.catalog] != v {
		return // the view may have been dropped meanwhile
	}
	if s.shown+size > maxShownBytes {
		for _, other := range s.views {
			if other != v {
				other.mu.Lock()
			}
			clear(other.shown)
			if other != v {
				other.mu.Unlock()
			}
		}
		s.shown = 0
	}
	s.shown += size
	v.shown[key] = made
}

// bytes returns the estimated size of the restricted catalogs of a view. The caller holds
// the lock of the state.
func (v *view) bytes() (size int64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for key, cat := range v.shown {
		size += cat.Size() + int64(len(key))
	}
	return size
}

// Instructions returns the instructions that a caller may see. They may be those of several
// servers, so only a caller who sees an item of each of them gets any.
func (e *Engine) Instructions(p *mcp.Principal, cat *mcp.Catalog, now *Situation) string {
	if cat.Instructions == "" {
		return ""
	}
	s := e.state.Load()
	who := s.subject(p)
	v := s.view(cat)
	unseen := make(map[string]bool)
	for _, server := range v.servers {
		unseen[server.item.server()] = true
	}
	seen := false
	for l := range listCount {
		for _, o := range v.list(l) {
			if d := s.sees(who, o, now); !d.visible() {
				continue
			}
			seen = true
			for _, server := range o.item.Servers {
				delete(unseen, server)
			}
		}
	}
	if !seen || len(unseen) > 0 {
		return ""
	}
	return cat.Instructions
}

// Access is one line of [Engine.Items]: what a caller may do with an item.
type Access struct {
	Item     Item
	Decision Decision
}

// Items returns the items of a catalog and what a caller may do with each: with the best
// arguments and at the best time.
func (e *Engine) Items(p *mcp.Principal, cat *mcp.Catalog) []Access {
	s := e.state.Load()
	who := s.subject(p)
	v := s.view(cat)
	var all []Access
	for l := range listCount {
		for _, o := range v.list(l) {
			d := s.set.join(who, o.item.Kind.UseOf(), o, o.servers, s.candidates, func(c *candidates) Decision {
				return c.might(s.set, nil)
			})
			all = append(all, Access{o.item, d})
		}
	}
	slices.SortStableFunc(all, func(a, b Access) int { return strings.Compare(a.Item.ID(), b.Item.ID()) })
	return all
}
