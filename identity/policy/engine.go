package policy

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/urilabel"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// Engine applies a policy to the catalog of a server. What does not depend on the situation
// is decided once for each caller and item. It is safe for concurrent use.
type Engine struct {
	state atomic.Pointer[state]
	opts  EngineOptions
}

// EngineOptions configure an [Engine]. Nil and the zero value use the defaults.
type EngineOptions struct {
	// Lock returns the lock that Hints reads, as a comparable value. When another one is in force,
	// also for the same catalog, hints are read again. Nil means that it never changes.
	Lock func() any
	// Hints returns the hints of a tool in the lock file, by the name of its server and its
	// original name. Nil means that no tool is locked.
	Hints func(server, tool string) (hints mcp.ToolAnnotations, locked bool)
	// Servers are the names of the whole catalog, in addition to those of its sources.
	Servers []string
	// ToolScopes returns the patterns of [Set.WithToolScopes] that a tool is in; it must always
	// return the same for a tool of a catalog. Nil means those that match its original name.
	ToolScopes func(t *mcp.Tool) []string
}

// Limits of what an Engine remembers.
const (
	maxSubjects   = 10_000
	maxViews      = 32       // catalogs
	maxViewBytes  = 64 << 20 // of these, as an estimate; one is always remembered
	maxShard      = 4096
	maxShownBytes = 64 << 20 // of restricted catalogs, as an estimate
	shards        = 16
)

// state is a policy with what has been decided by it. A new policy starts with none.
type state struct {
	// These fields are together because a request finds them in no cache.
	recent atomic.Pointer[view] // the last that was used, if it is one of views
	client bool                 // of set: see [Set.ReadsClient]
	set    *Set
	pinned Engine // has this state for good, and the options of the engine

	mu       sync.RWMutex
	subjects map[*mcp.Principal]*subject
	views    map[*mcp.Catalog]*view
	order    []*mcp.Catalog // of views, oldest first
	viewed   int64          // estimated bytes of the catalogs of views
	shown    int64          // estimated bytes of restricted catalogs

	decided [shards]shard
}

type shard struct {
	mu    sync.RWMutex
	known map[question]*candidates
}

// question is what candidates are remembered by. Subjects and objects are immutable, so that
// their addresses identify them.
type question struct {
	who    *subject
	what   *object
	action Action
}

// NewEngine returns an engine that applies set. opts may be nil.
func NewEngine(set *Set, opts *EngineOptions) *Engine {
	e := &Engine{}
	if opts != nil {
		e.opts = *opts
	}
	e.Replace(set)
	return e
}

// Replace makes the engine apply another policy from now on.
func (e *Engine) Replace(set *Set) {
	s := &state{
		client:   set.ReadsClient(),
		set:      set,
		subjects: make(map[*mcp.Principal]*subject),
		views:    make(map[*mcp.Catalog]*view),
	}
	s.pinned.opts = e.opts
	s.pinned.state.Store(s)
	e.state.Store(s)
}

// Pinned returns an engine with the policy that e applies now, which [Engine.Replace] of e does
// not change, for the several questions of one request. Both share what they remember.
func (e *Engine) Pinned() *Engine { return &e.state.Load().pinned }

// Set returns the policy that the engine applies.
func (e *Engine) Set() *Set { return e.state.Load().set }

// ReadsClient is [Set.ReadsClient] of the policy that the engine applies.
func (e *Engine) ReadsClient() bool { return e.state.Load().client }

// subject returns the prepared form of a caller.
func (s *state) subject(p *mcp.Principal) *subject {
	s.mu.RLock()
	known := s.subjects[p]
	s.mu.RUnlock()
	if known != nil {
		return known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known = s.subjects[p]; known != nil {
		return known
	}
	if len(s.subjects) >= maxSubjects {
		s.forgetLocked()
	}
	known = newSubject(p)
	s.subjects[p] = known
	return known
}

// forgetLocked drops all callers with what has been decided about them.
func (s *state) forgetLocked() {
	clear(s.subjects)
	for i := range s.decided {
		sh := &s.decided[i]
		sh.mu.Lock()
		clear(sh.known)
		sh.mu.Unlock()
	}
	for _, v := range s.views {
		v.memos.clear()
	}
}

// candidates returns the rules for a question.
func (s *state) candidates(who *subject, a Action, what *object) *candidates {
	if what.transient {
		return s.set.prepare(who, a, what)
	}
	q := question{who, what, a}
	sh := &s.decided[what.hash%shards]
	sh.mu.RLock()
	c := sh.known[q]
	sh.mu.RUnlock()
	if c != nil {
		return c
	}
	c = s.set.prepare(who, a, what)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.known == nil || len(sh.known) >= maxShard {
		sh.known = make(map[question]*candidates)
	}
	sh.known[q] = c
	return c
}

// decide decides about one object, and the servers that it comes from.
func (s *state) decide(who *subject, a Action, what *object, now *Situation) Decision {
	return s.set.join(who, a, what, what.servers, s.candidates, func(c *candidates) Decision {
		return c.decide(s.set, now)
	})
}

// sees returns the decision whether a caller sees an object in a list: it is listed if the
// caller may list it, or may use it with some arguments, unless a rule forbids either.
func (s *state) sees(who *subject, what *object, now *Situation) Decision {
	for _, server := range what.servers {
		if d := s.candidates(who, Connect, server).decide(s.set, now); d.forbids() && !d.visible() {
			return d
		}
	}
	listed := s.candidates(who, List, what).decide(s.set, now)
	if listed.visible() || listed.forbids() {
		return listed
	}
	use := s.candidates(who, what.item.Kind.UseOf(), what).might(s.set, now)
	return use
}

// view is a catalog with its items prepared for decisions.
type view struct {
	catalog *mcp.Catalog
	size    int64 // of catalog
	of      *state
	lock    any // see EngineOptions.Lock
	memos   memos

	mu    sync.RWMutex
	tools map[string]*object
	lists [listCount][]*object
	ready [listCount]bool
	shown map[string]*mcp.Catalog // restricted catalogs, by list and the items in it

	byURI     map[string]*object
	byOwnURI  map[string][]*object // by the URI in the spelling of the resource's own server
	templates []template
	servers   []*object           // the sources of the catalog
	roots     []*object           // the names of the whole catalog
	labels    map[string][]string // the servers that a label of a URI may be that of
}

// template is a URI template of the catalog.
type template struct {
	shown, own *uritemplate.Template
	label      string // of shown, or ""
	item       Item
}

// list is one of the lists of a catalog.
type list int

const (
	listTools list = iota
	listResources
	listTemplates
	listPrompts
	listCount
)

var listMethods = [listCount]string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"}

// view returns the prepared form of a catalog.
func (s *state) view(cat *mcp.Catalog) *view {
	var lock any
	if current := s.pinned.opts.Lock; current != nil {
		lock = current()
	}
	if v := s.recent.Load(); v != nil && v.catalog == cat && (s.pinned.opts.Lock == nil || v.lock == lock) {
		return v
	}
	return s.otherView(cat, lock)
}

// otherView returns the prepared form of a catalog that was not the last.
func (s *state) otherView(cat *mcp.Catalog, lock any) *view {
	s.mu.RLock()
	v := s.views[cat]
	found := v != nil && v.lock == lock
	if found {
		s.recent.Store(v)
	}
	s.mu.RUnlock()
	if found {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v = s.views[cat]; v != nil && v.lock == lock {
		return v
	}
	if v != nil {
		s.dropLocked(slices.Index(s.order, cat))
	}
	size := cat.Size()
	for len(s.order) > 0 && (len(s.order) >= maxViews || s.viewed+size > maxViewBytes) {
		s.dropLocked(0)
	}
	s.viewed += size
	v = &view{
		catalog: cat,
		size:    size,
		lock:    lock,
		of:      s,
		tools:   make(map[string]*object),
		shown:   make(map[string]*mcp.Catalog),
	}
	v.roots = serverObjects(s.pinned.opts.Servers)
	for i := range cat.Sources {
		v.servers = append(v.servers, serverObjects([]string{cat.Sources[i].Name})...)
	}
	if len(v.servers) == 0 {
		v.servers = v.roots
	}
	v.labels = labelsOf(v.servers)
	s.views[cat] = v
	s.order = append(s.order, cat)
	return v
}

// labelsOf returns servers by the labels that a URI may have to lead to each.
func labelsOf(servers []*object) map[string][]string {
	labels := make(map[string][]string, 2*len(servers))
	for _, o := range servers {
		name := o.item.server()
		for _, label := range []string{urilabel.Of(name), urilabel.Hashed(name)} {
			labels[label] = append(labels[label], name)
		}
	}
	return labels
}

// dropLocked drops a view, with what is remembered of its catalog.
func (s *state) dropLocked(i int) {
	v := s.views[s.order[i]]
	s.shown -= v.bytes()
	s.viewed -= v.size
	s.recent.CompareAndSwap(v, nil)
	delete(s.views, s.order[i])
	s.order = slices.Delete(s.order, i, i+1)
}

// serverObjects prepares servers.
func serverObjects(names []string) (all []*object) {
	for _, name := range names {
		all = append(all, newObject(Item{
			Kind:    ServerKind,
			Servers: []string{name},
		}))
	}
	return all
}

// item returns the item with some origins, whose own name is shown if it has none.
func (s *state) item(kind Kind, origins []mcp.Origin, shown string) Item {
	i := Item{
		Kind: kind,
		Name: shown,
	}
	for n := range origins {
		if n == 0 {
			i.Name = origins[0].Name
		}
		if source := origins[n].Source; source != "" && !slices.Contains(i.Servers, source) {
			i.Servers = append(i.Servers, source)
		}
	}
	for _, name := range s.pinned.opts.Servers {
		if !slices.Contains(i.Servers, name) {
			i.Servers = append(i.Servers, name)
		}
	}
	return i
}

// toolItem returns the item of a tool, with the hints of the lock.
func (s *state) toolItem(t *mcp.Tool) Item {
	i := s.item(ToolKind, t.Origins, t.Name)
	if hints := s.pinned.opts.Hints; hints != nil {
		i.Hints, i.Locked = hints(i.server(), i.Name)
	}
	if in := s.pinned.opts.ToolScopes; in != nil {
		i.ToolScopes = in(t)
		return i
	}
	return s.set.withToolScopes(i)
}

// object prepares an item, and the servers that it comes from.
func (s *state) object(v *view, i Item) *object {
	o := newObject(i)
	for _, name := range i.Servers {
		o.servers = append(o.servers, v.server(name))
	}
	return o
}

// server returns the prepared form of a server of the catalog.
func (v *view) server(name string) *object {
	for _, known := range [][]*object{v.servers, v.roots} {
		for _, o := range known {
			if o.item.server() == name {
				return o
			}
		}
	}
	return serverObjects([]string{name})[0]
}

// tool returns the prepared form of a tool of the catalog.
func (v *view) tool(t *mcp.Tool) *object {
	v.mu.RLock()
	o := v.tools[t.Name]
	v.mu.RUnlock()
	if o != nil {
		return o
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.toolLocked(t)
}

func (v *view) toolLocked(t *mcp.Tool) *object {
	if o := v.tools[t.Name]; o != nil {
		return o
	}
	o := v.of.object(v, v.of.toolItem(t))
	v.tools[t.Name] = o
	return o
}

// list returns the prepared items of a list, in its order.
func (v *view) list(l list) []*object {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.listLocked(l)
}

func (v *view) listLocked(l list) []*object {
	if v.ready[l] {
		return v.lists[l]
	}
	v.ready[l] = true
	var all []*object
	cat := v.catalog
	switch l {
	case listTools:
		for i := range cat.Tools {
			all = append(all, v.toolLocked(&cat.Tools[i]))
		}
	case listResources:
		v.byURI = make(map[string]*object, len(cat.Resources))
		v.byOwnURI = make(map[string][]*object, len(cat.Resources))
		for i := range cat.Resources {
			r := &cat.Resources[i]
			o := v.of.object(v, v.of.item(ResourceKind, r.Origins, r.URI))
			v.byURI[r.URI] = o
			v.byOwnURI[o.item.Name] = append(v.byOwnURI[o.item.Name], o)
			all = append(all, o)
		}
	case listTemplates:
		for i := range cat.Templates {
			t := &cat.Templates[i]
			item := v.of.item(ResourceKind, t.Origins, t.URITemplate)
			all = append(all, v.of.object(v, item))
			shown, err := uritemplate.Parse(t.URITemplate)
			own, ownErr := uritemplate.Parse(item.Name)
			if err == nil && ownErr == nil {
				label, _, _ := urilabel.Split(t.URITemplate)
				v.templates = append(v.templates, template{shown, own, label, item})
			}
		}
	case listPrompts:
		for i := range cat.Prompts {
			p := &cat.Prompts[i]
			all = append(all, v.of.object(v, v.of.item(PromptKind, p.Origins, p.Name)))
		}
	}
	v.lists[l] = all
	return all
}

// maxMatches bounds the templates that a URI is decided by.
const maxMatches = 64

// resources returns what a request for a URI may read: the resource with that URI, or one of
// each template that it matches, or, if it is neither listed nor matches, a resource of any
// source. If it has the label of a source, it may also be a resource of that source, unless a template has the
// label: whether a union reads labels is not known here.
func (v *view) resources(uri string) []*object {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listLocked(listResources)
	v.listLocked(listTemplates)
	if o := v.byURI[uri]; o != nil {
		return []*object{o}
	}
	found := v.matching(uri, func(t *template) *uritemplate.Template { return t.shown })
	if len(found) == 0 {
		found = v.anywhere(uri)
	}
	label, _, _ := urilabel.Split(uri)
	ofLabel := v.matching(uri, func(t *template) *uritemplate.Template {
		if t.label != label {
			return nil
		}
		return t.shown
	})
	if len(ofLabel) > 0 {
		return found
	}
	return append(found, v.labelled(uri)...)
}

// anywhere returns a resource of each source.
func (v *view) anywhere(uri string) (found []*object) {
	for _, server := range v.servers {
		found = append(found, v.transient(Item{
			Kind:    ResourceKind,
			Servers: []string{server.item.server()},
			Name:    uri,
		}))
	}
	if len(found) == 0 {
		found = append(found, v.transient(Item{
			Kind: ResourceKind,
			Name: uri,
		}))
	}
	return found
}

// maxLabels bounds the labels of a URI that are considered, one for each union that joins unions.
const maxLabels = 8

// labelled returns what a URI with labels may read besides a resource of that name: those of the labelled
// servers without the labels. All of these have to be permitted.
func (v *view) labelled(uri string) (found []*object) {
	for range maxLabels {
		label, own, ok := urilabel.Split(uri)
		servers := v.labels[label]
		if !ok || len(servers) == 0 {
			break
		}
		isFrom := func(i *Item) bool {
			return slices.ContainsFunc(servers, func(name string) bool { return slices.Contains(i.Servers, name) })
		}
		for _, o := range v.byOwnURI[own] {
			if isFrom(&o.item) {
				found = append(found, o)
			}
		}
		found = append(found, v.matching(own, func(t *template) *uritemplate.Template {
			if !isFrom(&t.item) {
				return nil
			}
			return t.own
		})...)
		for _, name := range servers {
			found = append(found, v.transient(Item{
				Kind:    ResourceKind,
				Servers: []string{name},
				Name:    own,
			}))
		}
		uri = own
	}
	return found
}

// matching returns the resources that templates describe: those of the templates for which spelling returns
// the form to compare. It returns nil if they are too many.
func (v *view) matching(uri string, spelling func(*template) *uritemplate.Template) (found []*object) {
	for i := range v.templates {
		t := &v.templates[i]
		form := spelling(t)
		if form == nil {
			continue
		}
		values, ok := form.Match(uri)
		if !ok {
			continue
		}
		if len(found) == maxMatches {
			return nil // ambiguous: any source
		}
		item := t.item
		item.Template = item.Name
		item.Name = t.own.Expand(values)
		found = append(found, v.transient(item))
	}
	return found
}

// transient prepares an item for one request.
func (v *view) transient(i Item) *object {
	o := v.of.object(v, i)
	o.transient = true
	return o
}
