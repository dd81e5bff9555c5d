package policy

import (
	"hash/maphash"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// memo is the rules about calls of one tool by one caller: with it, a call needs one look-up
// instead of one for the caller, the tool, its servers and the rules about each.
//
// A memo has no outcome of a rule that reads the context of a request, except with all that the
// rule reads (see settlement): the others are evaluated for each call. It exists only if no rule
// about the servers of the tool reads the context or forbids, so that use decides alone. It
// belongs to a view, thus to one policy and one catalog, and is dropped with either. A caller
// with another token, or another set of groups, is another Principal.
type memo struct {
	use  *candidates
	rest *candidates // use without the rules that are settled at these surroundings

	at surroundings // of uses

	// A call that does not meet test, which reads the arguments with these names, is allowed by rule,
	// unless rule is empty. These fields are together because a request finds them in no cache.
	uses       attributes
	caller     *mcp.Principal
	tool       string
	rule, item string
	arguments  []string
	test       test
	room       struct { // of most memos
		arguments [1]string
		code      [2]instruction
	}
}

// newMemo returns the memo for the surroundings of a call.
func newMemo(s *Set, p *mcp.Principal, tool string, use *candidates, now *Situation) *memo {
	timed := now.timed()
	m := &memo{
		caller: p,
		tool:   tool,
		uses:   use.settling.uses,
		at:     use.settling.surroundings(&timed),
		use:    use,
		rest:   use.settle(s, &timed),
	}
	d := &m.rest.decided
	if d.Effect != Allow || len(d.Errors) > 0 {
		return m
	}
	var tests []*test
	for _, r := range slices.Concat(m.rest.forbids, m.rest.permits) {
		if r.program.test == nil {
			return m
		}
		tests = append(tests, r.program.test)
	}
	m.test = anyOf(tests, m.rest.reads.arguments, m.room.code[:0])
	m.arguments = m.room.arguments[:0]
	for _, a := range m.rest.reads.arguments {
		m.arguments = append(m.arguments, a.name)
	}
	m.rule, m.item = d.RuleID(), d.ItemID
	return m
}

// meets reports whether the memo is for the surroundings of a call.
func (m *memo) meets(now *Situation) bool { return m.at.meets(m.uses, now) }

// allows reports whether a call is allowed because it meets none of the open rules.
func (m *memo) allows(now *Situation) bool {
	if m.rule == "" || !m.meets(now) {
		return false
	}
	g := given{
		raw:   now.Arguments,
		index: now.Index,
	}
	for i, name := range m.arguments {
		if !g.find(i, name) {
			return false
		}
	}
	applies, sure := m.test.decide(&g)
	return !applies && sure
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

// memoSeed is that of the hashes of tools.
var memoSeed = maphash.MakeSeed()

// row returns the row of a caller, whose address is spread over the rows.
func (m *memos) row(p *mcp.Principal) *atomic.Pointer[memoRow] {
	const spread = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return &m[uint64(reflect.ValueOf(p).Pointer())*spread>>32%memoRows]
}

// place returns the place of a tool.
func (r *memoRow) place(tool string) *atomic.Pointer[memo] {
	return &r[maphash.String(memoSeed, tool)%memoColumns]
}

// find returns the memo of calls of a tool, or nil.
func (m *memos) find(p *mcp.Principal, tool string) *memo {
	row := m.row(p).Load()
	if row == nil {
		return nil
	}
	found := row.place(tool).Load()
	if found == nil || found.caller != p || found.tool != tool {
		return nil
	}
	return found
}

// add adds a memo.
func (m *memos) add(made *memo) {
	row := m.row(made.caller)
	if row.Load() == nil {
		row.CompareAndSwap(nil, &memoRow{})
	}
	if r := row.Load(); r != nil {
		r.place(made.tool).Store(made)
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
func (s *state) memorize(v *view, who *subject, what *object, tool string, now *Situation) {
	for _, server := range what.servers {
		c := s.candidates(who, Connect, server)
		if c.open() || c.decided.forbids() {
			return
		}
	}
	v.memos.add(newMemo(s.set, who.principal, tool, s.candidates(who, Call, what), now))
}
