package staticmcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// entry is one definition in a list of a manifest. All lists share the members
// that matter here.
type entry struct {
	raw json.RawMessage
	has int // the bits of the members that are present

	name, title, description, uri, uriTemplate, mimeType string

	inputSchema, outputSchema, annotations, arguments json.RawMessage
	icons, execution, size, meta                      json.RawMessage
}

// The bits of the members that the standard requires.
const (
	hasName = 1 << iota
	hasDescription
	hasMIMEType
	hasInputSchema
	hasOthers // the first of the other bits
)

// list reads one list into the catalog.
func (m *manifestReader) list(kind int) error {
	at := m.lists[kind]
	if at == 0 {
		return nil
	}
	m.reserve(kind, at)
	place := 0
	_, err := jsonscan.Array(m.doc, at, 0, func(i int) (int, error) {
		if m.left--; m.left < 0 {
			return i, fmt.Errorf("more than %d entries", m.opts.MaxEntries)
		}
		e, end, err := m.entry(i)
		if err == nil {
			err = m.add(kind, e)
		}
		if err != nil {
			err = m.complain("%s[%d] is skipped: %v", site.ListNames[kind], place, err)
		}
		place++
		return end, err
	})
	return err
}

// reserve allocates room for a long list at once, since growing it would need twice the
// memory.
func (m *manifestReader) reserve(kind, at int) {
	if kind != site.ListResources {
		return
	}
	guess := min(bytes.Count(m.doc[at:], []byte(`"uri":`)), m.opts.MaxEntries)
	m.offer.catalog.Resources = make([]mcp.Resource, 0, guess)
	m.offer.resources = make(map[string]int, guess)
}

// add adds a definition to the catalog. An error states why it is skipped.
func (m *manifestReader) add(kind int, e *entry) error {
	switch kind {
	case site.ListResources:
		return m.addResource(e)
	case site.ListTools:
		return m.addTool(e)
	case site.ListTemplates:
		return m.addTemplate(e)
	default:
		return m.addPrompt(e)
	}
}

// entry reads the definition at i. The returned end is valid even with an error; the
// entry is valid until the next call.
func (m *manifestReader) entry(i int) (*entry, int, error) {
	end, _ := jsonscan.Value(m.doc, i) // the document is valid
	if m.doc[i] != '{' {
		return nil, end, errors.New("not an object")
	}
	e := &m.scratch
	*e = entry{raw: m.doc[i:end:end]}
	_, err := jsonscan.Object(m.doc, i, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(m.doc, i)
		if err != nil {
			return end, err
		}
		text, raw, bit := e.field(key)
		if bit == 0 {
			return end, nil
		}
		if e.has&bit != 0 {
			return end, fmt.Errorf("duplicate member %q", key)
		}
		e.has |= bit
		if raw != nil {
			*raw = m.doc[i:end:end]
			return end, nil
		}
		var ok bool
		if bit == hasMIMEType {
			*text, ok = m.mimeTypeAt(i, end)
		} else {
			*text, ok = m.stringAt(i, end)
		}
		if !ok {
			return end, fmt.Errorf("member %q is not a string", key)
		}
		return end, nil
	})
	return e, end, err
}

// field returns where the member called key is stored, and its bit; the bit is 0 for a
// member that is not used here.
func (e *entry) field(key []byte) (text *string, raw *json.RawMessage, bit int) {
	switch string(key) {
	case "name":
		return &e.name, nil, hasName
	case "title":
		return &e.title, nil, hasOthers << 0
	case "description":
		return &e.description, nil, hasDescription
	case "uri":
		return &e.uri, nil, hasOthers << 1
	case "uriTemplate":
		return &e.uriTemplate, nil, hasOthers << 2
	case "mimeType":
		return &e.mimeType, nil, hasMIMEType
	case "inputSchema":
		return nil, &e.inputSchema, hasInputSchema
	case "outputSchema":
		return nil, &e.outputSchema, hasOthers << 3
	case "annotations":
		return nil, &e.annotations, hasOthers << 4
	case "arguments":
		return nil, &e.arguments, hasOthers << 5
	case "icons":
		return nil, &e.icons, hasOthers << 6
	case "execution":
		return nil, &e.execution, hasOthers << 7
	case "size":
		return nil, &e.size, hasOthers << 8
	case "_meta":
		return nil, &e.meta, hasOthers << 9
	}
	return nil, nil, 0
}

// stringAt decodes the string literal m.doc[i:end].
func (m *manifestReader) stringAt(i, end int) (string, bool) {
	text, ok := jsonscan.UnquoteBytes(m.doc[i:end])
	if !ok {
		return "", false
	}
	return m.texts.keep(text), true
}

// mimeTypeAt is stringAt for a MIME type; a manifest has few distinct ones, so they are
// shared.
func (m *manifestReader) mimeTypeAt(i, end int) (string, bool) {
	text, ok := jsonscan.UnquoteBytes(m.doc[i:end])
	known, seen := m.mimeTypes[string(text)]
	if ok && seen {
		return known, true
	}
	kept, ok := m.stringAt(i, end)
	if ok && len(m.mimeTypes) < 100 {
		m.mimeTypes[kept] = kept
	}
	return kept, ok
}

// stringStore makes strings that share blocks, to avoid one allocation for each.
type stringStore struct {
	block strings.Builder
}

const stringBlock = 64 << 10

// keep copies a text into a block shared with others: a manifest has many short texts, and
// each allocation of its own would cost more than the text.
func (s *stringStore) keep(text []byte) string {
	switch {
	case len(text) > stringBlock/8:
		return string(text)
	case s.block.Cap()-s.block.Len() < len(text):
		s.block = strings.Builder{}
		s.block.Grow(stringBlock)
	}
	start := s.block.Len()
	s.block.Write(text)
	return s.block.String()[start:]
}

// addResource adds a resource to the offer. Its URI must be unique.
func (m *manifestReader) addResource(e *entry) error {
	if e.uri == "" {
		return errors.New("it has no uri")
	}
	o := m.offer
	if o.resources == nil {
		o.resources = make(map[string]int)
	}
	if _, twice := o.resources[e.uri]; twice {
		return fmt.Errorf("the uri %q is taken", e.uri)
	}
	if err := m.standardMembers(e, hasName|hasDescription|hasMIMEType); err != nil {
		return fmt.Errorf("resource %q: %w", e.uri, err)
	}
	e.nameless(e.uri)
	o.resources[e.uri] = len(o.catalog.Resources)
	o.catalog.Resources = append(o.catalog.Resources, mcp.Resource{
		Name:        e.name,
		URI:         e.uri,
		Title:       e.title,
		Description: e.description,
		MIMEType:    e.mimeType,
		Meta:        e.meta,
		Raw:         e.raw,
	})
	r := &o.catalog.Resources[len(o.catalog.Resources)-1]
	m.ornaments(e.uri, ornament{e.annotations, &r.Annotations},
		ornament{e.icons, &r.Icons}, ornament{e.size, &r.Size})
	return nil
}

// addTool adds a tool to the offer. A missing schema or missing hints are added, since
// clients need them.
func (m *manifestReader) addTool(e *entry) error {
	o := m.offer
	if e.name == "" {
		return errors.New("it has no name")
	}
	if o.tools[e.name] != nil {
		return fmt.Errorf("the name %q is taken", e.name)
	}
	if err := m.standardMembers(e, hasDescription|hasInputSchema); err != nil {
		return fmt.Errorf("tool %q: %w", e.name, err)
	}
	switch {
	case e.inputSchema == nil:
		m.warn("tool %q has no inputSchema", e.name)
		e.inputSchema = site.AnyObject
		e.splice("inputSchema", site.AnyObject)
	case e.inputSchema[0] != '{':
		return fmt.Errorf("the inputSchema of tool %q is not an object", e.name)
	}
	if !isToolName(e.name) {
		m.warn("the name of tool %q is not one that every client accepts", e.name)
	}
	if e.annotations == nil {
		e.annotations = readOnly
		e.splice("annotations", readOnly)
	}
	t := mcp.Tool{
		Name:         e.name,
		Title:        e.title,
		Description:  e.description,
		InputSchema:  e.inputSchema,
		OutputSchema: e.outputSchema,
		Execution:    e.execution,
		Meta:         e.meta,
		Raw:          e.raw,
	}
	m.ornaments(e.name, ornament{e.annotations, &t.Annotations},
		ornament{e.icons, &t.Icons})
	o.catalog.Tools = append(o.catalog.Tools, t)
	known := newTool(e.name, e.inputSchema)
	o.tools[e.name] = known
	var err error
	if known.searches, err = site.SearchesOf(known.argumentNames(), e.meta); err != nil {
		m.warn("tool %q: %v", e.name, err)
	}
	if known.page, err = newPageArgument(known, e.meta); err != nil {
		m.warn("tool %q: %v", e.name, err)
	}
	return nil
}

// readOnly are the default annotations of a tool. For stored answers they are true by
// construction.
var readOnly = json.RawMessage(
	`{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`)

// addTemplate adds a resource template to the offer.
func (m *manifestReader) addTemplate(e *entry) error {
	o := m.offer
	if e.uriTemplate == "" {
		return errors.New("it has no uriTemplate")
	}
	if o.templates[e.uriTemplate] != nil {
		return fmt.Errorf("the uriTemplate %q is taken", e.uriTemplate)
	}
	e.nameless(e.uriTemplate)
	t := mcp.ResourceTemplate{
		Name:        e.name,
		URITemplate: e.uriTemplate,
		Title:       e.title,
		Description: e.description,
		MIMEType:    e.mimeType,
		Meta:        e.meta,
		Raw:         e.raw,
	}
	m.ornaments(e.uriTemplate, ornament{e.annotations, &t.Annotations},
		ornament{e.icons, &t.Icons})
	o.catalog.Templates = append(o.catalog.Templates, t)
	o.templates[e.uriTemplate] = newTemplate(e.uriTemplate, e.meta)
	return nil
}

// addPrompt adds a prompt to the offer.
func (m *manifestReader) addPrompt(e *entry) error {
	o := m.offer
	if e.name == "" {
		return errors.New("it has no name")
	}
	if o.prompts[e.name] != nil {
		return fmt.Errorf("the name %q is taken", e.name)
	}
	p, err := newPrompt(e)
	if err != nil {
		return fmt.Errorf("prompt %q: %w", e.name, err)
	}
	def := mcp.Prompt{
		Name:        e.name,
		Title:       e.title,
		Description: e.description,
		Arguments:   p.arguments,
		Meta:        e.meta,
		Raw:         e.raw,
	}
	m.ornaments(e.name, ornament{e.icons, &def.Icons})
	o.catalog.Prompts = append(o.catalog.Prompts, def)
	o.prompts[e.name] = p
	return nil
}

// ornament is a member that is passed through unchanged and also decoded for our own use.
type ornament struct {
	raw  json.RawMessage
	into any
}

// ornaments decodes members for display. A faulty one is a warning: the entry works
// without it.
func (m *manifestReader) ornaments(owner string, list ...ornament) {
	for _, o := range list {
		if o.raw == nil {
			continue
		}
		if err := json.Unmarshal(o.raw, o.into); err != nil {
			m.warn("%q: %v", owner, err)
		}
	}
}

// standardMembers checks, in strict mode, that a definition has the members that the
// standard requires. The protocol requires fewer.
func (m *manifestReader) standardMembers(e *entry, required int) error {
	if m.opts.Strict && e.has&required != required {
		return errors.New("it lacks a member that the standard requires: name, description, mimeType or inputSchema")
	}
	return nil
}

// nameless sets the name of a definition without one to its identifier.
func (e *entry) nameless(name string) {
	if e.has&hasName == 0 {
		e.name = name
		e.splice("name", site.Quote(name))
	}
}

// splice adds a member that the author omitted to the definition that clients see.
func (e *entry) splice(name string, value []byte) {
	raw := append([]byte{'{'}, site.Quote(name)...)
	raw = append(append(raw, ':'), value...)
	if len(e.raw) > len(`{}`) {
		raw = append(raw, ',')
	}
	e.raw = append(raw, e.raw[1:]...)
}

// isToolName reports whether the protocol allows name for a tool.
func isToolName(name string) bool {
	if name == "" || len(name) > 128 {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c &&
			c <= 'z', 'A' <= c &&
			c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.', c == '/':
		default:
			return false
		}
	}
	return true
}
