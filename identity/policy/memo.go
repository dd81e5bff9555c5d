package policy

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// memo is the rules about calls of one tool by one caller: with it, a call needs one look-up
// instead of one for the caller, the tool, its servers and the rules about each.
//
// A memo has no outcome of a rule that reads the context of a request: those are evaluated for
// each call, or remembered with what they read (see settlement). It exists only if no rule
// about the servers of the tool reads the context or forbids, so that use decides alone. It
// belongs to a view, thus to one policy and one catalog, and is dropped with either. A caller
// with another token, or another set of groups, is another Principal.
type memo struct {
	caller *mcp.Principal
	tool   string
	use    *candidates
}

// Limits of memos in each view. A caller can only displace those in its row, which it may share
// with others; a displaced memo costs a few look-ups.
const (
	memoRows    = 64 // by caller
	memoColumns = 64 // by tool
)

// memos are the memos of a view. A place has at most one memo, and the next replaces it.
type memos [memoRows]atomic.Pointer[memoRow]

type memoRow [memoColumns]atomic.Pointer[memo]

// memoSeed keeps callers from choosing names that share a place.
var memoSeed = maphash.MakeSeed()

// row returns the row of a caller.
func (m *memos) row(p *mcp.Principal) *atomic.Pointer[memoRow] {
	return &m[maphash.Comparable(memoSeed, p)%memoRows]
}

// place returns the place of a tool.
func (r *memoRow) place(tool string) *atomic.Pointer[memo] {
	return &r[maphash.String(memoSeed, tool)%memoColumns]
}

// find returns the rules about calls of a tool, or nil if none are remembered.
func (m *memos) find(p *mcp.Principal, tool string) *candidates {
	row := m.row(p).Load()
	if row == nil {
		return nil
	}
	found := row.place(tool).Load()
	if found == nil || found.caller != p || found.tool != tool {
		return nil
	}
	return found.use
}

// add remembers the rules about calls of a tool.
func (m *memos) add(p *mcp.Principal, tool string, use *candidates) {
	row := m.row(p)
	if row.Load() == nil {
		row.CompareAndSwap(nil, &memoRow{})
	}
	if r := row.Load(); r != nil {
		r.place(tool).Store(&memo{p, tool, use})
	}
}

// clear drops all memos.
func (m *memos) clear() {
	for i := range m {
		m[i].Store(nil)
	}
}

// memorize remembers the rules about calls of a tool, if those about its servers neither forbid
// nor read the context.
func (s *state) memorize(v *view, who *subject, what *object, tool string) {
	for _, server := range what.servers {
		c := s.candidates(who, Connect, server)
		if c.open() || c.decided.forbids() {
			return
		}
	}
	v.memos.add(who.principal, tool, s.candidates(who, Call, what))
}
