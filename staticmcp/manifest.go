package staticmcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/mcp"
)

// offer is the content of one manifest in the form in which it is served. It is
// immutable.
type offer struct {
	// catalog is what clients see; the maps lead from its names to what is needed to
	// answer.
	catalog   *mcp.Catalog
	source    []byte // the manifest without white space, or nil if there is none
	tools     map[string]*tool
	prompts   map[string]*prompt
	templates map[string]*template
	resources map[string]int // place in catalog.Resources by URI
	packs     packs.Table    // nil if every answer is a file
	warnings  []string

	indexing sync.Once
	files    fileIndex // see offer.fileIndex
}

// maxWarnings is how many warnings are kept; one broken generator can cause as many as
// the manifest has entries.
const maxWarnings = 100

// manifestReader parses the text of a manifest into an offer.
type manifestReader struct {
	doc  []byte // valid and compact
	opts *Options

	offer  *offer
	title  string // the name for a site without one
	left   int    // how many more entries are allowed
	silent int    // warnings that were dropped
	// scratch is reused for each entry, and texts for their strings.
	scratch   entry
	texts     stringStore
	mimeTypes map[string]string
	visits    []visit // the folders whose names went into the offer

	// Offsets of the lists in doc; 0 if a list is absent.
	lists [site.ManifestLists]int
}

// newOffer returns an empty offer.
func newOffer() *offer {
	return &offer{
		catalog:   &mcp.Catalog{Stateless: true},
		tools:     make(map[string]*tool),
		prompts:   make(map[string]*prompt),
		templates: make(map[string]*template),
	}
}

// newManifestReader returns a reader of one manifest. title names a site without a name.
func newManifestReader(title string, o *Options) *manifestReader {
	return &manifestReader{
		opts:      o,
		offer:     newOffer(),
		title:     title,
		left:      o.MaxEntries,
		mimeTypes: make(map[string]string),
	}
}

// readManifest parses doc, which it may keep. Entries reach the catalog as their author
// wrote them: byte for byte, without white space between tokens.
func readManifest(doc []byte, title string, o *Options) (*manifestReader, error) {
	m := newManifestReader(title, o)
	doc = bytes.TrimPrefix(doc, site.ByteOrderMark)
	if err := jsonscan.Valid(doc); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	m.doc = site.Compact(doc)
	m.offer.source = m.doc
	if m.doc[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	if err := m.head(); err != nil {
		return nil, err
	}
	for kind := range site.ListNames {
		if err := m.list(kind); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// head reads everything but the lists.
func (m *manifestReader) head() error {
	top, err := m.sections(0, false)
	if err != nil {
		return err
	}
	if !m.isManifest(top) {
		return errors.New("not a manifest: it has no protocolVersion, serverInfo or capabilities")
	}
	if i, ok := top["capabilities"]; ok && m.doc[i] == '{' {
		nested, err := m.sections(i, true)
		if err != nil {
			return fmt.Errorf("capabilities: %w", err)
		}
		if i, ok := nested["extensions"]; ok && m.doc[i] == '{' {
			m.offer.catalog.Extensions = m.valueAt(i)
		}
	} else if err := m.complain("the manifest has no capabilities"); err != nil {
		return err
	}
	if i, ok := top["_meta"]; ok && m.doc[i] == '{' {
		if raw := jsonscan.Member(m.valueAt(i), packs.MetaName); raw != nil {
			if m.offer.packs, err = packs.Parse(raw); err != nil {
				return err
			}
		}
	}
	if _, ok := top["protocolVersion"]; !ok {
		if err := m.complain("the manifest has no protocolVersion"); err != nil {
			return err
		}
	}
	return m.identity(top)
}

// isManifest reports whether the object with these members can be a manifest. Many web services
// answer every URL with JSON, such as an error or an answer of JSON-RPC: without this check such
// a response would open as an empty site.
func (m *manifestReader) isManifest(top map[string]int) bool {
	for _, name := range []string{"protocolVersion", "serverInfo", "capabilities"} {
		if _, ok := top[name]; ok {
			return true
		}
	}
	return m.lists != [site.ManifestLists]int{}
}

// sections returns the offsets of the members of the object at i, and records the lists
// among them. Lists in capabilities, where the standard has them, take precedence.
func (m *manifestReader) sections(i int, standard bool) (map[string]int, error) {
	found := make(map[string]int)
	_, err := jsonscan.Object(m.doc, i, 0, func(key []byte, i int) (int, error) {
		name := string(key)
		if _, twice := found[name]; twice {
			return i, fmt.Errorf("duplicate member %q", name)
		}
		found[name] = i
		for kind, list := range site.ListNames {
			if list == name && m.doc[i] == '[' &&
				(standard || m.lists[kind] == 0 && !m.opts.Strict) {
				m.lists[kind] = i
			}
		}
		return jsonscan.Value(m.doc, i)
	})
	return found, err
}

// identity fills in the server information.
func (m *manifestReader) identity(top map[string]int) error {
	var info, spare mcp.Implementation
	var inner, outer struct{ Instructions string }
	if i, ok := top["serverInfo"]; ok {
		m.decodeLeniently(m.valueAt(i), &info, &inner)
	}
	if !m.opts.Strict {
		var flat []byte
		for _, name := range []string{"name", "version", "title", "description", "websiteUrl", "icons"} {
			if i, ok := top[name]; ok {
				flat = append(append(append(append(flat, ','), site.Quote(name)...), ':'), m.valueAt(i)...)
			}
		}
		if flat != nil {
			flat[0] = '{'
			m.decodeLeniently(append(flat, '}'), &spare)
		}
	}
	if i, ok := top["instructions"]; ok {
		outer.Instructions, _ = jsonscan.Unquote(m.valueAt(i))
	}
	c := m.offer.catalog
	c.Server = info
	adopt(&c.Server.Name, spare.Name)
	adopt(&c.Server.Version, spare.Version)
	adopt(&c.Server.Title, spare.Title)
	adopt(&c.Server.Description, spare.Description)
	adopt(&c.Server.WebsiteURL, spare.WebsiteURL)
	if c.Server.Icons == nil {
		c.Server.Icons = spare.Icons
	}
	c.Instructions = outer.Instructions
	adopt(&c.Instructions, inner.Instructions)
	return m.named()
}

// named fills in a missing name or version, which clients require.
func (m *manifestReader) named() error {
	server := &m.offer.catalog.Server
	if server.Name == "" {
		if err := m.complain("the manifest has no serverInfo.name; the site is called %q", m.title); err != nil {
			return err
		}
		server.Name = m.title
	}
	if server.Version == "" {
		if err := m.complain("the manifest has no serverInfo.version"); err != nil {
			return err
		}
		server.Version = "0.0.0"
	}
	return nil
}

// decodeLeniently decodes what it can: a wrong type in an ornament such as an icon must
// not hide the name.
func (m *manifestReader) decodeLeniently(raw []byte, into ...any) {
	for _, v := range into {
		var wrong *json.UnmarshalTypeError
		err := json.Unmarshal(raw, v)
		if err != nil && errors.As(err, &wrong) {
			m.warn("the manifest's server information: %v", err)
		}
	}
}

func adopt(value *string, other string) {
	if *value == "" {
		*value = other
	}
}

// valueAt returns the text of the value at i.
func (m *manifestReader) valueAt(i int) json.RawMessage {
	end, err := jsonscan.Value(m.doc, i)
	if err != nil {
		return nil // the document is valid
	}
	return m.doc[i:end:end]
}

// complain warns of a deviation from the standard; in strict mode it is an error.
func (m *manifestReader) complain(format string, args ...any) error {
	if m.opts.Strict {
		return fmt.Errorf(format, args...)
	}
	m.warn(format, args...)
	return nil
}

func (m *manifestReader) warn(format string, args ...any) {
	if len(m.offer.warnings) >= maxWarnings {
		m.silent++
		return
	}
	m.offer.warnings = append(m.offer.warnings, fmt.Sprintf(format, args...))
}

// finish completes the offer after all entries have been added.
func (m *manifestReader) finish() *offer {
	o := m.offer
	dirs := make(map[string][]string, len(o.tools))
	for name, t := range o.tools {
		dirs[name] = t.dirs
	}
	site.SeparateFolders(dirs)
	for name, t := range o.tools {
		t.dirs = dirs[name]
	}
	if m.silent > 0 {
		o.warnings = append(o.warnings, fmt.Sprintf("and %d more", m.silent))
	}
	c := o.catalog
	c.Cache = mcp.CacheHint{
		TTL:    m.opts.MaxAge,
		Public: true,
	}
	for i := range c.Prompts {
		c.Completions = c.Completions || len(c.Prompts[i].Arguments) > 0
	}
	for i := range c.Templates {
		c.Completions = c.Completions || strings.Contains(c.Templates[i].URITemplate, "{")
	}
	return o
}
