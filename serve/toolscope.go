package serve

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
)

// ToolScopeError is the error of [Run], [Serve] and [Stdio] for a pattern of
// [Auth.ToolScopes] that is invalid or matches no tool.
type ToolScopeError struct {
	Problem string // the pattern, and what is wrong with it
}

// Error implements the error interface.
func (e *ToolScopeError) Error() string {
	return "tool scope: " + e.Problem
}

func toolScopeError(format string, args ...any) error {
	return &ToolScopeError{fmt.Sprintf(format, args...)}
}

const (
	maxToolRules  = 256     // patterns of Auth.ToolScopes
	maxBoundTools = 10_000  // tools bound by a name that may change
	maxBoundBytes = 4 << 20 // of the identities of bound tools
)

// toolRules are the scopes that tools need. A rule applies to a tool of a source by its
// original name there and by the name that a collision gives it. Names given by other
// layers count as well, and a tool that once had such a name stays bound to it.
type toolRules struct {
	// rules are in the order in which they were given.
	rules []toolRule
	roots []string // names of the whole Source

	seen  atomic.Pointer[mcp.Catalog] // the last catalog passed to bind
	mu    sync.RWMutex
	bound map[string]ruleSet // by identity: rules for names that may change
	bytes int                // of the keys of bound
	full  bool               // a tool could not be stored

	unproven atomic.Bool // the rules can only be checked once the Source is open
}

// toolRule is a pattern with the scopes that its tools need.
type toolRule struct {
	// pattern matches names of tools, and scopes are what a caller of them needs.
	pattern string
	scopes  []string
}

// ruleSet is a set of indexes of rules.
type ruleSet [maxToolRules / 64]uint64

func (s *ruleSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *ruleSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s *ruleSet) merge(other ruleSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// newToolRules returns the rules of a, or nil if there are none.
func newToolRules(a *Auth) *toolRules {
	if a == nil || len(a.ToolScopes) == 0 {
		return nil
	}
	t := &toolRules{
		roots: a.SourceNames,
		bound: make(map[string]ruleSet),
	}
	for _, pattern := range slices.Sorted(maps.Keys(a.ToolScopes)) {
		t.rules = append(t.rules, toolRule{pattern, a.ToolScopes[pattern]})
	}
	return t
}

// scopes returns the scopes that a tool needs in addition to Auth.Scopes. If they cannot
// be determined, known is false and the tool must be refused.
func (t *toolRules) scopes(cat *mcp.Catalog, name string) (scopes []string, known bool) {
	if t == nil || cat == nil {
		return nil, true
	}
	if t.seen.Load() != cat {
		t.bind(cat)
	}
	tool := cat.Tool(name)
	if tool == nil {
		return nil, true // there is nothing to call, or the request is for the list
	}
	if t.prove(cat) != nil {
		return nil, false // and the server stops
	}
	return t.scopesOfTool(tool)
}

// scopesOfTool is scopes for a tool of any catalog.
func (t *toolRules) scopesOfTool(tool *mcp.Tool) (scopes []string, known bool) {
	matched := t.fixed(tool)
	was, known := t.remembered(tool)
	matched.merge(was)
	return t.scopesOf(matched), known
}

// remembered returns the rules for changeable names that a tool has or had. known is
// false if there was no room to store them.
func (t *toolRules) remembered(tool *mcp.Tool) (was ruleSet, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.bound) == 0 {
		return ruleSet{}, true
	}
	was, ok := t.bound[toolIdentity(tool)]
	return was, ok || !t.full || !t.renamed(tool)
}

// scopesOf returns the scopes of all matching rules together. With a single rule it
// allocates nothing.
func (t *toolRules) scopesOf(matched ruleSet) []string {
	var scopes []string
	for i := range t.rules {
		switch {
		case !matched.has(i):
		case scopes == nil:
			scopes = t.rules[i].scopes
		default:
			scopes = union(scopes, t.rules[i].scopes)
		}
	}
	return scopes
}

// union returns the scopes in either list, without changing them.
func union(scopes, more []string) []string {
	scopes = slices.Clip(scopes)
	for _, s := range more {
		if !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// bind stores which rules apply to the tools of a catalog by names that may be missing
// from a later catalog.
func (t *toolRules) bind(cat *mcp.Catalog) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range cat.Tools {
		tool := &cat.Tools[i]
		if !t.renamed(tool) {
			continue
		}
		matched := t.given(tool)
		id := toolIdentity(tool)
		was, known := t.bound[id]
		switch {
		case known:
		case len(t.bound) >= maxBoundTools || t.bytes+len(id) > maxBoundBytes:
			t.full = true
			continue
		default:
			t.bytes += len(id)
		}
		was.merge(matched)
		t.bound[id] = was
	}
	t.seen.Store(cat)
}

// renamed reports whether a tool is shown under a name that is neither its original one
// nor the one that a collision gives it.
func (t *toolRules) renamed(tool *mcp.Tool) bool {
	if len(tool.Origins) == 0 {
		return false
	}
	own := &tool.Origins[0]
	if own.Source == "" || len(tool.Origins) > 1 {
		return true
	}
	return tool.Name != own.Name && tool.Name != own.Prefixed
}

// toolIdentity returns the parts of a tool that do not depend on its current name: its
// sources, from the inside out, and its name in the innermost.
func toolIdentity(tool *mcp.Tool) string {
	if len(tool.Origins) == 0 {
		return tool.Name
	}
	var id strings.Builder
	id.WriteString(tool.Origins[0].Name)
	for i := range tool.Origins {
		if source := tool.Origins[i].Source; source != "" {
			id.WriteByte(0)
			id.WriteString(source)
		}
	}
	return id.String()
}

// fixed returns the rules for the names of a tool that do not change.
func (t *toolRules) fixed(tool *mcp.Tool) (matched ruleSet) {
	if len(tool.Origins) == 0 {
		t.addMatches(&matched, tool, tool.Name)
		return matched
	}
	t.addOrigin(&matched, tool, &tool.Origins[0])
	return matched
}

// given returns the rules for all names of a tool, including those that may change.
func (t *toolRules) given(tool *mcp.Tool) (matched ruleSet) {
	t.addMatches(&matched, tool, tool.Name)
	for i := range tool.Origins {
		t.addOrigin(&matched, tool, &tool.Origins[i])
	}
	return matched
}

// addOrigin adds the rules for the names of a tool in one of its sources.
func (t *toolRules) addOrigin(matched *ruleSet, tool *mcp.Tool, o *mcp.Origin) {
	t.addMatches(matched, tool, o.Name)
	if o.Prefixed != "" {
		t.addMatches(matched, tool, o.Prefixed)
	}
}

// addMatches adds the rules that match one name of a tool.
func (t *toolRules) addMatches(matched *ruleSet, tool *mcp.Tool, name string) {
	for i := range t.rules {
		if t.matches(t.rules[i].pattern, tool, name) {
			matched.add(i)
		}
	}
}

// matches reports whether a pattern matches one name of a tool: as TOOL, or as
// SOURCE/TOOL with any of its sources.
func (t *toolRules) matches(pattern string, tool *mcp.Tool, name string) bool {
	if globMatches(pattern, name) {
		return true
	}
	for source, rest := range splits(pattern) {
		if globMatches(rest, name) && t.comesFrom(source, tool) {
			return true
		}
	}
	return false
}

// comesFrom reports whether a tool is from a source that a rule names, on any layer.
func (t *toolRules) comesFrom(source string, tool *mcp.Tool) bool {
	for i := range tool.Origins {
		if name := tool.Origins[i].Source; name != "" && globMatches(source, name) {
			return true
		}
	}
	return slices.ContainsFunc(t.roots, func(root string) bool {
		return globMatches(source, root)
	})
}

// splits yields the ways to read a pattern as SOURCE/TOOL.
func splits(pattern string) iter.Seq2[string, string] {
	return func(yield func(source, tool string) bool) {
		for i := range len(pattern) {
			if pattern[i] == '/' && !yield(pattern[:i], pattern[i+1:]) {
				return
			}
		}
	}
}

// globMatches reports whether name matches a pattern in which "*" matches any text and
// "?" any one byte.
func globMatches(pattern, name string) bool {
	star := -1
	mark := 0 // the last "*", and how much of name it has matched
	p := 0
	n := 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star = p
			mark = n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p = p + 1
			n = n + 1
		case star >= 0:
			mark++
			p = star + 1
			n = mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// checkToolScopes returns an error for a pattern that matches no tool of src, and logs
// those that may match later.
func (o *Options) checkToolScopes(ctx context.Context, src mcp.Source) error {
	rules := newToolRules(o.Auth)
	if rules == nil {
		return nil
	}
	for pattern, scopes := range o.Auth.ToolScopes {
		if i := slices.IndexFunc(scopes, func(s string) bool {
			return !isScope(s)
		}); i >= 0 {
			return toolScopeError("%q of pattern %q cannot be a scope", scopes[i], pattern)
		}
	}
	cat, err := src.Catalog(ctx)
	if err != nil {
		return fmt.Errorf("tool scope: %w", err)
	}
	pending, err := rules.check(cat)
	if err != nil {
		return err
	}
	o.tools = rules
	_, opening := src.(Pending)
	rules.unproven.Store(opening && len(pending) > 0)
	for _, pattern := range pending {
		o.Logger.Warn("tool scope matches no tool yet, and applies once its server is available", "pattern", pattern)
	}
	return nil
}

// proveToolScopes returns an error for a pattern that matches no tool of src, which is
// now open.
func (o *Options) proveToolScopes(ctx context.Context, src mcp.Source) error {
	if o.tools == nil || !o.tools.unproven.Load() {
		return nil
	}
	cat, err := src.Catalog(ctx)
	if err != nil {
		return fmt.Errorf("tool scope: %w", err)
	}
	return o.tools.prove(cat)
}

// prove checks the rules against the first known catalog, if that was not possible
// before.
func (t *toolRules) prove(cat *mcp.Catalog) error {
	if !t.unproven.Load() || cat.Unknown() {
		return nil
	}
	if _, err := t.check(cat); err != nil {
		return err
	}
	t.unproven.Store(false)
	return nil
}

// check returns an error for a pattern that matches no tool of cat. pending are the
// patterns that may match once sources with unknown tools have started.
func (t *toolRules) check(cat *mcp.Catalog) (pending []string, err error) {
	if t == nil {
		return nil, nil
	}
	if len(t.rules) > maxToolRules {
		return nil, toolScopeError("more than %d patterns", maxToolRules)
	}
	t.bind(cat)
	var matched ruleSet
	for i := range cat.Tools {
		matched.merge(t.given(&cat.Tools[i]))
	}
	for i, rule := range t.rules {
		if matched.has(i) || t.withheld(cat, rule.pattern) {
			continue
		}
		if !t.mayMatch(cat, rule.pattern) {
			return nil, t.noMatchError(cat, rule.pattern)
		}
		pending = append(pending, rule.pattern)
	}
	return pending, nil
}

// withheld reports whether a pattern matches a tool that exists but is not offered.
func (t *toolRules) withheld(cat *mcp.Catalog, pattern string) bool {
	for name := range cat.WithheldTools {
		if globMatches(pattern, name) {
			return true
		}
		for _, rest := range splits(pattern) {
			if globMatches(rest, name) {
				return true
			}
		}
	}
	return false
}

// mayMatch reports whether a pattern may match a tool of a source whose tools are
// unknown.
func (t *toolRules) mayMatch(cat *mcp.Catalog, pattern string) bool {
	complete := make(map[string]bool) // sources whose own tools are known
	for i := range cat.Tools {
		if origins := cat.Tools[i].Origins; len(origins) > 0 {
			complete[innermost(origins)] = true
		}
	}
	unknown := make(map[string]bool)
	for _, s := range cat.Sources {
		if s.Unknown || !complete[s.Name] {
			unknown[s.Name] = true
		}
	}
	for _, root := range t.roots {
		if len(unknown) > 0 || len(cat.Tools) == 0 {
			unknown[root] = true
		}
	}
	if !strings.Contains(pattern, "/") {
		return len(unknown) > 0
	}
	for source := range splits(pattern) {
		for name := range unknown {
			if globMatches(source, name) {
				return true
			}
		}
	}
	return false
}

// innermost returns the name of the innermost source of a tool, or "".
func innermost(origins []mcp.Origin) string {
	for i := range origins {
		if origins[i].Source != "" {
			return origins[i].Source
		}
	}
	return ""
}

// noMatchError returns the error for a pattern without matches.
func (t *toolRules) noMatchError(cat *mcp.Catalog, pattern string) error {
	sources := slices.Clone(t.roots)
	for _, s := range cat.Sources {
		sources = append(sources, s.Name)
	}
	sourceKnown := false
	qualified := false
	for source := range splits(pattern) {
		qualified = true
		sourceKnown = sourceKnown ||
			slices.ContainsFunc(sources, func(name string) bool {
				return globMatches(source, name)
			})
	}
	if qualified && !sourceKnown {
		return toolScopeError("pattern %q matches no source: the sources are %s", pattern, listed(sources))
	}
	var tools []string
	for i := range cat.Tools {
		tools = append(tools, cat.Tools[i].Name)
	}
	if near := nearest.DidYouMean(pattern[strings.LastIndexByte(pattern, '/')+1:], tools); near != "" {
		return toolScopeError("pattern %q matches no tool: did you mean %q?", pattern, near)
	}
	return toolScopeError("pattern %q matches no tool: the tools are %s", pattern, listed(tools))
}

// listed returns names for an error message: quoted, and limited in number.
func listed(names []string) string {
	const most = 10
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%.80q", name))
	}
	if len(names) > most {
		quoted = append(quoted, "...")
	}
	if len(quoted) == 0 {
		return "none"
	}
	return strings.Join(quoted, ", ")
}
