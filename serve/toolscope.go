package serve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/glob"
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

// toolScopeError returns a [ToolScopeError] with a formatted text.
func toolScopeError(format string, args ...any) error {
	return &ToolScopeError{fmt.Sprintf(format, args...)}
}

const (
	maxToolScopes = 256     // patterns of Auth.ToolScopes
	maxBoundTools = 10_000  // tools bound by a name that may change
	maxBoundBytes = 4 << 20 // of the identities of bound tools
)

// toolScopes are the patterns of Auth.ToolScopes, as entities that tools are in. A pattern
// applies to a tool of a source by its original name there and by the name that a collision
// gives it. Names given by other layers count as well, and a tool that once had such a name
// stays bound to it.
type toolScopes struct {
	patterns []string // sorted
	auth     *Auth
	roots    []string // names of the whole Source

	seen  atomic.Pointer[mcp.Catalog] // the last catalog passed to bind
	mu    sync.RWMutex
	bound map[string]patternSet // by identity: patterns for names that may change
	bytes int                   // of the keys of bound
	full  bool                  // a tool could not be stored
	// changes counts the changes of bound and full: what has been decided about tools before
	// one may be wrong.
	changes atomic.Uint64

	unproven atomic.Bool // the patterns can only be checked once the Source is open
}

// patternSet is a set of indexes of patterns.
type patternSet [maxToolScopes / 64]uint64

func (s *patternSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *patternSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// with returns the indexes in either set.
func (s patternSet) with(other patternSet) patternSet {
	s.merge(other)
	return s
}

// merge adds the indexes of other to s.
func (s *patternSet) merge(other patternSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// newToolScopes returns the patterns of a, or nil if there are none.
func newToolScopes(a *Auth) *toolScopes {
	if a == nil || len(a.ToolScopes) == 0 {
		return nil
	}
	return &toolScopes{
		patterns: slices.Sorted(maps.Keys(a.ToolScopes)),
		auth:     a,
		roots:    a.SourceNames,
		bound:    make(map[string]patternSet),
	}
}

// rules returns rules with one more for each pattern. Scopes that cannot be part of a rule
// forbid everything; [Run] and the like have returned them as an error.
func (t *toolScopes) rules(base *policy.Set) *policy.Set {
	joined, err := base.WithToolScopes(t.auth.ToolScopes, t.auth.Implies)
	if err == nil && len(t.patterns) <= maxToolScopes {
		return joined
	}
	none, err := policy.Parse("invalid tool scopes", nil)
	if err != nil {
		panic(err) // no rules are valid
	}
	return none
}

// of returns the patterns that a tool of any catalog is in.
func (t *toolScopes) of(tool *mcp.Tool) []string {
	matched := t.fixed(tool)
	was, known := t.remembered(tool)
	if !known {
		return []string{policy.UnknownToolScope}
	}
	matched.merge(was)
	in := []string{} // nil would mean the original name
	for i, pattern := range t.patterns[:min(len(t.patterns), maxToolScopes)] {
		if matched.has(i) {
			in = append(in, pattern)
		}
	}
	return in
}

// remembered returns the patterns for changeable names that a tool has or had. known is
// false if there was no room to store them.
func (t *toolScopes) remembered(tool *mcp.Tool) (was patternSet, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.bound) == 0 && !t.full {
		return patternSet{}, true
	}
	was, ok := t.bound[toolIdentity(tool)]
	return was, ok || !t.full || !t.renamed(tool)
}

// see binds the tools of a catalog that has not been seen yet.
func (t *toolScopes) see(cat *mcp.Catalog) {
	if t.seen.Load() != cat {
		t.bind(cat)
	}
}

// bind stores which patterns apply to the tools of a catalog by names that may be missing
// from a later catalog.
func (t *toolScopes) bind(cat *mcp.Catalog) {
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
		case known && was == was.with(matched):
			continue
		case known:
		case len(t.bound) >= maxBoundTools || t.bytes+len(id) > maxBoundBytes:
			if !t.full {
				t.full = true
				t.changes.Add(1)
			}
			continue
		default:
			t.bytes += len(id)
		}
		t.bound[id] = was.with(matched)
		t.changes.Add(1)
	}
	t.seen.Store(cat)
}

// renamed reports whether a tool is shown under a name that is neither its original one
// nor the one that a collision gives it.
func (t *toolScopes) renamed(tool *mcp.Tool) bool {
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

// fixed returns the patterns for the names of a tool that do not change.
func (t *toolScopes) fixed(tool *mcp.Tool) (matched patternSet) {
	if len(tool.Origins) == 0 {
		t.addMatches(&matched, tool, tool.Name)
		return matched
	}
	t.addOrigin(&matched, tool, &tool.Origins[0])
	return matched
}

// given returns the patterns for all names of a tool, including those that may change.
func (t *toolScopes) given(tool *mcp.Tool) (matched patternSet) {
	t.addMatches(&matched, tool, tool.Name)
	for i := range tool.Origins {
		t.addOrigin(&matched, tool, &tool.Origins[i])
	}
	return matched
}

// addOrigin adds the patterns for the names of a tool in one of its sources.
func (t *toolScopes) addOrigin(matched *patternSet, tool *mcp.Tool, o *mcp.Origin) {
	t.addMatches(matched, tool, o.Name)
	if o.Prefixed != "" {
		t.addMatches(matched, tool, o.Prefixed)
	}
}

// addMatches adds the patterns that match one name of a tool.
func (t *toolScopes) addMatches(matched *patternSet, tool *mcp.Tool, name string) {
	for i := range t.patterns[:min(len(t.patterns), maxToolScopes)] {
		from := func(source string) bool { return t.comesFrom(source, tool) }
		if glob.MatchTool(t.patterns[i], name, from) {
			matched.add(i)
		}
	}
}

// comesFrom reports whether a tool is from a source that a pattern names, on any layer.
func (t *toolScopes) comesFrom(source string, tool *mcp.Tool) bool {
	for i := range tool.Origins {
		name := tool.Origins[i].Source
		if name != "" && glob.Match(source, name) {
			return true
		}
	}
	return slices.ContainsFunc(t.roots, func(root string) bool {
		return glob.Match(source, root)
	})
}

// checkToolScopes returns an error for a pattern that matches no tool of src, and logs
// those that may match later.
func (o *Options) checkToolScopes(ctx context.Context, src mcp.Source) error {
	tools := newToolScopes(o.Auth)
	if tools == nil {
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
	pending, err := tools.check(cat)
	if err != nil {
		return err
	}
	o.rules.tools.Store(tools)
	_, opening := src.(Pending)
	tools.unproven.Store(opening && len(pending) > 0)
	for _, pattern := range pending {
		o.Logger.Warn("tool scope matches no tool yet, and applies once its server is available", "pattern", pattern)
	}
	return nil
}

// proveToolScopes returns an error for a pattern that matches no tool of src, which is
// now open.
func (o *Options) proveToolScopes(ctx context.Context, src mcp.Source) error {
	tools := o.rules.tools.Load()
	if tools == nil || !tools.unproven.Load() {
		return nil
	}
	cat, err := src.Catalog(ctx)
	if err != nil {
		return fmt.Errorf("tool scope: %w", err)
	}
	return tools.prove(cat)
}

// prove checks the patterns against the first known catalog, if that was not possible
// before.
func (t *toolScopes) prove(cat *mcp.Catalog) error {
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
func (t *toolScopes) check(cat *mcp.Catalog) (pending []string, err error) {
	if t == nil {
		return nil, nil
	}
	if len(t.patterns) > maxToolScopes {
		return nil, toolScopeError("more than %d patterns", maxToolScopes)
	}
	t.bind(cat)
	var matched patternSet
	for i := range cat.Tools {
		matched.merge(t.given(&cat.Tools[i]))
	}
	for i, pattern := range t.patterns {
		if matched.has(i) || t.withheld(cat, pattern) {
			continue
		}
		if !t.mayMatch(cat, pattern) {
			return nil, t.noMatchError(cat, pattern)
		}
		pending = append(pending, pattern)
	}
	return pending, nil
}

// withheld reports whether a pattern matches a tool that exists but is not offered.
func (t *toolScopes) withheld(cat *mcp.Catalog, pattern string) bool {
	for name := range cat.WithheldTools {
		if glob.Match(pattern, name) {
			return true
		}
		for _, rest := range glob.Splits(pattern) {
			if glob.Match(rest, name) {
				return true
			}
		}
	}
	return false
}

// mayMatch reports whether a pattern may match a tool of a source whose tools are
// unknown.
func (t *toolScopes) mayMatch(cat *mcp.Catalog, pattern string) bool {
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
	for source := range glob.Splits(pattern) {
		for name := range unknown {
			if glob.Match(source, name) {
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
func (t *toolScopes) noMatchError(cat *mcp.Catalog, pattern string) error {
	sources := slices.Clone(t.roots)
	for _, s := range cat.Sources {
		sources = append(sources, s.Name)
	}
	sourceKnown := false
	qualified := false
	for source := range glob.Splits(pattern) {
		qualified = true
		sourceKnown = sourceKnown ||
			slices.ContainsFunc(sources, func(name string) bool {
				return glob.Match(source, name)
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
