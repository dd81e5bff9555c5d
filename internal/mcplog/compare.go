package mcplog

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
)

// Difference is a value that differs between two JSON texts. A missing one is nil.
type Difference struct {
	// Pointer is the place of the value, Before the first one, such as the recorded one, and
	// After the second one. Either is nil if it does not exist.
	Pointer string          `json:"pointer"`
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// Compare returns the first 100 values that differ between two JSON texts. The order of the
// members of an object does not count, everything else does. The error is that of a text
// that is not valid JSON.
func Compare(before, after []byte) ([]Difference, error) {
	return new(comparison).run(before, after)
}

// CompareMessages is [Compare] for JSON-RPC messages. It ignores _meta, except in data of tools,
// and compares the entries of the lists of tools, prompts, resources and templates by name.
func CompareMessages(before, after []byte) ([]Difference, error) {
	c := &comparison{ignoreMeta: true}
	for _, member := range lists {
		c.lists = append(c.lists, "/result/"+member)
	}
	return c.run(before, after)
}

// maxDifferences is how many differences of two texts are reported.
const maxDifferences = 100

// comparison compares two JSON values.
type comparison struct {
	// lists are the pointers of the arrays whose entries are compared by name.
	lists []string
	// ignoreMeta skips the members _meta of the protocol.
	ignoreMeta bool
	// redacted lets [redacted] in the first value stand for any text of the second, and for any
	// value if it is the whole text. Where such values differ, the second is not shown, because
	// it may contain the secret.
	redacted bool
	// found are the differences so far, at most maxDifferences.
	found []Difference
}

func (c *comparison) run(before, after []byte) ([]Difference, error) {
	a, errA := decode(before)
	b, errB := decode(after)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	c.values("", a, b)
	return c.found, nil
}

func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// encode returns a decoded value as JSON.
func encode(value any) json.RawMessage {
	text, _ := mcp.Marshal(value) // decoded JSON can be encoded
	return text
}

// values adds the differences below a pointer.
func (c *comparison) values(pointer string, a, b any) {
	if c.full() {
		return
	}
	switch one := a.(type) {
	case map[string]any:
		if two, ok := b.(map[string]any); ok {
			c.objects(pointer, one, two)
			return
		}
	case []any:
		two, ok := b.([]any)
		if ok && slices.Contains(c.lists, pointer) && named(one) && named(two) {
			c.entries(pointer, one, two)
			return
		}
		if ok {
			c.elements(pointer, one, two)
			return
		}
	}
	before := encode(a)
	after := encode(b)
	if !bytes.Equal(before, after) && !(c.redacted && standsFor(a, b)) {
		c.add(pointer, before, after)
	}
}

// standsFor reports whether a value with [redacted] may have been b.
func standsFor(a, b any) bool {
	pattern, ok := a.(string)
	if !ok || !strings.Contains(pattern, secrets.Redacted) {
		return false
	}
	if pattern == secrets.Redacted {
		return true
	}
	text, ok := b.(string)
	if !ok {
		return false
	}
	parts := strings.Split(pattern, secrets.Redacted)
	text, ok = strings.CutPrefix(text, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		text = after
		ok = ok && found
	}
	return ok && strings.HasSuffix(text, parts[len(parts)-1])
}

// add adds a difference. A nil text means that the value is missing.
func (c *comparison) add(pointer string, before, after json.RawMessage) {
	if c.redacted && after != nil && bytes.Contains(before, []byte(secrets.Redacted)) {
		after = encode(secrets.Redacted)
	}
	if !c.full() {
		c.found = append(c.found, Difference{
			Pointer: pointer,
			Before:  before,
			After:   after,
		})
	}
}

// full reports whether no more differences are reported.
func (c *comparison) full() bool { return len(c.found) == maxDifferences }

// elements compares two arrays by position. Each additional element of one is a difference.
func (c *comparison) elements(pointer string, one, two []any) {
	for i := range max(len(one), len(two)) {
		if c.full() { // before the search of mayBeRedacted, which takes time for each element
			return
		}
		at := pointer + "/" + strconv.Itoa(i)
		switch {
		case i >= len(two):
			c.add(at, encode(one[i]), nil)
		case i < len(one):
			c.values(at, one[i], two[i])
		case c.redacted && mayBeRedacted(one, two[i]): // elements may have moved
			c.add(at, nil, encode(secrets.Redacted))
		default:
			c.add(at, nil, encode(two[i]))
		}
	}
}

// mayBeRedacted reports whether a text with [redacted] in recorded stands for a text in value.
func mayBeRedacted(recorded, value any) bool {
	values := texts(nil, value)
	for _, pattern := range texts(nil, recorded) {
		for _, text := range values {
			if standsFor(pattern, text) {
				return true
			}
		}
	}
	return false
}

// texts appends the strings in a decoded value, and the names of members.
func texts(list []string, value any) []string {
	switch v := value.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, element := range v {
			list = texts(list, element)
		}
	case map[string]any:
		for name, member := range v {
			list = texts(append(list, name), member)
		}
	}
	return list
}

// data are the members whose values belong to the server and its tools, not to the protocol:
// a _meta in them is a member like any other.
var data = []string{"structuredContent", "inputSchema", "outputSchema", "requestedSchema", "arguments", "data"}

// objects compares two objects.
func (c *comparison) objects(pointer string, one, two map[string]any) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(one)), maps.Keys(two))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if c.ignoreMeta && name == "_meta" {
			continue
		}
		at := pointer + "/" + jsonscan.EscapeToken(name)
		a, inOne := one[name]
		b, inTwo := two[name]
		switch {
		case !inOne:
			c.add(at, nil, encode(b))
		case !inTwo:
			c.add(at, encode(a), nil)
		default:
			outer := c.ignoreMeta
			c.ignoreMeta = outer && !slices.Contains(data, name)
			c.values(at, a, b)
			c.ignoreMeta = outer
		}
	}
}

// nameOf returns what identifies an entry of a list, or "".
func nameOf(element any) string {
	object, _ := element.(map[string]any)
	for _, member := range []string{"uri", "uriTemplate", "name"} {
		if s, ok := object[member].(string); ok {
			return member + " " + s
		}
	}
	return ""
}

// named reports whether all elements of an array are entries with names.
func named(elements []any) bool {
	return !slices.ContainsFunc(elements, func(e any) bool { return nameOf(e) == "" })
}

// entries compares two lists by name, so that an additional entry is one difference. The
// order does not count. Entries with the same name are compared in order. The pointers of
// removed entries are those of the first list, all others those of the second.
func (c *comparison) entries(pointer string, one, two []any) {
	before := make(map[string][]int) // the indexes in one that have no counterpart yet
	for i, e := range one {
		before[nameOf(e)] = append(before[nameOf(e)], i)
	}
	kept := make([]bool, len(one))
	for i, e := range two {
		if c.full() {
			return
		}
		at := pointer + "/" + strconv.Itoa(i)
		same := before[nameOf(e)]
		if len(same) == 0 {
			c.add(at, nil, encode(e))
			continue
		}
		before[nameOf(e)] = same[1:]
		kept[same[0]] = true
		c.values(at, one[same[0]], e)
	}
	for i, e := range one {
		if !kept[i] && !c.full() {
			c.add(pointer+"/"+strconv.Itoa(i), encode(e), nil)
		}
	}
}
