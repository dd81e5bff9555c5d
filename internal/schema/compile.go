package schema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/decimal"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// CompileError is the reason why a schema does not compile.
type CompileError struct {
	// Pointer is the JSON Pointer (RFC 6901) to the keyword or schema.
	Pointer string
	// Message says what the compiler wants there and what it got.
	Message string
}

// Error returns the pointer and the message.
func (e *CompileError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

// Compile compiles a JSON text into a Schema. The Schema keeps references to raw, which
// must not be modified afterwards. The error is a [*CompileError]; if it is not nil, the
// Schema is.
//
// Compile rejects:
//
//   - anything that is not a schema, such as an unknown type or an item count that is not
//     a number
//   - a dialect other than 2020-12 and draft-07
//   - a repeated keyword
//   - a reference that leaves the schema, has no target, or refers back to itself
//   - $dynamicRef
//   - a schema that exceeds the limits
//
// Unknown keywords are ignored.
func Compile(raw []byte) (*Schema, error) {
	c := compiler{
		raw:   raw,
		nodes: make(map[int]*node),
	}
	root, err := c.run()
	if err != nil {
		var e *CompileError
		if !errors.As(err, &e) {
			err = &CompileError{
				Pointer: c.pointer(),
				Message: err.Error(),
			}
		}
		return nil, err
	}
	return &Schema{
		root:  root,
		notes: c.notes,
	}, nil
}

// compiler holds the state of one compilation.
type compiler struct {
	// raw is the schema; draft07 selects the older dialect, and notes are the keywords
	// that are ignored.
	raw     []byte
	draft07 bool
	notes   []string

	path  []string      // current position, for messages
	nodes map[int]*node // by the offset of the schema in raw
	// count is the number of nodes compiled so far, and depth the nesting of the current one.
	// Both are limited, as is the work for patterns so far.
	count    int
	depth    int
	patterns int
	base     int                    // offset of the schema to which $ref is relative
	anchors  map[anchor]int         // to offsets
	ids      map[string]int         // absolute $id to offset
	uris     map[int]*url.URL       // offset to $id
	places   map[int]map[string]int // see within
	refs     []pendingRef           // to be resolved at the end
	edges    map[*node][]edge       // to nodes that apply to the same value
	applying []*node                // the keys of edges, in order
}

// anchor is the key of a name that a $ref can have as its fragment.
type anchor struct {
	// base is the offset of the schema that the name belongs to.
	base int
	name string
}

// run compiles the schema, with a limit for every dimension of it.
func (c *compiler) run() (*node, error) {
	if len(c.raw) > MaxBytes {
		return nil, fmt.Errorf("longer than %d bytes", MaxBytes)
	}
	if err := jsonscan.Valid(c.raw); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	start := jsonscan.Space(c.raw, 0)
	if err := c.dialect(start); err != nil {
		return nil, err
	}
	c.base = start
	root, err := c.schema(start)
	if err != nil {
		return nil, err
	}
	if err := c.resolveRefs(); err != nil {
		return nil, err
	}
	if err := c.findLoops(); err != nil {
		return nil, err
	}
	if len(c.notes) > 0 {
		c.markUnsure()
	}
	return root, nil
}

// dialects reports whether a $schema is known, and whether it is draft-07.
func dialects(uri string) (draft07, known bool) {
	uri = strings.TrimSuffix(uri, "#")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://")
	switch uri {
	case "json-schema.org/draft/2020-12/schema":
		return false, true
	case "json-schema.org/draft-07/schema":
		return true, true
	}
	return false, false
}

// dialect determines the dialect of the schema at i. This comes first because other
// keywords depend on it.
func (c *compiler) dialect(i int) error {
	at, ok := c.memberAt(i, "$schema")
	if !ok {
		return nil
	}
	return c.at("$schema", func() error {
		uri, err := c.string(at)
		if err != nil {
			return err
		}
		draft07, known := dialects(uri)
		if !known {
			return fmt.Errorf("unsupported dialect %s, want 2020-12 or draft-07", Quote(uri))
		}
		c.draft07 = draft07
		return nil
	})
}

// at runs f with step added to the path. An error gets the path at which it occurred.
func (c *compiler) at(step string, f func() error) error {
	c.path = append(c.path, step)
	err := f()
	if err != nil {
		var e *CompileError
		if !errors.As(err, &e) {
			err = &CompileError{
				Pointer: c.pointer(),
				Message: err.Error(),
			}
		}
	}
	c.path = c.path[:len(c.path)-1]
	return err
}

// pointer returns the current position as a JSON Pointer.
func (c *compiler) pointer() string {
	var b strings.Builder
	for _, step := range c.path {
		b.WriteByte('/')
		b.WriteString(jsonscan.EscapeToken(step))
	}
	return b.String()
}

// schema compiles the schema that begins at raw[i].
func (c *compiler) schema(i int) (*node, error) {
	if n, ok := c.nodes[i]; ok {
		return n, nil
	}
	if c.count++; c.count > MaxSubschemas {
		return nil, fmt.Errorf("more than %d subschemas", MaxSubschemas)
	}
	n := new(node)
	c.nodes[i] = n
	switch c.raw[i] {
	case 't':
		return n, nil
	case 'f':
		n.never = true
		return n, nil
	case '{':
	default:
		return nil, fmt.Errorf("want a schema, got %s", c.got(i))
	}
	if c.depth++; c.depth > MaxDepth {
		return nil, fmt.Errorf("schemas are nested more than %d deep", MaxDepth)
	}
	base := c.base
	err := c.keywords(n, i)
	c.base = base
	c.depth--
	return n, err
}

// keyword is a member of a schema object.
type keyword struct {
	name string
	at   int // offset of its value
}

// find returns the offset of the value of the first keyword of that name.
func find(keywords []keyword, name string) (at int, ok bool) {
	for _, k := range keywords {
		if k.name == name {
			return k.at, true
		}
	}
	return 0, false
}

// keywords compiles the schema object at i into n.
func (c *compiler) keywords(n *node, i int) error {
	keywords, err := c.members(i)
	if err != nil {
		return err
	}
	if _, ok := find(keywords, "$ref"); ok && c.draft07 {
		// In draft-07, $ref disables all keywords next to it except containers of schemas.
		keywords = slices.DeleteFunc(keywords, func(k keyword) bool {
			return k.name != "$ref" && k.name != "definitions" && k.name != "$defs"
		})
	}
	if err := c.identify(keywords, i); err != nil {
		return err
	}
	for _, k := range keywords {
		if err := c.at(k.name, func() error {
			return c.keyword(n, k.name, k.at)
		}); err != nil {
			return err
		}
	}
	o := n.object
	if o != nil && len(o.names) <= 8 {
		o.index = nil // comparing a few is faster
	}
	return nil
}

// members returns the members of the object at i, and rejects repeated ones.
func (c *compiler) members(i int) ([]keyword, error) {
	if c.raw[i] != '{' {
		return nil, fmt.Errorf("want an object, got %s", c.got(i))
	}
	var all []keyword
	seen := make(map[string]struct{})
	_, err := jsonscan.Object(c.raw, i, 0, func(key []byte, at int) (int, error) {
		name := string(key)
		if _, ok := seen[name]; ok {
			return at, c.at(name, func() error { return errors.New("given twice") })
		}
		seen[name] = struct{}{}
		all = append(all, keyword{name, at})
		return jsonscan.Value(c.raw, at)
	})
	return all, err
}

// eachMember calls f for each member of the object at i.
func (c *compiler) eachMember(i int, f func(name string, at int) error) error {
	members, err := c.members(i)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := c.at(m.name, func() error {
			return f(m.name, m.at)
		}); err != nil {
			return err
		}
	}
	return nil
}

// eachItem calls f for each item of the array at i.
func (c *compiler) eachItem(i int, f func(at int) error) error {
	if c.raw[i] != '[' {
		return fmt.Errorf("want an array, got %s", c.got(i))
	}
	n := 0
	_, err := jsonscan.Array(c.raw, i, 0, func(at int) (int, error) {
		at = jsonscan.Space(c.raw, at)
		if err := c.at(strconv.Itoa(n), func() error {
			return f(at)
		}); err != nil {
			return at, err
		}
		n++
		return jsonscan.Value(c.raw, at)
	})
	return err
}

// memberAt returns the offset of the value of the member key in the value at i.
func (c *compiler) memberAt(i int, key string) (at int, ok bool) {
	if c.raw[i] != '{' {
		return 0, false
	}
	_, _ = jsonscan.Object(c.raw, i, 0, func(k []byte, v int) (int, error) {
		if !ok && string(k) == key {
			at = v
			ok = true
		}
		return jsonscan.Value(c.raw, v)
	})
	return at, ok
}

// token returns the JSON value that begins at offset i of the schema.
func (c *compiler) token(i int) []byte {
	end, err := jsonscan.Value(c.raw, i)
	if err != nil {
		return nil // raw is known to be valid
	}
	return c.raw[i:end]
}

// got describes the value at i for the second half of a message such as "want a string".
func (c *compiler) got(i int) string { return Describe(c.token(i)) }

// string returns the string at i, decoded. Any other value is an error.
func (c *compiler) string(i int) (string, error) {
	s, ok := jsonscan.Unquote(c.token(i))
	if !ok {
		return "", fmt.Errorf("want a string, got %s", c.got(i))
	}
	return s, nil
}

// strings decodes an array of strings.
func (c *compiler) strings(i int) ([]string, error) {
	var all []string
	err := c.eachItem(i, func(at int) error {
		s, err := c.string(at)
		all = append(all, s)
		return err
	})
	return all, err
}

// number returns the number at i with all its digits. A float64 would lose some, and a bound
// would then accept a value that it excludes.
func (c *compiler) number(i int) (decimal.Number, error) {
	if kindOf(c.raw[i]) != kindNumber {
		return decimal.Number{}, fmt.Errorf("want a number, got %s", c.got(i))
	}
	return decimal.Parse(c.token(i)), nil
}

// maxCount replaces every larger count: no text reaches it.
const maxCount = 1 << 30

// size parses a non-negative integer.
func (c *compiler) size(i int, to *int) error {
	d, err := c.number(i)
	if err != nil {
		return err
	}
	if !d.Integer() || d.Sign() < 0 {
		return fmt.Errorf("want a whole number that is not negative, got %s", c.got(i))
	}
	*to = d.Int(maxCount)
	return nil
}

// schemas compiles a non-empty array of schemas.
func (c *compiler) schemas(i int) ([]*node, error) {
	var all []*node
	err := c.eachItem(i, func(at int) error {
		n, err := c.schema(at)
		all = append(all, n)
		return err
	})
	if err == nil && len(all) == 0 {
		return nil, errors.New("want at least one schema")
	}
	return all, err
}

// note records that something at the current position is not checked. Such notes become the
// notes of the [Schema].
func (c *compiler) note(format string, args ...any) {
	c.notes = append(c.notes, c.pointer()+": "+fmt.Sprintf(format, args...))
}
