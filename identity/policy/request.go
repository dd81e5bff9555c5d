package policy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Action is what a caller wants to do.
type Action uint8

// The actions. Except for List and Connect, they use an item.
const (
	List      Action = iota // see a tool, prompt or resource in a list
	Call                    // call a tool
	Read                    // read a resource
	Get                     // get a prompt
	Complete                // ask for values of an argument of a prompt, or of a variable of a resource template
	Subscribe               // be notified of changes of a resource
	Connect                 // use a server at all
	actions
)

var actionNames = [actions]string{"list", "call", "read", "get", "complete", "subscribe", "connect"}

// String returns the name of the action in rules.
func (a Action) String() string { return actionNames[a] }

// ParseAction returns the action with a name.
func ParseAction(name string) (Action, error) {
	if i := slices.Index(actionNames[:], name); i >= 0 {
		return Action(i), nil
	}
	return 0, fmt.Errorf("unknown action %q: want %s", name, strings.Join(actionNames[:], ", "))
}

func allActions() []Action {
	return []Action{List, Call, Read, Get, Complete, Subscribe, Connect}
}

func (a Action) uid() types.EntityUID { return cedar.NewEntityUID("Action", types.String(a.String())) }

// uses reports whether the action uses an item.
func (a Action) uses() bool { return a != List && a != Connect }

func useUID() types.EntityUID { return cedar.NewEntityUID("Action", "use") }

// Kind is the kind of an [Item].
type Kind uint8

// The kinds of items.
const (
	ToolKind Kind = iota
	PromptKind
	ResourceKind // a resource or a resource template
	ServerKind
	kinds
)

var kindNames = [kinds]types.EntityType{"Tool", "Prompt", "Resource", "Server"}

// String returns the type in rules.
func (k Kind) String() string { return string(kindNames[k]) }

// UseOf returns the action that uses items of the kind.
func (k Kind) UseOf() Action {
	return [kinds]Action{Call, Get, Read, Connect}[k]
}

// Item is what an action is about.
type Item struct {
	Kind Kind
	// Servers are the names of the servers that the item comes from, the innermost first.
	Servers []string
	// Name is the original name of a tool or prompt, or the original URI or URI template of a
	// resource. It is empty for a server.
	Name string
	// Template is the original URI template of a resource that is not listed itself.
	Template string
	// Locked means that Hints come from a lock file. Otherwise they are ignored, and the tool
	// counts as one that may destroy anything.
	Locked bool
	Hints  mcp.ToolAnnotations
	// ToolScopes are the patterns of [Set.WithToolScopes] that the tool is in. Nil means those
	// that match its name.
	ToolScopes []string
}

// ID returns the id of the item in rules, such as github/create_issue.
func (i *Item) ID() string {
	server := i.server()
	if i.Kind == ServerKind {
		return server
	}
	return server + "/" + i.Name
}

func (i *Item) server() string {
	if len(i.Servers) == 0 {
		return ""
	}
	return i.Servers[0]
}

// Situation is the context of a request.
type Situation struct {
	// Arguments are those of the call as a JSON object, or nil. The arguments of a prompt are
	// strings.
	Arguments json.RawMessage
	// Index, which may be nil, is as in [mcp.CallToolParams].
	Index *jsonscan.Index
	// Time is when the request was received; zero means now.
	Time time.Time
	// Transport is one of the constants of package server, or "files".
	Transport string
	// Origin is the origin of the web page that sent the request, or empty.
	Origin string
	// Endpoint is the name of the endpoint, or empty.
	Endpoint string
	// Application is the name that the client software gives itself. It can be forged.
	Application string
	// Address is the client's address, or zero.
	Address netip.Addr
}

// Request is a question to a [Set]: may a caller do something now?
type Request struct {
	Principal *mcp.Principal // nil without authentication
	Action    Action
	Item      Item
	Situation Situation
}

// subject is a caller, prepared for decisions.
type subject struct {
	principal *mcp.Principal
	entity    types.Entity
	keys      []types.EntityUID // any, itself, and what it is in
	widened   bool              // with more scopes than the caller has
}

// newSubject prepares a caller; nil means one without authentication.
func newSubject(p *mcp.Principal) *subject {
	given := p
	if p == nil {
		p = &mcp.Principal{}
	}
	uid := cedar.NewEntityUID("User", types.String(p.Name))
	keys := []types.EntityUID{{}, uid}
	add := func(kind types.EntityType, names ...string) {
		for _, name := range names {
			keys = append(keys, cedar.NewEntityUID(kind, types.String(name)))
		}
	}
	add("Group", p.Groups...)
	add("Role", p.Roles...)
	add("Scope", p.Scopes...)
	if p.Client != "" {
		add("Client", p.Client)
	}
	tags := make(cedar.RecordMap, len(p.Claims))
	for name, values := range p.Claims {
		tags[types.String(name)] = setOf(values)
	}
	return &subject{
		principal: given,
		keys:      keys,
		entity: types.Entity{
			UID:     uid,
			Parents: cedar.NewEntityUIDSet(keys[2:]...),
			Attributes: cedar.NewRecord(cedar.RecordMap{
				"name":          types.String(p.Name),
				"authenticated": types.Boolean(given != nil),
				"issuer":        types.String(p.Issuer),
				"subject":       types.String(p.Subject),
				"client":        types.String(p.Client),
				"tenant":        types.String(p.Tenant),
				"groups":        setOf(p.Groups),
				"roles":         setOf(p.Roles),
				"scopes":        setOf(p.Scopes),
			}),
			Tags: cedar.NewRecord(tags),
		},
	}
}

// with returns the caller, who has a token, with more scopes.
func (who *subject) with(scopes []string) *subject {
	wide := *who.principal
	wide.Scopes = slices.Concat(wide.Scopes, scopes)
	w := newSubject(&wide)
	w.widened = true
	return w
}

func setOf(values []string) types.Set {
	list := make([]types.Value, len(values))
	for i, v := range values {
		list[i] = types.String(v)
	}
	return cedar.NewSet(list...)
}

// object is an item, prepared for decisions.
type object struct {
	item   Item
	entity types.Entity
	keys   []types.EntityUID
	// servers are the prepared forms of item.Servers, if an Engine made the object.
	servers []*object
	id      string
	hash    uint32 // of the id
	// transient means that the object is of one request only, and not to be remembered.
	transient bool
}

func newObject(i Item) *object {
	uid := cedar.NewEntityUID(kindNames[i.Kind], types.String(i.ID()))
	o := &object{
		item: i,
		id:   i.ID(),
		hash: shardOf(i.ID()),
		keys: []types.EntityUID{{}, uid},
	}
	attributes := cedar.RecordMap{"server": types.String(i.server())}
	if i.Kind == ServerKind {
		attributes = cedar.RecordMap{"name": types.String(i.server())}
	} else {
		for _, server := range i.Servers {
			o.keys = append(o.keys, cedar.NewEntityUID("Server", types.String(server)))
		}
	}
	for _, pattern := range i.ToolScopes {
		o.keys = append(o.keys, toolScopeUID(pattern))
	}
	if i.Template != "" {
		o.keys = append(o.keys, cedar.NewEntityUID(kindNames[i.Kind], types.String(i.server()+"/"+i.Template)))
	}
	switch i.Kind {
	case ToolKind:
		h := i.Hints
		if !i.Locked {
			h = mcp.ToolAnnotations{}
		}
		attributes["name"] = types.String(i.Name)
		attributes["locked"] = types.Boolean(i.Locked)
		attributes["readOnly"] = types.Boolean(h.ReadOnlyHint)
		attributes["destructive"] = types.Boolean(h.DestructiveHint == nil || *h.DestructiveHint)
		attributes["idempotent"] = types.Boolean(h.IdempotentHint)
		attributes["openWorld"] = types.Boolean(h.OpenWorldHint == nil || *h.OpenWorldHint)
	case PromptKind:
		attributes["name"] = types.String(i.Name)
	case ResourceKind:
		attributes["uri"] = types.String(i.Name)
	}
	o.entity = types.Entity{
		UID:        uid,
		Parents:    cedar.NewEntityUIDSet(o.keys[2:]...),
		Attributes: cedar.NewRecord(attributes),
	}
	return o
}

// shardOf returns a hash by which ids are spread over locks (FNV-1a).
func shardOf(id string) uint32 {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return h
}
