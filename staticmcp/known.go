package staticmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// storedCall is a call with a stored answer: its arguments as the caller wrote them, not
// as file names.
type storedCall []storedArgument

type storedArgument struct{ name, text string }

// text returns the text of an argument.
func (c storedCall) text(name string) (string, bool) {
	for _, a := range c {
		if a.name == name {
			return a.text, true
		}
	}
	return "", false
}

// indexPart is the cached content of one file of the index. It is immutable.
type indexPart struct {
	calls  map[string][]storedCall // by tool
	shards []IndexShard
}

const (
	// indexWait bounds how long a miss waits for the index of a web host.
	indexWait = 5 * time.Second
	// indexPause is the time before an unreadable index is tried again.
	indexPause = time.Minute
	// shardsAround is how many shards of an index are read on each side of the one that
	// would contain the missing file.
	shardsAround = 1
)

// indexPart returns the cached part of the index at path, or nil. After a failure it is
// not read again for indexPause: a miss must not cost more than a hit.
func (s *Site) indexPart(ctx context.Context, path string) *indexPart {
	key := "\x00calls\x00" + path
	i := lookup(s.cache, key)
	if i == nil || !i.fresh(time.Now()) {
		bounded, cancel := context.WithTimeout(ctx, indexWait)
		defer cancel()
		var err error
		if i, err = s.load(bounded, key, path, s.opts.MaxFileBytes, s.asIndexPart); err != nil {
			if ctx.Err() == nil {
				failed := &item{
					key:   key,
					value: err,
				}
				failed.freshUntil.Store(time.Now().Add(indexPause).UnixNano())
				s.cache.put(failed)
			}
			return nil
		}
	}
	part, _ := i.value.(*indexPart)
	return part
}

// asIndexPart parses a part of the index. It keeps as many calls as fit in a quarter of
// the cache.
func (s *Site) asIndexPart(path string, loaded *site.File) (any, int64, error) {
	index := &Index{}
	var err error
	if path == IndexPath {
		err = json.Unmarshal(loaded.Data, index)
	} else {
		err = json.Unmarshal(loaded.Data, &index.Files)
	}
	switch {
	case err != nil && len(loaded.Data) > 0 && loaded.Data[0] == '<':
		return nil, 0, site.ErrMissing // a web page
	case err != nil:
		return nil, 0, errors.New("the index is malformed")
	case path == IndexPath && index.Format != 1:
		return nil, 0, site.ErrMissing
	}
	part := &indexPart{calls: make(map[string][]storedCall)}
	limit := s.opts.CacheBytes / 4
	var size int64
	for _, shard := range index.Shards {
		inside := strings.HasPrefix(shard.Path, ".staticmcp/index/") &&
			site.IsSafePath(shard.Path)
		if size += int64(len(shard.Path)+len(shard.First)) + 64; inside && size <= limit {
			part.shards = append(part.shards, shard)
		}
	}
	for i := range index.Files {
		e := &index.Files[i]
		if e.Tool == "" || e.Alias || len(e.Arguments) == 0 || e.Arguments[0] != '{' {
			continue
		}
		call, n := newStoredCall(e.Arguments)
		if size += n; size > limit {
			break
		}
		part.calls[e.Tool] = append(part.calls[e.Tool], call)
	}
	return part, size, nil
}

// newStoredCall reads the arguments of a call, and returns about how much memory they
// take.
func newStoredCall(arguments []byte) (storedCall, int64) {
	size := int64(64)
	var call storedCall
	for _, m := range jsonscan.Members(arguments) {
		a := storedArgument{strings.Clone(m.Name), strings.Clone(plainText(m.Value))}
		size += int64(len(a.name)+len(a.text)) + 64
		call = append(call, a)
	}
	return call, size
}

// storedCalls returns the calls of t that have an answer according to the index: all of
// them or, for a large site, those whose files sort near path.
func (s *Site) storedCalls(ctx context.Context, t *tool, path string) []storedCall {
	head := s.indexPart(ctx, IndexPath)
	if head == nil || len(head.shards) == 0 {
		if head == nil {
			return nil
		}
		return head.calls[t.name]
	}
	at, exact := slices.BinarySearchFunc(head.shards, path, func(shard IndexShard, path string) int {
		return strings.Compare(shard.First, path)
	})
	if !exact {
		at--
	}
	var calls []storedCall
	for i := max(0, at-shardsAround); i < min(len(head.shards), at+shardsAround+1); i++ {
		if part := s.indexPart(ctx, head.shards[i].Path); part != nil {
			calls = append(calls, part.calls[t.name]...)
		}
	}
	return calls
}

// missingIndexed describes the first argument of a call for which the index has no
// answer, and the values that have one. It returns "" if the index does not contain that
// information.
func (s *Site) missingIndexed(ctx context.Context, t *tool, p *plan) string {
	if len(p.candidates) == 0 || len(p.values) == 0 {
		return ""
	}
	calls := s.storedCalls(ctx, t, p.candidates[0].Path)
	for _, v := range p.values {
		name := t.params[v.param].name
		want := plainText(v.raw)
		matching := slices.DeleteFunc(slices.Clone(calls), func(c storedCall) bool {
			text, ok := c.text(name)
			return !ok || text != want
		})
		if len(matching) == 0 {
			if t.page != nil && t.page.param == v.param {
				want = t.page.spelling(want)
			}
			return describeKnown(name, want, distinctTexts(calls, name))
		}
		calls = matching
	}
	for i := range t.params {
		given := slices.ContainsFunc(p.values, func(v value) bool {
			return v.param == i
		})
		if given {
			continue
		}
		known := describeKnown(t.params[i].name, "", distinctTexts(calls, t.params[i].name))
		if known != "" {
			return known
		}
	}
	return ""
}

// distinctTexts returns the values of an argument, sorted, each once.
func distinctTexts(calls []storedCall, name string) []string {
	var texts []string
	for _, c := range calls {
		if text, ok := c.text(name); ok {
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// describeKnown lists the values near want and some of the others, nearest first. known
// is sorted.
func describeKnown(name, want string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	var b strings.Builder
	near := nearNames(want, known)
	if len(near) > 0 {
		fmt.Fprintf(&b, " Did you mean %s?", site.Alternatives(near))
	}
	listed := rankKnown(want, near, known)
	for i, text := range listed {
		listed[i] = plainShown(text)
	}
	fmt.Fprintf(&b, " Values of %s with an answer: %s", name, strings.Join(listed, ", "))
	if more := len(known) - len(listed); more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	b.WriteByte('.')
	return b.String()
}

// rankKnown returns at most maxKnown of the values: near ones, then those that contain
// the last part of want, then those that begin like it.
func rankKnown(want string, near, known []string) []string {
	type ranked struct {
		score int
		text  string
	}
	want = strings.ToLower(want)
	last := want[strings.LastIndexByte(want, '/')+1:]
	var best []ranked
	for _, text := range known {
		lower := strings.ToLower(text)
		score := commonPrefix(want, lower)
		if len(last) >= 3 && strings.Contains(lower, last) {
			score += site.MaxText
		}
		if i := slices.Index(near, text); i >= 0 {
			score += 2*site.MaxText + len(near) - i
		}
		if len(best) == site.MaxKnown && score <= best[site.MaxKnown-1].score {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, score, func(r ranked, score int) int {
			if r.score >= score {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, at, ranked{score, text})
		best = best[:min(len(best), site.MaxKnown)]
	}
	texts := make([]string, len(best))
	for i, r := range best {
		texts[i] = r.text
	}
	return texts
}

// commonPrefix returns the number of bytes that two texts have in common.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// plainShown returns a value as a message shows it: unquoted, or quoted if it would not
// be read as a single value.
func plainShown(text string) string {
	text = site.Shorten(text)
	unclear := func(r rune) bool {
		return r == ',' || r == '"' || !unicode.IsGraphic(r)
	}
	if text == "" || strings.TrimSpace(text) != text ||
		strings.ContainsFunc(text, unclear) {
		return strconv.Quote(text)
	}
	return text
}
