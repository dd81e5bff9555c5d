package policy

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"

	"github.com/cedar-policy/cedar-go"
	publicast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
)

// ruleText is the rules of one file, or those of the tool scopes: text, of which a rule is read
// when a request needs it, and an index.
//
// Neither has pointers for each rule. Each garbage collection marks what pointers lead to, and it
// comes after a certain number of requests, so that the rules would cost each request something:
// 1 µs with 10,000 rules as 90,000 objects.
type ruleText struct {
	file   string
	text   string
	places []place
	// made are the rules that a request has needed, by their position. Those without a text are
	// there from the start.
	made  []atomic.Pointer[Rule]
	first int // the index in the Set of the first rule

	// index has, by the hash of a ruleKey, which part of order has the positions of its rules,
	// and perhaps of others.
	index map[uint64]span
	order []uint32
}

// place is where a rule is in its file.
type place struct {
	begin, end, line uint32
	forbid           bool
}

type span struct{ begin, end uint32 }

// keySeed keeps the authors of rules from choosing names with the same hash.
var keySeed = maphash.MakeSeed()

func hashOf(uid types.EntityUID) uint64 { return maphash.Comparable(keySeed, uid) }

// keyHash returns the hash of a [ruleKey], of whose entities it gets the hashes.
func keyHash(a Action, principal, resource uint64) uint64 {
	high, low := bits.Mul64(principal^(uint64(a)+1)*0x9e3779b97f4a7c15, resource|1)
	return high ^ low ^ bits.RotateLeft64(resource, 31)
}

// setIndex makes the index of rules in the order of the file.
func (t *ruleText) setIndex(rules []*Rule) {
	lists := make(map[uint64][]uint32)
	for i, r := range rules {
		principal, resource := hashOf(scopeOf(r.principal)), hashOf(scopeOf(r.resource))
		for _, a := range allActions() {
			if !r.actions.has(a) {
				continue
			}
			hash := keyHash(a, principal, resource)
			if list := lists[hash]; len(list) == 0 || list[len(list)-1] != uint32(i) {
				lists[hash] = append(list, uint32(i))
			}
		}
	}
	t.index = make(map[uint64]span, len(lists))
	for hash, list := range lists {
		begin := len(t.order)
		t.order = append(t.order, list...)
		t.index[hash] = span{uint32(begin), uint32(len(t.order))}
	}
}

// rule returns the rule at a position.
func (t *ruleText) rule(i int) *Rule {
	if r := t.made[i].Load(); r != nil {
		return r
	}
	r := t.read(i)
	if !t.made[i].CompareAndSwap(nil, r) {
		return t.made[i].Load() // a rule is one object
	}
	return r
}

// read reads the rule at a position.
func (t *ruleText) read(i int) *Rule {
	at := t.places[i]
	p := &cedar.Policy{}
	err := p.UnmarshalCedar([]byte(t.text[at.begin:at.end]))
	var r *Rule
	if err == nil {
		r, err = newRule(p, int(at.line), inFile)
	}
	if err != nil { // cannot be: the text was read before
		r = &Rule{
			Line:    int(at.line),
			Forbid:  at.forbid,
			uses:    &usage{},
			program: &program{policy: unevaluable()},
			broken:  true,
		}
		r.ID = idOf(r.Line)
	}
	r.File = t.file
	r.index = t.first + i
	return r
}

// unevaluable returns a rule that fails for each request: a permit then permits nothing, and a forbid
// denies.
func unevaluable() *cedar.Policy {
	return cedar.NewPolicyFromAST(publicast.Permit().When(publicast.Context().Access("unevaluable")))
}

// find calls found with the rules that have a key, whose hash is also given.
func (t *ruleText) find(key ruleKey, hash uint64, found func(*Rule)) {
	at := t.index[hash]
	for _, i := range t.order[at.begin:at.end] {
		if r := t.rule(int(i)); r.has(key) {
			found(r)
		}
	}
}

// has reports whether the rule has a key.
func (r *Rule) has(key ruleKey) bool {
	if r.broken { // its scope is not known
		return true
	}
	return r.actions.has(key.action) && scopeOf(r.principal) == key.principal && scopeOf(r.resource) == key.resource
}
