package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"

	"github.com/slipway-mcp/slipway/internal/glob"
)

// Ids of the rules that [Set.WithToolScopes] adds. Rules in files have no such ids.
const (
	// ToolScopeRule precedes the pattern in the id of a rule; alone it is the id of the rule
	// that denies [UnknownToolScope].
	ToolScopeRule = "tool-scope"

	// UnrestrictedRule is the rule of [Unrestricted].
	UnrestrictedRule = "no-policy"
)

// UnknownToolScope is a pattern for tools about which it is not known which patterns match
// them. [Set.WithToolScopes] denies them.
const UnknownToolScope = ""

// toolScopeFile is the file of the rules that WithToolScopes adds, for messages.
const toolScopeFile = "--tool-scope"

// Unrestricted returns a Set that permits everything: a server without a policy file.
func Unrestricted() *Set {
	rule := ast.Annotation("id", UnrestrictedRule).Permit()
	s, err := newSet(UnrestrictedRule, inList(cedar.PolicyList{cedar.NewPolicyFromAST(rule)}), "", builtIn)
	if err != nil {
		panic(err) // a constant rule is valid
	}
	s.Rules()[0].Line = 0
	return s
}

// WithToolScopes returns a Set with the rules of s, and one more for each pattern of tools:
// a caller needs all of its scopes, or others that imply them. The rule for the pattern P
// is
//
//	@id("tool-scope:P") @scopes("...")
//	forbid (principal, action == Action::"call", resource in ToolScope::"P")
//	unless { principal in Scope::"..." };
//
// A pattern is TOOL or SOURCE/TOOL, in which "*" matches any text and "?" any byte. It matches
// the original name of an [Item], unless Item.ToolScopes says otherwise.
func (s *Set) WithToolScopes(scopes, implies map[string][]string) (*Set, error) {
	unknown := toolScopeRule(UnknownToolScope)
	unknown.Annotate("message", "too many tools were renamed to know which scopes this one needs")
	list := cedar.PolicyList{cedar.NewPolicyFromAST(unknown)}
	var patterns []string
	for _, pattern := range slices.Sorted(maps.Keys(scopes)) {
		if len(scopes[pattern]) == 0 {
			continue
		}
		patterns = append(patterns, pattern)
		rule := toolScopeRule(pattern)
		rule.Annotate("scopes", types.String(strings.Join(scopes[pattern], " ")))
		rule.Annotate("message", "the token lacks a scope that the tool needs")
		needs := ast.True()
		for i, scope := range scopes[pattern] {
			has := ast.Principal().In(ast.Value(scopeUID(scope)))
			for _, other := range implying(scope, implies) {
				has = has.Or(ast.Principal().In(ast.Value(scopeUID(other))))
			}
			if i == 0 {
				needs = has
				continue
			}
			needs = needs.And(has)
		}
		list = append(list, cedar.NewPolicyFromAST(rule.Unless(needs)))
	}
	added, err := newSet(toolScopeFile, inList(list), "", builtIn)
	if err != nil {
		return nil, err
	}
	joined := *s
	joined.texts = slices.Concat(s.texts, added.texts)
	joined.toolScopes = patterns
	for _, r := range added.Rules() {
		r.Line = 0
		r.index += s.Len()
	}
	return &joined, nil
}

// toolScopeRule returns the rule that forbids to call the tools of a pattern.
func toolScopeRule(pattern string) *ast.Policy {
	id := ToolScopeRule
	if pattern != UnknownToolScope {
		id += ":" + pattern
	}
	return ast.Annotation("id", types.String(id)).Forbid().
		ActionEq(Call.uid()).
		ResourceIn(toolScopeUID(pattern))
}

func scopeUID(scope string) types.EntityUID { return cedar.NewEntityUID("Scope", types.String(scope)) }

func toolScopeUID(pattern string) types.EntityUID {
	return cedar.NewEntityUID("ToolScope", types.String(pattern))
}

// implying returns the scopes that include a scope, also transitively, in order.
func implying(scope string, implies map[string][]string) []string {
	found := make(map[string]bool)
	var add func(of string)
	add = func(of string) {
		for other, included := range implies {
			if other != scope && !found[other] && slices.Contains(included, of) {
				found[other] = true
				add(other)
			}
		}
	}
	add(scope)
	return slices.Sorted(maps.Keys(found))
}

// withToolScopes returns an item with the patterns that match the original name of the tool,
// unless it has some.
func (s *Set) withToolScopes(i Item) Item {
	if len(s.toolScopes) == 0 || i.Kind != ToolKind || i.ToolScopes != nil {
		return i
	}
	from := func(source string) bool {
		return slices.ContainsFunc(i.Servers, func(name string) bool { return glob.Match(source, name) })
	}
	for _, pattern := range s.toolScopes {
		if glob.MatchTool(pattern, i.Name, from) {
			i.ToolScopes = append(i.ToolScopes, pattern)
		}
	}
	return i
}

// parseScopes parses the annotation @scopes.
func parseScopes(text string) ([]string, error) {
	scopes := strings.Fields(text)
	if len(scopes) == 0 {
		return nil, fmt.Errorf("@scopes(%q): want one scope or more, separated by spaces", text)
	}
	for _, scope := range scopes {
		if strings.ContainsFunc(scope, func(c rune) bool { return c < '!' || c > '~' || c == '"' || c == '\\' }) {
			return nil, fmt.Errorf("@scopes: %q cannot be a scope", scope)
		}
	}
	return scopes, nil
}
