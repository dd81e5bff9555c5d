package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cedar-policy/cedar-go"
	publicast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Limits of a policy.
const (
	MaxBytes  = 8 << 20 // of the text
	maxRules  = 50_000
	maxID     = 128 // bytes of a rule's id
	maxErrors = 20  // that are reported
)

// Approval is how long the consent of a user to what a rule forbids is valid.
type Approval string

// The values of the annotation @approval.
const (
	ApproveOnce    Approval = "once"    // for one call
	ApproveSession Approval = "session" // until the session ends; without a session, for one hour
	ApproveAlways  Approval = "always"  // until the consent or the rule is removed
)

// Rule is a rule of a [Set].
type Rule struct {
	// ID is the annotation @id, or "line-" and the line on which the rule begins.
	ID string
	// Line is where the rule begins in its file.
	Line int
	// Forbid is false for a permit.
	Forbid bool
	// Approval is the annotation @approval of a forbid, or empty.
	Approval Approval
	// Scopes are the annotation @scopes of a forbid: a token with them is not denied by the
	// rule. Nil if a token has no influence.
	Scopes []string
	// Message is the annotation @message, which callers see if the rule denies.
	Message string
	// File is the name of the Set that the rule was parsed in. Rules that are not from a file
	// have the line 0.
	File string

	principal ast.IsPrincipalScopeNode // the scope
	actions   actionSet
	resource  ast.IsResourceScopeNode
	uses      *usage
	index     int // among the rules of the Set
	program   *program
	broken    bool // it could not be read again
}

// Text returns the rule in Cedar's canonical form.
func (r *Rule) Text() string { return string(bytes.TrimSpace(r.program.policy.MarshalCedar())) }

// readsContext reports whether the rule depends on more than caller, action and item.
func (r *Rule) readsContext() bool { return len(r.uses.context) > 0 }

// Set is a valid set of rules. It is immutable and safe for concurrent use.
type Set struct {
	name      string
	texts     []*ruleText     // the rules: of the file, and of tool scopes
	arguments *argument       // what any rule reads of the arguments
	hints     bool            // a rule reads hints of tools
	context   map[string]bool // attributes of the context that rules read
	client    bool            // one of them is endpoint, address or application
	// toolScopes are the patterns of WithToolScopes.
	toolScopes []string
}

// ruleKey finds the rules that may apply to a request: by the action, and by the principal
// and the resource that the rule is scoped to. The zero EntityUID means any.
type ruleKey struct {
	action              Action
	principal, resource types.EntityUID
}

// Error is a mistake in a policy.
type Error struct {
	File string
	// Line and Column are where the rule begins, or the mistake is if the text is not Cedar;
	// 0 if the whole file is invalid.
	Line, Column int
	Rule         string // the id, or empty
	Err          error
}

// Error implements the error interface.
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += fmt.Sprintf(":%d", e.Line)
	}
	if e.Column > 0 {
		where += fmt.Sprintf(":%d", e.Column)
	}
	if e.Rule != "" && !strings.HasPrefix(e.Rule, "line-") {
		where += ": rule " + e.Rule
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Open reads and parses the policy in a file.
func Open(path string) (*Set, error) {
	text, err := fsutil.ReadText(path, MaxBytes)
	if err != nil {
		return nil, &Error{
			File: path,
			Err:  errors.New(fsutil.Reason(err)),
		}
	}
	return Parse(path, text)
}

// Parse parses and validates rules. name is for messages, such as the name of the file. The
// error joins the mistakes, of type [*Error], of which it has at most 20.
func Parse(name string, text []byte) (*Set, error) {
	if len(text) > MaxBytes {
		return nil, &Error{
			File: name,
			Err:  fmt.Errorf("more than %d bytes", MaxBytes),
		}
	}
	kept := string(text)
	rules, failed := inText(kept)
	set, err := newSet(name, rules, kept, inFile)
	if failed() == nil {
		return set, err
	}
	list, err := cedar.NewPolicyListFromBytes(name, text) // for the place of the mistake
	if err != nil {
		line, column, reason := placeOf(err)
		return nil, &Error{
			File:   name,
			Line:   line,
			Column: column,
			Err:    errors.New(reason),
		}
	}
	return newSet(name, inList(list), kept, inFile)
}

// placeOf returns the place that a parser's error names, and the rest of it.
func placeOf(err error) (line, column int, reason string) {
	reason = strings.TrimPrefix(err.Error(), "parser error: ")
	if i := strings.Index(reason, ":"); i > 0 {
		if _, scanErr := fmt.Sscanf(reason[i:], ":%d:%d", &line, &column); line > 0 && (scanErr == nil || column == 0) {
			rest := strings.SplitN(reason, " ", 2)
			if len(rest) == 2 {
				reason = rest[1]
				if at, ok := strings.CutPrefix(reason, "error at "); ok { // the same place again
					_, reason, _ = strings.Cut(at, " ")
				}
				return line, column, withTokens(reason)
			}
		}
	}
	return 0, 0, reason
}

// withTokens returns a parser's reason, with the token that was found and the one that was expected in plain words.
func withTokens(reason string) string {
	_, tokens, ok := strings.Cut(reason, ": exact got ")
	if !ok {
		_, tokens, ok = strings.Cut(reason, ": got ")
	}
	at := strings.LastIndex(tokens, " want ")
	if !ok || at < 0 {
		return reason
	}
	got, want := tokens[:at], tokens[at+len(" want "):]
	if got == "" {
		return "unexpected end of the policy, want " + quoteToken(want)
	}
	return "unexpected " + quoteToken(got) + ", want " + quoteToken(want)
}

// quoteToken quotes a token that is not a string of the policy.
func quoteToken(token string) string {
	if strings.HasPrefix(token, `"`) {
		return token
	}
	return strconv.Quote(token)
}

// source is where rules are from.
type source int

const (
	inFile  source = iota
	builtIn        // their ids are reserved
)

// newSet validates and indexes rules. Those in a file have a text.
func newSet(name string, list iter.Seq[located], text string, from source) (*Set, error) {
	t := &ruleText{
		file: name,
		made: make(map[int]*Rule),
	}
	pack := packer{
		of:   t,
		text: text,
	}
	s := &Set{
		name:      name,
		texts:     []*ruleText{t},
		arguments: &argument{},
		context:   make(map[string]bool),
	}
	t.arguments = s.arguments
	var valid validators
	var keys []indexed
	var mistakes []error
	lines := make(map[string]int)
	for p := range list {
		i := len(t.starts)
		if i == maxRules {
			return nil, &Error{
				File: name,
				Err:  fmt.Errorf("more than %d rules", maxRules),
			}
		}
		r, err := newRule(p.Policy, p.line, from)
		if err == nil {
			err = valid.check((*ast.Policy)(p.AST()), r.uses.arguments.cedar())
		}
		if err == nil {
			err = s.arguments.merge(r.uses.arguments, "context.arguments")
		}
		if first, taken := lines[r.ID]; taken && err == nil {
			err = fmt.Errorf("the rule on line %d has the same id", first)
		}
		lines[r.ID] = r.Line
		if err != nil {
			mistakes = append(mistakes, &Error{
				File:   name,
				Line:   r.Line,
				Column: columnOf(text, p.offset),
				Rule:   r.ID,
				Err:    err,
			})
			if len(mistakes) == maxErrors {
				break
			}
			continue
		}
		keys = r.appendKeys(keys, i)
		if pack.add(p.offset, r.Line, r.Forbid); from == builtIn {
			r.File = name
			r.index = i
			t.made[i] = r
		}
		s.hints = s.hints || readsHints(p.Policy)
		maps.Copy(s.context, r.uses.context)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	pack.finish()
	t.index = newRuleIndex(keys)
	s.arguments.setAttributes()
	s.client = s.Reads("endpoint") || s.Reads("address") || s.Reads("application")
	return s, nil
}

// idOf returns the id of a rule without one.
func idOf(line int) string { return fmt.Sprintf("line-%d", line) }

// newRule returns the rule that begins on a line, also with an error.
func newRule(p *cedar.Policy, line int, from source) (*Rule, error) {
	notes := p.Annotations()
	tree := (*ast.Policy)(p.AST())
	r := &Rule{
		ID:       string(notes["id"]),
		Line:     line,
		Forbid:   p.Effect() == cedar.Forbid,
		Approval: Approval(notes["approval"]),
		Message:  string(notes["message"]),

		principal: tree.Principal,
		actions:   actionsOf(tree.Action),
		resource:  tree.Resource,
	}
	_, named := notes["id"]
	if !named {
		r.ID = idOf(r.Line)
	}
	var err error
	if r.uses, err = usageOf(tree); err != nil {
		return r, err
	}
	if len(r.uses.context) == 0 {
		r.uses = &usage{} // without the map
	}
	for key := range notes {
		if !slices.Contains([]types.AnnotationKey{"id", "approval", "scopes", "message"}, key) {
			return r, fmt.Errorf("unknown annotation @%s: want @id, @approval, @scopes or @message", key)
		}
	}
	switch r.Approval {
	case "", ApproveOnce, ApproveSession, ApproveAlways:
	default:
		return r, fmt.Errorf(`@approval(%q): want "once", "session" or "always"`, r.Approval)
	}
	if _, given := notes["approval"]; given && (!r.Forbid || r.Approval == "") {
		return r, errors.New("@approval belongs to a forbid, which the consent lifts")
	}
	if !named && (r.Approval == ApproveSession || r.Approval == ApproveAlways) {
		return r, fmt.Errorf(`@approval(%q) needs an @id, by which the consent is remembered: add @id("NAME")`, r.Approval)
	}
	if scopes, given := notes["scopes"]; given {
		if r.Scopes, err = parseScopes(string(scopes)); err != nil {
			return r, err
		}
		if !r.Forbid || r.Approval != "" {
			return r, errors.New("@scopes belongs to a forbid without @approval, which a token with the scopes avoids")
		}
	}
	if from == inFile && isReserved(r.ID) {
		return r, fmt.Errorf("@id(%q): such ids are for the rules of --tool-scope", r.ID)
	}
	if from == inFile && named && !isRuleID(r.ID) {
		return r, fmt.Errorf("@id(%q): want at most %d letters, digits and ._:/-", r.ID, maxID)
	}
	if err := checkItems(tree); err != nil {
		return r, err
	}
	r.program = &program{policy: p}
	return r, nil
}

// checkItems returns an error if a rule seems to name an item without its server, for then it would never apply. The
// name of a source in a library may be empty, and a name without its server that contains a slash is not detected.
func checkItems(tree *ast.Policy) (err error) {
	entitiesOf(tree, func(uid types.EntityUID) {
		rest := "NAME"
		switch uid.Type {
		case "Tool", "Prompt":
		case "Resource":
			rest = "URI"
		default:
			return
		}
		server, name, _ := strings.Cut(string(uid.ID), "/")
		bare := name == "" || strings.HasSuffix(server, ":") // the scheme of a URI
		if uid.Type == "Resource" {
			bare = bare || (server == "" || strings.Contains(server, ":")) && !strings.Contains(name, ":")
		}
		if bare {
			err = cmp.Or(err, fmt.Errorf("%s names no server: want %s::\"SERVER/%s\"", uid, uid.Type, rest))
		}
	})
	return err
}

// conditionsOf returns a rule that applies to everything under the same conditions, with its
// arguments as attributes of the context; see flattenArguments.
func conditionsOf(p *ast.Policy, uses *usage) (*cedar.Policy, error) {
	anywhere := *p
	anywhere.Principal = ast.ScopeTypeAll{}
	anywhere.Action = ast.ScopeTypeAll{}
	anywhere.Resource = ast.ScopeTypeAll{}
	rule := cedar.NewPolicyFromAST((*publicast.Policy)(&anywhere))
	if !uses.context["arguments"] {
		return rule, nil
	}
	text, err := rule.MarshalJSON()
	if err != nil {
		return nil, err
	}
	flat, err := flattenArguments(text, uses.arguments)
	if err != nil {
		return nil, err
	}
	rule = &cedar.Policy{}
	return rule, rule.UnmarshalJSON(flat)
}

// program is a rule compiled for decisions.
type program struct {
	policy *cedar.Policy
	// test decides as Cedar does for most rules that read arguments alone, or nil.
	test *test

	once       sync.Once
	conditions *cedar.Policy // see [Rule.conditions]
}

// conditions returns the rule without its scope, for requests that are known to be in it. Those of a rule
// that reads the context are made when Cedar first evaluates it: a test of the same makes that
// unnecessary for most rules, and the conversion keeps hundreds of objects.
func (r *Rule) conditions() *cedar.Policy {
	c := r.program
	if !r.readsContext() {
		return c.policy
	}
	c.once.Do(func() {
		var err error
		if c.conditions, err = conditionsOf((*ast.Policy)(c.policy.AST()), r.uses); err != nil {
			c.conditions = unevaluable()
		}
	})
	return c.conditions
}

// covers reports whether the scope of the rule, which the index has found, is met: the index
// does not distinguish == from in, and does not know types.
func (r *Rule) covers(who, what types.EntityUID) bool {
	return covers(r.principal, who) && covers(r.resource, what)
}

func covers(scope any, uid types.EntityUID) bool {
	switch scope := scope.(type) {
	case ast.ScopeTypeEq:
		return scope.Entity == uid
	case ast.ScopeTypeIs:
		return scope.Type == uid.Type
	case ast.ScopeTypeIsIn:
		return scope.Type == uid.Type
	}
	return true
}

// isReserved reports whether an id may be that of a rule that is not from a file.
func isReserved(id string) bool {
	return id == UnrestrictedRule || id == ToolScopeRule || strings.HasPrefix(id, ToolScopeRule+":")
}

func isRuleID(id string) bool {
	for _, c := range []byte(id) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && !strings.ContainsRune("._:/-", rune(c)) {
			return false
		}
	}
	return id != "" && len(id) <= maxID
}

// readsHints reports whether a rule reads a hint of a tool.
func readsHints(p *cedar.Policy) (found bool) {
	for _, c := range (*ast.Policy)(p.AST()).Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			if access, ok := n.(ast.NodeTypeAccess); ok {
				switch access.Value {
				case "readOnly", "destructive", "idempotent", "openWorld":
					found = true
				}
			}
			return !found
		})
	}
	return found
}

// scopeOf returns the entity that a scope requires the principal or the resource to be, or
// to be in. The zero value means any.
func scopeOf(scope any) types.EntityUID {
	switch scope := scope.(type) {
	case ast.ScopeTypeEq:
		return scope.Entity
	case ast.ScopeTypeIn:
		return scope.Entity
	case ast.ScopeTypeIsIn:
		return scope.Entity
	}
	return types.EntityUID{}
}

// namedActions returns the actions and groups of actions that a scope names.
func namedActions(scope ast.IsActionScopeNode) []types.EntityUID {
	switch scope := scope.(type) {
	case ast.ScopeTypeEq:
		return []types.EntityUID{scope.Entity}
	case ast.ScopeTypeIn:
		return []types.EntityUID{scope.Entity}
	case ast.ScopeTypeInSet:
		return scope.Entities
	}
	return nil
}

// actionSet is a set of actions: the bit 1<<a for each action a.
type actionSet uint8

func (s actionSet) has(a Action) bool { return s&(1<<a) != 0 }

// actionsOf returns the actions in a scope.
func actionsOf(scope ast.IsActionScopeNode) (found actionSet) {
	_, all := scope.(ast.ScopeTypeAll)
	named := namedActions(scope)
	for _, a := range allActions() {
		if all || slices.Contains(named, a.uid()) || a.uses() && slices.Contains(named, useUID()) {
			found |= 1 << a
		}
	}
	return found
}

// Name returns the name that was given to [Parse].
func (s *Set) Name() string { return s.name }

// Len returns the number of rules.
func (s *Set) Len() (n int) {
	for _, t := range s.texts {
		n += len(t.starts)
	}
	return n
}

// Rules reads all rules and returns them in the order of the file.
func (s *Set) Rules() []*Rule {
	var all []*Rule
	for _, t := range s.texts {
		for i := range t.starts {
			all = append(all, t.rule(i))
		}
	}
	return all
}

// Reads reports whether a rule reads an attribute of the context.
func (s *Set) Reads(attribute string) bool { return s.context[attribute] }

// ReadsClient reports whether a rule reads endpoint, address or application, which take time
// to find out.
func (s *Set) ReadsClient() bool { return s.client }

// ReadsHints reports whether a rule reads a hint of a tool, such as resource.readOnly.
func (s *Set) ReadsHints() bool { return s.hints }
