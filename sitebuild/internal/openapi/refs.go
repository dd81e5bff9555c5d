package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// maxSteps limits chains of references.
const maxSteps = 32

// maxInlined is the answer size above which references are no longer expanded.
const maxInlined = 4 << 20

// place is a node with its file.
type place struct {
	// node is an element of file, which references are relative to.
	node *tree.Node
	file *file
}

// get returns the member at a path of names below p. Its node is nil if it does not exist.
func (p place) get(path ...string) place {
	return place{p.node.Get(path...), p.file}
}

// text returns the text of a member, or "".
func (p place) text(name string) string { return p.node.Get(name).String() }

// flag reports whether a member is true.
func (p place) flag(name string) bool { return p.node.Get(name).True() }

// list returns the elements of a member.
func (p place) list(name string) []place {
	var list []place
	for _, n := range p.node.Get(name).Elements() {
		list = append(list, place{n, p.file})
	}
	return list
}

// field is a member of an object.
type field struct {
	name string
	place
}

// fields returns the members of a member.
func (p place) fields(path ...string) []field {
	var list []field
	for _, m := range p.node.Get(path...).Fields() {
		list = append(list, field{m.Key, place{m.Value, p.file}})
	}
	return list
}

// refOf returns the reference in a node, or "".
func refOf(n *tree.Node) string {
	if ref := n.Get("$ref"); ref.Is(tree.String) {
		return ref.Text
	}
	return ""
}

// target returns the file and the pointer that a reference in f leads to.
func (a *api) target(ref string, f *file) (*file, string, error) {
	name, pointer, _ := strings.Cut(ref, "#")
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	if name == "" {
		return f, pointer, nil
	}
	if strings.Contains(name, "://") || strings.HasPrefix(name, "//") {
		return nil, "", errors.New("it is a URL, and documents are not fetched from the network")
	}
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	relative := strings.ReplaceAll(name, `\`, "/")
	other, err := a.open(path.Join(path.Dir(f.path), relative))
	return other, pointer, err
}

// brokenRef is a reference without a target.
type brokenRef struct{ message, hint string }

// resolve returns the place that a reference in f leads to, and its pointer.
func (a *api) resolve(ref string, f *file) (at place, pointer string, broken *brokenRef) {
	other, pointer, err := a.target(ref, f)
	if err != nil {
		return place{}, "", &brokenRef{
			message: fmt.Sprintf("the reference %q cannot be followed: %v", ref, err),
			hint:    "put the file into the folder of the document",
		}
	}
	at = place{other.node.At(pointer), other}
	if at.node == nil {
		return place{}, "", &brokenRef{message: fmt.Sprintf("the target of the reference %q does not exist", ref)}
	}
	return at, pointer, nil
}

// follow resolves a node: it returns the node itself or the final target of its
// reference. If there is none, it adds a finding and returns false.
func (a *api) follow(at place) (place, bool) {
	list, ok := a.chain(at)
	if !ok {
		return place{}, false
	}
	return list[len(list)-1], true
}

// chain returns a node and the nodes that its reference leads to, one after the other. If the last
// reference has no target, it adds a finding and returns false.
func (a *api) chain(at place) (list []place, ok bool) {
	for range maxSteps {
		list = append(list, at)
		ref := refOf(at.node)
		if ref == "" {
			return list, true
		}
		next, _, broken := a.resolve(ref, at.file)
		if broken != nil {
			a.foundOnce(ruleRef, at.file, at.node, broken.hint, broken.message)
			return list, false
		}
		at = next
	}
	a.foundOnce(ruleRef, at.file, at.node, "", fmt.Sprintf("the reference %q refers to itself", refOf(at.node)))
	return list, false
}

// schemaOf returns the schema that a reference in f leads to, and names it on first use.
// If there is none, it adds a finding and returns nil.
func (a *api) schemaOf(ref string, f *file, from *tree.Node) *schema {
	at, pointer, broken := a.resolve(ref, f)
	if broken != nil {
		a.foundOnce(ruleRef, f, from, broken.hint, broken.message)
		return nil
	}
	if s := a.targets[at.file.path+"#"+pointer]; s != nil {
		return s
	}
	name := jsonscan.UnescapeToken(pointer[strings.LastIndexByte(pointer, '/')+1:])
	if name == "" {
		name = strings.TrimSuffix(path.Base(at.file.path), path.Ext(at.file.path))
	}
	return a.schemaAt(at, pointer, name)
}

// foundOnce reports a problem of a node that can be found several times only the first time.
func (a *api) foundOnce(rule check.Rule, f *file, n *tree.Node, hint, message string) {
	if !a.reported[n] {
		a.reported[n] = true
		a.found(rule, f, n, hint, "%s", message)
	}
}

// schemaAt registers the schema at a place under a unique name.
func (a *api) schemaAt(at place, pointer, name string) *schema {
	unique := name
	for n := 2; a.names[unique]; n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	a.names[unique] = true
	s := &schema{unique, at}
	a.targets[at.file.path+"#"+pointer] = s
	a.schemas = append(a.schemas, s)
	return s
}

// visit registers all schemas that the schema n references.
func (a *api) visit(n *tree.Node, f *file) {
	a.visitIn(n, f, false)
}

// visitIn is visit for the members of n; named means that n maps names to schemas.
func (a *api) visitIn(n *tree.Node, f *file, named bool) {
	if ref := refOf(n); ref != "" && !named {
		a.schemaOf(ref, f, n)
	}
	for _, item := range n.Elements() {
		a.visitIn(item, f, false)
	}
	for _, m := range n.Fields() {
		if named || !literal(m.Key, true) {
			a.visitIn(m.Value, f, !named && ofSchemas(m.Key))
		}
	}
}

// literal reports whether the value of a member is data, in which "$ref" has no meaning.
func literal(name string, inSchema bool) bool {
	switch name {
	case "example", "value":
		return true
	case "default", "enum", "const", "examples":
		return inSchema
	}
	return false
}

// ofSchemas reports whether the value of a keyword maps names to schemas.
func ofSchemas(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return true
	}
	return false
}

// scope is the context of a node.
type scope uint8

const (
	outside scope = iota // not in a schema
	inside               // in a schema
	naming               // in an object that maps names to schemas
)

// within returns the scope of the value of a member.
func (s scope) within(name string) scope {
	switch {
	case s == naming:
		return inside
	case s == inside && ofSchemas(name):
		return naming
	case s == outside && (name == "schema" || name == "itemSchema"):
		return inside
	}
	return s
}

// appendJSON appends a node as JSON. References to schemas are kept, with the schema's
// name; other references are expanded.
func (a *api) appendJSON(dst []byte, at place, in scope, depth int) []byte {
	if ref := refOf(at.node); ref != "" && in == outside {
		next, ok := a.follow(at)
		if ok && depth < maxSteps && len(dst) < maxInlined {
			return a.appendJSON(dst, next, outside, depth+1)
		}
		return at.node.AppendJSON(dst)
	}
	switch {
	case at.node.Is(tree.Array):
		dst = append(dst, '[')
		for i, item := range at.node.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = a.appendJSON(dst, place{item, at.file}, in, depth)
		}
		return append(dst, ']')
	case at.node.Is(tree.Object):
		return a.appendObject(dst, at, in, depth)
	}
	return at.node.AppendJSON(dst)
}

// appendObject is appendJSON for an object.
func (a *api) appendObject(dst []byte, at place, in scope, depth int) []byte {
	dst = append(dst, '{')
	for i, m := range at.node.Members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuote(dst, m.Key), ':')
		switch {
		case in == inside && m.Key == "$ref" && m.Value.Is(tree.String):
			dst = jsonscan.AppendQuote(dst, a.canonical(m.Value.Text, at.file, at.node))
		case in != naming && literal(m.Key, in == inside):
			dst = m.Value.AppendJSON(dst)
		default:
			dst = a.appendJSON(dst, place{m.Value, at.file}, in.within(m.Key), depth)
		}
	}
	return append(dst, '}')
}

// canonical returns a reference to a schema by its name in this site.
func (a *api) canonical(ref string, f *file, n *tree.Node) string {
	if s := a.schemaOf(ref, f, n); s != nil {
		return "#/components/schemas/" + jsonscan.EscapeToken(s.name)
	}
	return ref
}
