package policy

import (
	"bytes"
	"compress/flate"
	"hash/maphash"
	"io"
	"math/bits"
	"slices"
	"sync"
	"weak"

	"github.com/cedar-policy/cedar-go"
	publicast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// ruleText is the rules of one file, or those of the tool scopes: compressed text, of which a rule is
// read when a request needs it, and an index.
//
// It is small, and has no pointers for each rule, because garbage collections make each request pay
// for memory that is kept: they mark what pointers lead to, and a heap of less than 4 MB is collected
// when it has grown to 4 MB. Of a server that needs 1 MB, 10,000 rules in 1.5 MB took away half of
// what it may allocate until then; now they need 0.2 MB in a few objects.
type ruleText struct {
	file   string
	packed []byte // the texts of all blocks
	blocks []block
	starts []start // of each rule
	index  ruleIndex
	// arguments are those that the rules of the Set read.
	arguments *argument

	mu sync.Mutex
	// made are the rules that a request has needed, by their position. Those without a text are
	// there from the start.
	made map[int]*Rule
	// last is the block that was unpacked last, until the next garbage collection.
	last weak.Pointer[unpacked]
}

// block is the compressed text of successive rules. It ends with the first rule that exceeds
// blockBytes.
type block struct {
	rule  int // the position of the first one
	line  int // on which it begins
	begin int // in the texts of all blocks
}

// unpacked is the text of a block.
type unpacked struct {
	block int
	text  []byte
}

const blockBytes = 8 << 10

// start is where a rule begins in the text of its block, times two, plus one for a forbid.
type start uint16

func (s start) offset() int  { return int(s >> 1) }
func (s start) forbid() bool { return s&1 != 0 }

// packer compresses the texts of rules into blocks.
type packer struct {
	of     *ruleText
	text   string
	zip    *flate.Writer
	packed bytes.Buffer
	at     int // the offset of the block in the text
}

// add adds a rule that begins at an offset of the text and on a line.
func (p *packer) add(offset, line int, forbid bool) {
	t := p.of
	if len(t.blocks) == 0 || offset-p.at > blockBytes {
		p.end(offset)
		p.at = offset
		t.blocks = append(t.blocks, block{
			rule:  len(t.starts),
			line:  line,
			begin: p.packed.Len(),
		})
	}
	at := start(offset-p.at) << 1
	if forbid {
		at |= 1
	}
	t.starts = append(t.starts, at)
}

// end ends the last block at an offset of the text.
func (p *packer) end(offset int) {
	if len(p.of.blocks) == 0 {
		return
	}
	if p.zip == nil {
		p.zip, _ = flate.NewWriter(nil, flate.BestCompression) // fails only for an unknown level
	}
	p.zip.Reset(&p.packed)
	_, _ = io.WriteString(p.zip, p.text[p.at:offset]) // a buffer takes everything
	_ = p.zip.Close()
}

// finish ends the text. What is kept has no room to grow.
func (p *packer) finish() {
	p.end(len(p.text))
	t := p.of
	t.packed = bytes.Clone(p.packed.Bytes())
	t.blocks = slices.Clone(t.blocks)
	t.starts = slices.Clone(t.starts)
}

// rule returns the rule at a position.
func (t *ruleText) rule(i int) *Rule {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.made[i]
	if r == nil {
		r = t.readLocked(i)
		t.made[i] = r // a rule is one object
	}
	return r
}

// readLocked reads the rule at a position.
func (t *ruleText) readLocked(i int) *Rule {
	text, line, err := t.textLocked(i)
	var r *Rule
	if err == nil {
		p := &cedar.Policy{}
		if err = p.UnmarshalCedar(text); err == nil {
			if r, err = newRule(p, line, inFile); err == nil && r.readsContext() {
				r.program.test = testOf((*ast.Policy)(p.AST()), t.arguments)
			}
		}
	}
	if err != nil { // cannot be: the text was read before
		r = &Rule{
			ID:      idOf(line),
			Line:    line,
			Forbid:  t.starts[i].forbid(),
			uses:    &usage{},
			program: &program{policy: unevaluable()},
			broken:  true,
		}
	}
	r.File = t.file
	r.index = i // texts that are not the first of a Set have no rules to read
	return r
}

// textLocked returns the text of the rule at a position, and its line.
func (t *ruleText) textLocked(i int) (text []byte, line int, err error) {
	n, found := slices.BinarySearchFunc(t.blocks, i, func(b block, i int) int { return b.rule - i })
	if !found {
		n--
	}
	b := &t.blocks[n]
	last := t.last.Value()
	if last == nil || last.block != n {
		last = &unpacked{block: n}
		if last.text, err = t.unpack(n); err != nil {
			return nil, b.line, err
		}
		t.last = weak.Make(last)
	}
	begin, end := t.starts[i].offset(), len(last.text)
	if next := i + 1; next < len(t.starts) && (n+1 == len(t.blocks) || next < t.blocks[n+1].rule) {
		end = t.starts[next].offset()
	}
	return last.text[begin:end], b.line + bytes.Count(last.text[:begin], []byte{'\n'}), nil
}

// unpackers has readers of compressed text, which need 40 KB each.
var unpackers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// unpack returns the text of a block.
func (t *ruleText) unpack(n int) ([]byte, error) {
	packed := t.packed[t.blocks[n].begin:]
	if n+1 < len(t.blocks) {
		packed = t.packed[t.blocks[n].begin:t.blocks[n+1].begin]
	}
	r := unpackers.Get().(io.Reader)
	defer unpackers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.Grow(2 * blockBytes)
	_, err := text.ReadFrom(r)
	return text.Bytes(), err
}

// unevaluable returns a rule that fails for each request: a permit then permits nothing, and a forbid
// denies.
func unevaluable() *cedar.Policy {
	return cedar.NewPolicyFromAST(publicast.Permit().When(publicast.Context().Access("unevaluable")))
}

// find calls found with the rules that have a key, whose hash is also given.
func (t *ruleText) find(key ruleKey, hash uint64, found func(*Rule)) {
	last := -1 // a rule may be there for several actions
	for _, e := range t.index.bucket(hash) {
		if i := e.rule(); e.tag() == tagOf(hash) && i != last {
			last = i
			if r := t.rule(i); r.has(key) {
				found(r)
			}
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

// ruleIndex finds rules by the hash of a [ruleKey]. It may find others with a part of the hash in
// common.
type ruleIndex struct {
	entries []entry
	ends    []uint32 // of each bucket among entries; their number is a power of two
}

// entry is 16 bits of a hash and the position of a rule.
type entry uint32

func (e entry) rule() int   { return int(uint16(e)) }
func (e entry) tag() uint16 { return uint16(e >> 16) }

// tagOf returns the part of a hash that an entry has. The bucket is chosen by others.
func tagOf(hash uint64) uint16 { return uint16(hash >> 48) }

// indexed is a rule by one of its keys.
type indexed struct {
	hash uint64 // of the key
	rule int    // its position
}

// appendKeys appends the keys of a rule at a position.
func (r *Rule) appendKeys(keys []indexed, position int) []indexed {
	principal, resource := hashOf(scopeOf(r.principal)), hashOf(scopeOf(r.resource))
	for _, a := range allActions() {
		if r.actions.has(a) {
			keys = append(keys, indexed{keyHash(a, principal, resource), position})
		}
	}
	return keys
}

// newRuleIndex returns the index of rules in the order of the file.
func newRuleIndex(keys []indexed) (x ruleIndex) {
	x.entries = make([]entry, len(keys))
	x.ends = make([]uint32, 1<<bits.Len(uint(len(keys)/4)))
	for _, k := range keys {
		x.ends[x.number(k.hash)]++
	}
	begin := uint32(0)
	for n, length := range x.ends {
		x.ends[n] = begin
		begin += length
	}
	for _, k := range keys {
		end := &x.ends[x.number(k.hash)]
		x.entries[*end] = entry(tagOf(k.hash))<<16 | entry(k.rule)
		*end++
	}
	return x
}

// number returns the number of the bucket of a hash.
func (x *ruleIndex) number(hash uint64) int { return int(hash & uint64(len(x.ends)-1)) }

// bucket returns the entries that may have a hash.
func (x *ruleIndex) bucket(hash uint64) []entry {
	n := x.number(hash)
	begin := uint32(0)
	if n > 0 {
		begin = x.ends[n-1]
	}
	return x.entries[begin:x.ends[n]]
}

// keySeed keeps the authors of rules from choosing names with the same hash.
var keySeed = maphash.MakeSeed()

func hashOf(uid types.EntityUID) uint64 { return maphash.Comparable(keySeed, uid) }

// keyHash returns the hash of a [ruleKey], of whose entities it gets the hashes.
func keyHash(a Action, principal, resource uint64) uint64 {
	high, low := bits.Mul64(principal^(uint64(a)+1)*0x9e3779b97f4a7c15, resource|1)
	return high ^ low ^ bits.RotateLeft64(resource, 31)
}
