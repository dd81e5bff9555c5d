package policy

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/mcp"
)

// Might decides a request for the best arguments, at the best time and place: rules that read
// the context may permit, and their forbids may not apply. open reports whether there are
// such rules, so that the decision may differ.
func (s *Set) Might(r *Request) (d Decision, open bool) {
	what := newObject(s.withToolScopes(r.Item))
	d = s.join(newSubject(r.Principal), r.Action, what, r.servers(), s.prepare, func(c *candidates) Decision {
		open = open || c.open()
		return c.might(s, nil)
	})
	return d, open
}

// Holder is who a rule names: a user, or what users are in.
type Holder struct {
	// Kind is "User", "Group", "Role", "Scope" or "Client", or empty for any user.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// String returns the holder as in rules.
func (h Holder) String() string {
	switch {
	case h.Kind == "":
		return "any other user with a token"
	case h.Kind == "User" && h.Name == "":
		return "a caller without a token"
	}
	return fmt.Sprintf("%s::%q", h.Kind, h.Name)
}

// principal returns a user who is in nothing else.
func (h Holder) principal() *mcp.Principal {
	p := &mcp.Principal{Name: "*"}
	names := []string{h.Name}
	switch h.Kind {
	case "User":
		if h.Name == "" {
			return nil
		}
		p.Name = h.Name
	case "Group":
		p.Groups = names
	case "Role":
		p.Roles = names
	case "Scope":
		p.Scopes = names
	case "Client":
		p.Client = h.Name
	}
	return p
}

// Holders returns everyone whom rules name, and two who are never named: a caller without a
// token, and any other user.
func (s *Set) Holders() []Holder {
	found := map[Holder]bool{
		{}:             true,
		{Kind: "User"}: true,
	}
	s.entities(func(uid types.EntityUID) {
		switch uid.Type {
		case "User", "Group", "Role", "Scope", "Client":
			found[Holder{string(uid.Type), string(uid.ID)}] = true
		}
	})
	var all []Holder
	for h := range found {
		all = append(all, h)
	}
	order.By(all, func(a, b Holder) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return all
}

// Named returns the servers that rules name, also as those of items, and the tools and prompts as SERVER/NAME. Both are
// in order.
func (s *Set) Named() (servers, items []string) {
	found := make(map[string]bool)
	s.entities(func(uid types.EntityUID) {
		id := string(uid.ID)
		server, _, _ := strings.Cut(id, "/")
		switch uid.Type {
		case "Server":
			servers = append(servers, id)
		case "Tool", "Prompt":
			found[id] = true
			servers = append(servers, server)
		case "Resource":
			servers = append(servers, server)
		}
	})
	slices.Sort(servers)
	return slices.Compact(servers), slices.Sorted(maps.Keys(found))
}

// entities calls found with each entity that rules name.
func (s *Set) entities(found func(types.EntityUID)) {
	for _, r := range s.Rules() {
		entitiesOf((*ast.Policy)(r.program.policy.AST()), found)
	}
}

// entitiesOf calls found with each entity that a rule names.
func entitiesOf(tree *ast.Policy, found func(types.EntityUID)) {
	found(scopeOf(tree.Principal))
	found(scopeOf(tree.Resource))
	for _, c := range tree.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			if v, ok := n.(ast.NodeValue); ok {
				if uid, ok := v.Value.(types.EntityUID); ok {
					found(uid)
				}
			}
			return true
		})
	}
}

// Misnamed suggests a name for the first one in a request that no rule names: the server, the
// item, or a group or role of the caller. Both are as in rules, such as Server::"github", and
// empty if no name is near. Rules also apply to what they do not name, so that a request
// without a suggestion is no mistake.
func (s *Set) Misnamed(r *Request) (name, near string) {
	named := make(map[types.EntityType]map[string]bool)
	add := func(kind types.EntityType, id string) {
		if named[kind] == nil {
			named[kind] = make(map[string]bool)
		}
		named[kind][id] = true
	}
	s.entities(func(uid types.EntityUID) {
		add(uid.Type, string(uid.ID))
		switch uid.Type {
		case "Tool", "Prompt", "Resource":
			server, _, _ := strings.Cut(string(uid.ID), "/")
			add("Server", server)
		}
	})
	asked := []Holder{{"Server", r.Item.server()}}
	if r.Item.Kind != ServerKind {
		asked = append(asked, Holder{r.Item.Kind.String(), r.Item.ID()})
	}
	if p := r.Principal; p != nil {
		for _, group := range p.Groups {
			asked = append(asked, Holder{"Group", group})
		}
		for _, role := range p.Roles {
			asked = append(asked, Holder{"Role", role})
		}
	}
	for _, h := range asked {
		known := named[types.EntityType(h.Kind)]
		if known[h.Name] {
			continue
		}
		if other := nearest.DidYouMean(h.Name, slices.Sorted(maps.Keys(known))); other != "" {
			return h.String(), Holder{h.Kind, other}.String()
		}
	}
	return "", ""
}

// Permission is what someone whom rules name may do with an item.
type Permission struct {
	Holder   Holder
	Decision Decision
	// Open means that the decision depends on arguments, time or place.
	Open bool
}

// Who returns what everyone whom rules name may do with an item, if they are in nothing else.
func (s *Set) Who(a Action, item Item) []Permission {
	var all []Permission
	for _, h := range s.Holders() {
		d, open := s.Might(&Request{
			Principal: h.principal(),
			Action:    a,
			Item:      item,
		})
		all = append(all, Permission{h, d, open})
	}
	return all
}

// ParseItem parses an item as SERVER/NAME, or as SERVER for a server.
func ParseItem(kind Kind, text string) (Item, error) {
	server, name, ok := strings.Cut(text, "/")
	if kind == ServerKind {
		server, name, ok = text, "", true
	}
	if !ok || server == "" || name == "" && kind != ServerKind {
		return Item{}, fmt.Errorf("%q is not SERVER/NAME, such as github/create_issue", text)
	}
	return Item{
		Kind:    kind,
		Servers: []string{server},
		Name:    name,
	}, nil
}

// Case is an expected decision.
type Case struct {
	// Name describes the case.
	Name string `json:"name"`

	// User, and what the user is in. An empty User is a caller without a token.
	User    string              `json:"user"`
	Groups  []string            `json:"groups"`
	Roles   []string            `json:"roles"`
	Scopes  []string            `json:"scopes"`
	Client  string              `json:"client"`
	Tenant  string              `json:"tenant"`
	Issuer  string              `json:"issuer"`
	Subject string              `json:"subject"`
	Claims  map[string][]string `json:"claims"`

	// Action is the action; empty means the use of the item, which is one of the others.
	Action   string `json:"action"`
	Tool     string `json:"tool"`
	Prompt   string `json:"prompt"`
	Resource string `json:"resource"`
	Server   string `json:"server"`
	// Hints are those in the lock; nil means that the tool is not locked.
	Hints *mcp.ToolAnnotations `json:"hints"`

	Arguments   json.RawMessage `json:"arguments"`
	Time        time.Time       `json:"time"`
	Transport   string          `json:"transport"`
	Origin      string          `json:"origin"`
	Endpoint    string          `json:"endpoint"`
	Application string          `json:"application"`
	Address     netip.Addr      `json:"address"`

	// Expect is "allow", "deny" or "ask", and Rule the id of the rule that must decide, or
	// empty for any.
	Expect string `json:"expect"`
	Rule   string `json:"rule"`
}

// maxCases bounds the cases in a file.
const maxCases = 10_000

// ParseCases parses a JSON array of cases, or an object with the member "cases".
func ParseCases(text []byte) ([]Case, error) {
	list := bytes.TrimSpace(text)
	if len(list) > 0 && list[0] != '[' {
		var file map[string]json.RawMessage
		if err := json.Unmarshal(list, &file); err != nil {
			return nil, readable(err)
		}
		if err := checkMembers(file, "cases"); err != nil {
			return nil, err
		}
		list = file["cases"]
	}
	var texts []json.RawMessage
	if len(list) > 0 {
		if err := json.Unmarshal(list, &texts); err != nil {
			return nil, readable(err)
		}
	}
	if len(texts) == 0 || len(texts) > maxCases {
		return nil, fmt.Errorf("%d cases, want 1 to %d", len(texts), maxCases)
	}
	cases := make([]Case, len(texts))
	for i := range cases {
		c := &cases[i]
		err := c.parse(texts[i])
		c.Name = cmp.Or(c.Name, fmt.Sprintf("case %d", i+1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return cases, nil
}

// caseMembers are the members of a case, and hintMembers those of its hints.
var (
	caseMembers = sync.OnceValue(membersOf[Case])
	hintMembers = sync.OnceValue(membersOf[mcp.ToolAnnotations])
)

// membersOf returns the names of the fields of T in JSON.
func membersOf[T any]() (names []string) {
	for f := range reflect.TypeFor[T]().Fields() {
		names = append(names, cmp.Or(f.Tag.Get("json"), strings.ToLower(f.Name[:1])+f.Name[1:]))
	}
	return names
}

// parse parses and checks a case. With an error, it has at least the name, if there is one.
func (c *Case) parse(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return readable(err)
	}
	_ = json.Unmarshal(members["name"], &c.Name) // first, for errors
	if err := checkMembers(members, caseMembers()...); err != nil {
		return err // it would test something else
	}
	var hints map[string]json.RawMessage
	if json.Unmarshal(members["hints"], &hints) == nil { // otherwise reported below
		if err := checkMembers(hints, hintMembers()...); err != nil {
			return fmt.Errorf("hints: %w", err)
		}
	}
	for _, name := range []string{"time", "address"} { // errors of their types name functions
		var value string
		if raw := members[name]; raw != nil && json.Unmarshal(raw, &value) != nil {
			return fmt.Errorf("%s: want a string", name)
		}
		if _, err := netip.ParseAddr(value); err != nil && name == "address" && value != "" {
			return fmt.Errorf("address %q: want an IP address", value)
		}
	}
	if err := json.Unmarshal(text, c); err != nil {
		return readable(err)
	}
	if c.Arguments != nil && !jsonscan.IsObject(c.Arguments) {
		return errors.New("arguments: want an object")
	}
	if _, err := c.Request(); err != nil {
		return err
	}
	if !slices.Contains([]string{"allow", "deny", "ask"}, c.Expect) {
		return fmt.Errorf(`expect %q: want "allow", "deny" or "ask"`, c.Expect)
	}
	return nil
}

// checkMembers returns an error for a member that is none of the known ones.
func checkMembers(members map[string]json.RawMessage, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown member %q: %s", name, suggestion(name, known))
		}
	}
	return nil
}

// readable returns an error of package json without the types of this program.
func readable(err error) error {
	var kind *json.UnmarshalTypeError
	var clock *time.ParseError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%s: unexpected %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("unexpected %s, want a list of cases, each an object", kind.Value)
	case errors.As(err, &clock):
		return fmt.Errorf("time %q: want a time such as 2026-01-31T09:00:00Z", clock.Value)
	}
	return err
}

// Request returns the question that the case asks.
func (c *Case) Request() (*Request, error) {
	r := &Request{Situation: Situation{
		Arguments:   c.Arguments,
		Time:        c.Time,
		Transport:   c.Transport,
		Origin:      c.Origin,
		Endpoint:    c.Endpoint,
		Application: c.Application,
		Address:     c.Address,
	}}
	if c.User != "" {
		r.Principal = &mcp.Principal{
			Name:    c.User,
			Issuer:  c.Issuer,
			Subject: c.Subject,
			Client:  c.Client,
			Tenant:  c.Tenant,
			Groups:  c.Groups,
			Roles:   c.Roles,
			Scopes:  c.Scopes,
			Claims:  c.Claims,
		}
	} else if len(c.Groups)+len(c.Roles)+len(c.Scopes) > 0 {
		return nil, errors.New("groups, roles and scopes need a user")
	}
	given := 0
	for kind, text := range map[Kind]string{
		ToolKind: c.Tool, PromptKind: c.Prompt, ResourceKind: c.Resource, ServerKind: c.Server,
	} {
		if text == "" {
			continue
		}
		given++
		var err error
		if r.Item, err = ParseItem(kind, text); err != nil {
			return nil, err
		}
	}
	if given != 1 {
		return nil, errors.New("want one of tool, prompt, resource and server")
	}
	r.Action = r.Item.Kind.UseOf()
	if c.Action != "" {
		var err error
		if r.Action, err = ParseAction(c.Action); err != nil {
			return nil, err
		}
	}
	if c.Hints != nil {
		r.Item.Hints = *c.Hints
		r.Item.Locked = true
	}
	return r, nil
}

// Check decides the case and returns an error if the decision is not the expected one.
func (s *Set) Check(c *Case) error {
	r, err := c.Request()
	if err != nil {
		return err
	}
	d := s.Decide(r)
	decided := slices.ContainsFunc(d.Rules, func(r *Rule) bool { return r.ID == c.Rule }) ||
		c.Rule == DefaultRule && len(d.Rules) == 0
	if d.Effect.String() != c.Expect || c.Rule != "" && !decided {
		want := c.Expect
		if c.Rule != "" {
			want += " by " + c.Rule
		}
		return fmt.Errorf("%s, want %s", &d, want)
	}
	return nil
}

// Replayed is a decision of an audit log that other rules change.
type Replayed struct {
	Principal string `json:"principal"`
	Method    string `json:"method"`
	Item      string `json:"item"`
	// Was and Now are "allow", "deny" or "ask"; WasRule and NowRule are the rules that
	// decided.
	Was     string `json:"was"`
	WasRule string `json:"wasRule"`
	Now     string `json:"now"`
	NowRule string `json:"nowRule"`
	// Times is how many lines of the log are alike, and Last the time of the last.
	Times int    `json:"times"`
	Last  string `json:"last"`
}

// Replay is the outcome of [Set.Replay].
type Replay struct {
	// Lines is how many lines have a decision; Open how many of them depend on what the log does
	// not contain, such as arguments, which were taken to be the best, or on groups or claims of a
	// caller that were too many for a line.
	Lines int `json:"lines"`
	Open  int `json:"dependOnContext"`
	// Undecided is the number of requests without a policy decision, which are not in Lines.
	Undecided int `json:"undecided"`
	// Changed are the decisions that differ, in the order of their first line.
	Changed []Replayed `json:"changed"`
}

// maxReplayLine is the longest line of an audit log, in bytes.
const maxReplayLine = 1 << 20

// replayed are the methods whose requests [Set.Replay] decides.
var replayed = []string{"tools/call", "prompts/get", "resources/read", "resources/subscribe"}

// Replay decides the requests in an audit log again, in JSON lines. Requests without a policy
// decision are only counted.
func (s *Set) Replay(log io.Reader) (*Replay, error) {
	found := &Replay{}
	index := make(map[Replayed]int)
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxReplayLine)
	for n := 1; lines.Scan(); n++ {
		var line auditLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		r, ok := line.request()
		if !ok {
			if line.Event == "request" && line.Item == "" && slices.Contains(replayed, line.Method) {
				found.Undecided++
			}
			continue
		}
		found.Lines++
		d, open := s.Might(r)
		if open || line.Incomplete || line.Hash != "" {
			found.Open++
		}
		entry := Replayed{
			Principal: line.Principal,
			Method:    line.Method,
			Item:      line.Item,
			Was:       line.effect(),
			WasRule:   line.Rule,
			Now:       d.Effect.String(),
			NowRule:   d.RuleID(),
		}
		if entry.Was == entry.Now {
			continue
		}
		at, known := index[entry]
		if !known {
			at = len(found.Changed)
			index[entry] = at
			found.Changed = append(found.Changed, entry)
		}
		found.Changed[at].Times++
		found.Changed[at].Last = line.Time
	}
	return found, lines.Err()
}

// auditLine are the members of a line of the audit log of package serve.
type auditLine struct {
	Time      string              `json:"time"`
	Event     string              `json:"event"`
	Method    string              `json:"method"`
	Item      string              `json:"item"`
	Principal string              `json:"principal"`
	Groups    []string            `json:"groups"`
	Roles     []string            `json:"roles"`
	Scopes    []string            `json:"scopes"`
	Client    string              `json:"token_client"`
	Tenant    string              `json:"tenant"`
	Claims    map[string][]string `json:"claims"`
	// Incomplete means that something about the caller or the item was left out.
	Incomplete bool   `json:"incomplete"`
	Hash       string `json:"principal_hash"` // of a name that is too long
	Rule       string `json:"rule"`
	Approval   string `json:"approval"`
	Outcome    string `json:"outcome"`
	Code       int    `json:"code"`
}

// request returns the question that a line is about.
func (l *auditLine) request() (*Request, bool) {
	var kind Kind
	var action Action
	switch l.Method {
	case "tools/call":
		kind, action = ToolKind, Call
	case "prompts/get":
		kind, action = PromptKind, Get
	case "resources/read":
		kind, action = ResourceKind, Read
	case "resources/subscribe":
		kind, action = ResourceKind, Subscribe
	default:
		return nil, false
	}
	item, err := ParseItem(kind, l.Item)
	if err != nil || l.Event != "request" {
		return nil, false
	}
	r := &Request{
		Action: action,
		Item:   item,
	}
	if l.Principal != "" || l.Hash != "" {
		r.Principal = &mcp.Principal{
			Name:   l.Principal,
			Client: l.Client,
			Tenant: l.Tenant,
			Groups: l.Groups,
			Roles:  l.Roles,
			Scopes: l.Scopes,
			Claims: l.Claims,
		}
		r.Principal.Issuer, r.Principal.Subject, _ = strings.Cut(l.Principal, "#")
	}
	return r, true
}

// effect returns the effect of the decision in the line.
func (l *auditLine) effect() string {
	denied := l.Code == int(mcp.CodeToolDenied) || l.Code == int(mcp.CodeResourceDenied) ||
		l.Rule == DefaultRule || l.Method == "prompts/get" && l.Code == int(mcp.CodeInvalidParams)
	switch {
	case l.Approval != "":
		return Ask.String()
	case denied:
		return Deny.String()
	}
	return Allow.String()
}
