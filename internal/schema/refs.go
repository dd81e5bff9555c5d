package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// pendingRef is a $ref whose target may not have been compiled yet.
type pendingRef struct {
	// from is the node with the $ref. text is its value, base the schema to which it is relative,
	// and path its position for messages.
	from *node
	text string
	base int
	path []string
}

// ref records a $ref, which resolveRefs connects when all schemas around it are compiled.
func (c *compiler) ref(n *node, i int) error {
	text, err := c.string(i)
	if err != nil {
		return err
	}
	c.refs = append(c.refs, pendingRef{
		from: n,
		text: text,
		base: c.base,
		path: slices.Clone(c.path),
	})
	return nil
}

// identify records the names that the schema object at i declares for itself.
func (c *compiler) identify(keywords []keyword, i int) error {
	if at, ok := find(keywords, "$id"); ok {
		if err := c.at("$id", func() error {
			return c.identifier(at, i)
		}); err != nil {
			return err
		}
	}
	if c.draft07 {
		return nil
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if at, ok := find(keywords, key); ok {
			if err := c.at(key, func() error {
				return c.anchor(at, i)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// identifier records the $id at the offset at, of the schema at i. References in that
// schema are relative to it.
func (c *compiler) identifier(at, i int) error {
	id, err := c.string(at)
	if err != nil {
		return err
	}
	if c.draft07 && strings.HasPrefix(id, "#") {
		c.name(id[1:], i)
		return nil
	}
	uri, err := c.resolve(c.base, id)
	if err != nil {
		return fmt.Errorf("%s is not a valid URI reference", Quote(id))
	}
	uri.Fragment = ""
	uri.RawFragment = ""
	if c.ids == nil {
		c.ids = make(map[string]int)
		c.uris = make(map[int]*url.URL)
	}
	c.base = i
	c.ids[uri.String()] = i
	c.uris[i] = uri
	return nil
}

// resolve resolves a URI reference in a schema with that base.
func (c *compiler) resolve(base int, reference string) (*url.URL, error) {
	uri, err := url.Parse(reference)
	if err == nil && c.uris[base] != nil {
		uri = c.uris[base].ResolveReference(uri)
	}
	return uri, err
}

// anchor gives the schema at i the name at at.
func (c *compiler) anchor(at, i int) error {
	text, err := c.string(at)
	if err == nil {
		c.name(text, i)
	}
	return err
}

// name makes the schema at i the target of the fragment text below the current base.
func (c *compiler) name(text string, i int) {
	if c.anchors == nil {
		c.anchors = make(map[anchor]int)
	}
	c.anchors[anchor{c.base, text}] = i
}

// resolveRefs connects all references to their targets. Compiling a target can add more
// references.
func (c *compiler) resolveRefs() error {
	for len(c.refs) > 0 {
		r := c.refs[0]
		c.refs = c.refs[1:]
		c.path = r.path
		target, err := c.target(r)
		if err != nil {
			return err
		}
		c.path = r.path
		r.from.applyRules().ref = target
		c.edge(r.from, target)
	}
	c.path = nil
	return nil
}

// target compiles the schema that r refers to, or returns the one compiled already. A schema
// outside the text is an error: nothing is ever fetched. It leaves c at the target.
func (c *compiler) target(r pendingRef) (*node, error) {
	uri, err := c.resolve(r.base, r.text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid URI reference", Quote(r.text))
	}
	base := r.base
	fragment := uri.Fragment
	if r.text != "" && r.text[0] != '#' {
		var ok bool
		uri.Fragment = ""
		uri.RawFragment = ""
		if base, ok = c.ids[uri.String()]; !ok {
			return nil, fmt.Errorf("%s points outside the schema and is not followed", Quote(r.text))
		}
	}
	place, ok := c.anchors[anchor{base, fragment}]
	if fragment == "" || fragment[0] == '/' {
		place, base, ok = c.follow(base, fragment)
	}
	if !ok {
		return nil, fmt.Errorf("%s does not exist", Quote(r.text))
	}
	c.base = base
	c.depth = 0
	if strings.HasPrefix(fragment, "/") {
		c.path = strings.Split(fragment, "/")[1:]
	}
	return c.schema(place)
}

// follow resolves a JSON Pointer relative to the schema at i. It also returns the base of
// the target, because a pointer can lead into a schema with its own $id.
func (c *compiler) follow(i int, pointer string) (place, base int, ok bool) {
	base = i
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = jsonscan.UnescapeToken(step)
		if i, ok = c.within(i)[step]; !ok {
			return 0, 0, false
		}
		if c.uris[i] != nil {
			base = i
		}
	}
	return i, base, true
}

// within returns the offsets of the members or items of the value at i. The result is
// cached, because many references lead through the same few values.
func (c *compiler) within(i int) map[string]int {
	if places, ok := c.places[i]; ok {
		return places
	}
	if c.places == nil {
		c.places = make(map[int]map[string]int)
	}
	places := make(map[string]int)
	c.places[i] = places
	switch c.raw[i] {
	case '{':
		_, _ = jsonscan.Object(c.raw, i, 0, func(key []byte, at int) (int, error) {
			places[string(key)] = at
			return jsonscan.Value(c.raw, at)
		})
	case '[':
		_, _ = jsonscan.Array(c.raw, i, 0, func(at int) (int, error) {
			places[strconv.Itoa(len(places))] = jsonscan.Space(c.raw, at)
			return jsonscan.Value(c.raw, at)
		})
	}
	return places
}

// edge is a node that applies to the same value as the node it belongs to.
type edge struct {
	to *node
	// pointer is the position of the keyword that connects the two, for messages.
	pointer string
}

// edge records that to applies to the same value as from. to may be nil, for a schema that
// accepts everything.
func (c *compiler) edge(from, to *node) {
	if to == nil {
		return
	}
	if c.edges == nil {
		c.edges = make(map[*node][]edge)
	}
	if len(c.edges[from]) == 0 {
		c.applying = append(c.applying, from)
	}
	c.edges[from] = append(c.edges[from], edge{to, c.pointer()})
}

// findLoops rejects schemas that apply themselves to the same value: validation would
// never end.
func (c *compiler) findLoops() error {
	done := make(map[*node]bool) // false while it is being visited
	for _, n := range c.applying {
		if err := c.visit(n, done); err != nil {
			return err
		}
	}
	return nil
}

// visit walks the edges of n depth first. A node that is reached while it is being visited
// closes a loop.
func (c *compiler) visit(n *node, done map[*node]bool) error {
	if done[n] {
		return nil
	}
	done[n] = false
	for _, e := range c.edges[n] {
		if finished, visited := done[e.to]; visited && !finished {
			return &CompileError{
				Pointer: e.pointer,
				Message: "refers to itself",
			}
		}
		if err := c.visit(e.to, done); err != nil {
			return err
		}
	}
	done[n] = true
	return nil
}

// markUnsure marks every node that leads to an unsure one.
func (c *compiler) markUnsure() {
	parents := make(map[*node][]*node)
	var reached []*node // whose parents are to be marked
	for _, n := range c.nodes {
		for _, child := range n.children() {
			if child != nil {
				parents[child] = append(parents[child], n)
			}
		}
		if n.unsure {
			reached = append(reached, n)
		}
	}
	for len(reached) > 0 {
		n := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		for _, parent := range parents[n] {
			if !parent.unsure {
				parent.unsure = true
				reached = append(reached, parent)
			}
		}
	}
}

// children returns all nodes that n refers to; some may be nil.
func (n *node) children() []*node {
	var all []*node
	if a := n.apply; a != nil {
		all = slices.Concat(a.all, a.any, a.one,
			[]*node{a.ref, a.not, a.when, a.then, a.or})
	}
	if o := n.object; o != nil {
		all = append(all, o.additional, o.propertyNames, o.unevaluated)
		for _, name := range o.names {
			all = append(all, name.schema)
		}
		for _, p := range o.patterns {
			all = append(all, p.schema)
		}
		for _, d := range o.needs {
			all = append(all, d.schema)
		}
	}
	if a := n.array; a != nil {
		all = append(append(all, a.prefix...), a.items, a.contains, a.unevaluated)
	}
	return all
}
