package policy

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

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

	// source is the rule as in its file, from which it is compiled when a request needs it; empty if
	// compiled is set from the start.
	source   string
	compiled atomic.Pointer[program]

	principal ast.IsPrincipalScopeNode // the scope
	resource  ast.IsResourceScopeNode
	uses      *usage
	index     int // in Set.rules
}

// Text returns the rule in Cedar's canonical form.
func (r *Rule) Text() string { return string(bytes.TrimSpace(r.program().policy.MarshalCedar())) }

// readsContext reports whether the rule depends on more than caller, action and item.
func (r *Rule) readsContext() bool { return len(r.uses.context) > 0 }

// Set is a valid set of rules. It is immutable and safe for concurrent use.
type Set struct {
	name      string
	rules     []*Rule
	arguments *argument // what any rule reads of the arguments
	byKey     map[ruleKey][]*Rule
	hints     bool            // a rule reads hints of tools
	context   map[string]bool // attributes of the context that rules read
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
	list, err := cedar.NewPolicyListFromBytes(name, text)
	if err != nil {
		line, column, reason := placeOf(err)
		return nil, &Error{
			File:   name,
			Line:   line,
			Column: column,
			Err:    errors.New(reason),
		}
	}
	if len(list) > maxRules {
		return nil, &Error{
			File: name,
			Err:  fmt.Errorf("%d rules, want at most %d", len(list), maxRules),
		}
	}
	return newSet(name, list, sources(list, string(text)), inFile)
}

// sources returns the text of each rule of a file.
func sources(list cedar.PolicyList, text string) []string {
	all := make([]string, len(list))
	end := len(text)
	for i, p := range slices.Backward(list) {
		begin := p.Position().Offset
		all[i] = text[begin:end]
		end = begin
	}
	return all
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
				return line, column, reason
			}
		}
	}
	return 0, 0, reason
}

// source is where rules are from.
type source int

const (
	inFile  source = iota
	builtIn        // their ids are reserved
)

// newSet validates and indexes rules. texts has the source of each, or is nil.
func newSet(name string, list cedar.PolicyList, texts []string, from source) (*Set, error) {
	s := &Set{
		name:      name,
		arguments: &argument{},
		byKey:     make(map[ruleKey][]*Rule),
		context:   make(map[string]bool),
	}
	var valid validators
	var mistakes []error
	lines := make(map[string]int)
	for i, p := range list {
		text := ""
		if texts != nil {
			text = texts[i]
		}
		r, err := newRule(p, text, &valid, from)
		r.File = name
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
				Column: p.Position().Column,
				Rule:   r.ID,
				Err:    err,
			})
			if len(mistakes) == maxErrors {
				break
			}
			continue
		}
		r.index = len(s.rules)
		s.rules = append(s.rules, r)
		s.addToIndex(r, actionsOf((*ast.Policy)(p.AST()).Action))
		s.hints = s.hints || readsHints(p)
		maps.Copy(s.context, r.uses.context)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	s.arguments.setAttributes()
	return s, nil
}

// newRule validates a rule. It returns the rule also with an error.
func newRule(p *cedar.Policy, text string, valid *validators, from source) (*Rule, error) {
	notes := p.Annotations()
	tree := (*ast.Policy)(p.AST())
	r := &Rule{
		ID:       string(notes["id"]),
		Line:     p.Position().Line,
		Forbid:   p.Effect() == cedar.Forbid,
		Approval: Approval(notes["approval"]),
		Message:  string(notes["message"]),
		source:   text,

		principal: tree.Principal,
		resource:  tree.Resource,
	}
	_, named := notes["id"]
	if !named {
		r.ID = fmt.Sprintf("line-%d", r.Line)
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
	compiled, err := compile(p, r.uses)
	if err != nil {
		return r, err
	}
	if text == "" {
		r.compiled.Store(compiled)
	}
	return r, valid.check(tree, r.uses.arguments.cedar())
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
	flat, err := flattenArguments(text)
	if err != nil {
		return nil, err
	}
	rule = &cedar.Policy{}
	return rule, rule.UnmarshalJSON(flat)
}

// program is a rule compiled for decisions.
type program struct {
	policy *cedar.Policy
	// conditions is the rule without its scope, for requests that are known to be in it; nil
	// if the rule does not read the context.
	conditions *cedar.Policy
	// test is the same for most rules that read arguments alone, or nil.
	test test
}

// compile compiles a rule that reads some of the context.
func compile(p *cedar.Policy, uses *usage) (*program, error) {
	c := &program{policy: p}
	if len(uses.context) == 0 {
		return c, nil
	}
	tree := (*ast.Policy)(p.AST())
	c.test = testOf(tree)
	var err error
	c.conditions, err = conditionsOf(tree, uses)
	return c, err
}

// program returns the compiled rule. Rules that no caller needs are kept as text only, because the
// trees of many rules take longer to mark, in each garbage collection, than a decision takes.
func (r *Rule) program() *program {
	if c := r.compiled.Load(); c != nil {
		return c
	}
	c, err := parseRule(r.source, r.uses)
	if err != nil { // cannot be: the text was parsed before
		c = &program{policy: unevaluable()}
	}
	r.compiled.Store(c)
	return c
}

// parseRule compiles the text of one rule.
func parseRule(text string, uses *usage) (*program, error) {
	p := &cedar.Policy{}
	if err := p.UnmarshalCedar([]byte(text)); err != nil {
		return nil, err
	}
	return compile(p, uses)
}

// unevaluable returns a rule that fails for each request: a permit then permits nothing, and a forbid
// denies.
func unevaluable() *cedar.Policy {
	return cedar.NewPolicyFromAST(publicast.Permit().When(publicast.Context().Access("unevaluable")))
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

// addToIndex adds a rule under the actions, the principal and the resource that it is scoped
// to.
func (s *Set) addToIndex(r *Rule, actions []Action) {
	key := ruleKey{
		principal: scopeOf(r.principal),
		resource:  scopeOf(r.resource),
	}
	for _, a := range actions {
		key.action = a
		s.byKey[key] = append(slices.Clip(s.byKey[key]), r) // another Set may share the slice
	}
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

// actionsOf returns the actions in a scope.
func actionsOf(scope ast.IsActionScopeNode) []Action {
	if _, all := scope.(ast.ScopeTypeAll); all {
		return allActions()
	}
	named := namedActions(scope)
	var found []Action
	for _, a := range allActions() {
		if slices.Contains(named, a.uid()) || a.uses() && slices.Contains(named, useUID()) {
			found = append(found, a)
		}
	}
	return found
}

// Name returns the name that was given to [Parse].
func (s *Set) Name() string { return s.name }

// Rules returns the rules in the order of the file. The result is read-only.
func (s *Set) Rules() []*Rule { return s.rules }

// Reads reports whether a rule reads an attribute of the context.
func (s *Set) Reads(attribute string) bool { return s.context[attribute] }

// ReadsHints reports whether a rule reads a hint of a tool, such as resource.readOnly.
func (s *Set) ReadsHints() bool { return s.hints }
