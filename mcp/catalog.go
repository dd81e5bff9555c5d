package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// DefaultPageSize is how many entries one answer to a list request holds unless
// [Catalog.PageSize] says otherwise.
const DefaultPageSize = 1000

// Catalog is what a [Source] offers at one moment. Once a Source has returned
// it, it is immutable: to change an offer, return another Catalog. It must not
// be copied. It is safe for concurrent use.
//
// The order of the slices is the order in which clients see the entries.
type Catalog struct {
	// Server is the serverInfo that clients see.
	Server Implementation
	// Instructions tell a model how to use the server, or are empty.
	Instructions string

	Tools     []Tool
	Resources []Resource
	Templates []ResourceTemplate
	Prompts   []Prompt
	// Completions says that Source.Complete has suggestions to make.
	Completions bool
	// Subscribe says that the source, a [Watcher], tells of changes of single
	// resources ([Change.URI]).
	Subscribe bool
	// Tasks says that tools may answer with a task ([Request.Task]).
	Tasks bool
	// Logging says that the source sends log lines to clients ([Request.Log]).
	Logging bool

	// Growing says that tools, resources and prompts may join later: they are declared
	// to clients even while there are none.
	Growing bool

	// WithheldTools and WithheldPrompts say, by name, of what the source has and
	// does not offer why not: a client that asks for it all the same is told that,
	// rather than that there is no such thing. Nil for most.
	WithheldTools, WithheldPrompts map[string]string

	// Sources are the sources that the catalog was joined from, also those inside
	// others; nil for a source that joins none.
	Sources []JoinedSource

	// Extensions are the capabilities.extensions that the source declares, as a
	// JSON object, or nil.
	Extensions json.RawMessage

	// PageSize is the number of entries in one answer to a list request; 0
	// stands for [DefaultPageSize].
	PageSize int
	// Cache tells 2026-07-28 clients how long they may keep the lists.
	Cache CacheHint

	index   sync.Once
	tools   map[string]int
	prompts map[string]int
	headers map[string][]headerParam // by tool name; most tools have none
	// uniform says that all entries of a list are Raw, so that every version
	// without envelope gets the same bytes.
	uniform [listKinds]bool

	version lazy[string]
	first   [listKinds][LatestVersion + 1][scopes]atomic.Pointer[page]
	rest    sync.Map // pageKey to *page
	infos   [LatestVersion + 1]atomic.Pointer[json.RawMessage]
}

// Copy returns a catalog that offers the same and may be changed until it is used:
// its lists can be exchanged, and names be added to what is withheld. The entries
// are those of c.
func (c *Catalog) Copy() *Catalog {
	return &Catalog{
		Server: c.Server, Instructions: c.Instructions,
		Tools: c.Tools, Resources: c.Resources, Templates: c.Templates, Prompts: c.Prompts,
		Completions: c.Completions, Subscribe: c.Subscribe, Tasks: c.Tasks, Logging: c.Logging, Growing: c.Growing,
		WithheldTools: maps.Clone(c.WithheldTools), WithheldPrompts: maps.Clone(c.WithheldPrompts),
		Sources: c.Sources, Extensions: c.Extensions, PageSize: c.PageSize, Cache: c.Cache,
	}
}

// JoinedSource is one of the sources that a [Catalog] was joined from.
type JoinedSource struct {
	// Name is the Source of the [Origin] of its tools.
	Name string
	// Unknown says that the source offers nothing yet, because it has not been
	// started or cannot be reached, so its tools are not known.
	Unknown bool
}

// Unknown reports whether c was joined from sources of which none is known yet, so that
// it offers nothing of theirs.
func (c *Catalog) Unknown() bool {
	for i := range c.Sources {
		if !c.Sources[i].Unknown {
			return false
		}
	}
	return len(c.Sources) > 0
}

var emptyCatalog = &Catalog{Server: Implementation{Name: "empty", Version: "0"}}

// lazy is a value computed on first use.
type lazy[T any] struct {
	once  sync.Once
	value T
}

func (l *lazy[T]) get(compute func() T) T {
	l.once.Do(func() { l.value = compute() })
	return l.value
}

// Tool returns the tool with that name, or nil. The result is read-only.
func (c *Catalog) Tool(name string) *Tool {
	c.index.Do(c.buildIndex)
	if i, ok := c.tools[name]; ok {
		return &c.Tools[i]
	}
	return nil
}

// tool is Tool for a name that need not become a string.
func (c *Catalog) tool(name []byte) *Tool {
	c.index.Do(c.buildIndex)
	if i, ok := c.tools[string(name)]; ok {
		return &c.Tools[i]
	}
	return nil
}

// headerParams returns the parameters of a tool that clients repeat in headers.
func (c *Catalog) headerParams(t *Tool) []headerParam {
	if c.headers == nil {
		return nil
	}
	return c.headers[t.Name]
}

// extensions returns capabilities.extensions for a client of version v.
func (c *Catalog) extensions(v Version) json.RawMessage {
	if !c.Tasks || !v.Modern() {
		return c.Extensions
	}
	all := make(map[string]json.RawMessage)
	if c.Extensions != nil && json.Unmarshal(c.Extensions, &all) != nil {
		return c.Extensions // not an object: reported where it is encoded
	}
	all[tasksExtension] = json.RawMessage(`{}`)
	encoded, err := Marshal(all)
	if err != nil {
		return c.Extensions
	}
	return encoded
}

func (c *Catalog) hasTemplate(uriTemplate string) bool {
	for i := range c.Templates {
		if c.Templates[i].URITemplate == uriTemplate {
			return true
		}
	}
	return false
}

// Prompt returns the prompt with that name, or nil. The result is read-only.
func (c *Catalog) Prompt(name string) *Prompt {
	c.index.Do(c.buildIndex)
	if i, ok := c.prompts[name]; ok {
		return &c.Prompts[i]
	}
	return nil
}

// noTool is the error for a tool that is not offered.
func (c *Catalog) noTool(name string) error {
	if why, ok := c.WithheldTools[name]; ok {
		return &Error{Code: CodeToolDenied, Message: why}
	}
	return suggest(UnknownTool(name), name, func(yield func(string) bool) {
		for i := range c.Tools {
			if !yield(c.Tools[i].Name) {
				return
			}
		}
	})
}

// noPrompt is the error for a prompt that is not offered.
func (c *Catalog) noPrompt(name string) error {
	if why, ok := c.WithheldPrompts[name]; ok {
		return &Error{Code: CodeInvalidParams, Message: why}
	}
	return suggest(UnknownPrompt(name), name, func(yield func(string) bool) {
		for i := range c.Prompts {
			if !yield(c.Prompts[i].Name) {
				return
			}
		}
	})
}

// suggest adds the offered name that is nearest to the unknown one.
func suggest(e *Error, name string, offered iter.Seq[string]) *Error {
	if near := nearest.NearestOf(name, offered, 1); len(near) > 0 {
		e.Message += fmt.Sprintf(", did you mean %q?", near[0])
	}
	return e
}

// buildIndex keeps the first of two entries with one name.
func (c *Catalog) buildIndex() {
	c.tools = make(map[string]int, len(c.Tools))
	for i := len(c.Tools) - 1; i >= 0; i-- {
		t := &c.Tools[i]
		c.tools[t.Name] = i
		if found := schemaHeaderParams(t.InputSchema); found != nil {
			if c.headers == nil {
				c.headers = make(map[string][]headerParam)
			}
			c.headers[t.Name] = found
		}
	}
	c.prompts = make(map[string]int, len(c.Prompts))
	for i := len(c.Prompts) - 1; i >= 0; i-- {
		c.prompts[c.Prompts[i].Name] = i
	}
	for k := range listKinds {
		c.uniform[k] = true
		for i := range c.length(k) {
			if !c.isRaw(k, i) {
				c.uniform[k] = false
				break
			}
		}
	}
}

// Version returns a short text that two catalogs share only if every client
// would see the same in both.
func (c *Catalog) Version() string {
	return c.version.get(func() string {
		sum := sha256.New()
		info, _ := Marshal(c.Server)
		fmt.Fprintf(sum, "%s\n%q\n%t %t %t %t\n%s\n", info, c.Instructions, c.Completions, c.Logging, c.Subscribe, c.Tasks, c.Extensions)
		if c.WithheldTools != nil || c.WithheldPrompts != nil {
			fmt.Fprintf(sum, "%q\n%q\n", c.WithheldTools, c.WithheldPrompts)
		}
		for kind := range listKinds {
			for i := range c.length(kind) {
				entry, _ := c.entry(kind, i, LatestVersion)
				sum.Write(entry)
				sum.Write([]byte{'\n'})
			}
		}
		return hex.EncodeToString(sum.Sum(nil)[:16])
	})
}

// listKind is one of the four lists.
type listKind uint8

const (
	listTools listKind = iota
	listResources
	listTemplates
	listPrompts
	listKinds
)

var listMembers = [listKinds]string{"tools", "resources", "resourceTemplates", "prompts"}

func (c *Catalog) length(k listKind) int {
	switch k {
	case listTools:
		return len(c.Tools)
	case listResources:
		return len(c.Resources)
	case listTemplates:
		return len(c.Templates)
	default:
		return len(c.Prompts)
	}
}

func (c *Catalog) isRaw(k listKind, i int) bool {
	switch k {
	case listTools:
		return c.Tools[i].Raw != nil
	case listResources:
		return c.Resources[i].Raw != nil
	case listTemplates:
		return c.Templates[i].Raw != nil
	default:
		return c.Prompts[i].Raw != nil
	}
}

func (c *Catalog) entry(k listKind, i int, v Version) (json.RawMessage, error) {
	switch k {
	case listTools:
		return c.Tools[i].wire(v)
	case listResources:
		return c.Resources[i].wire(v)
	case listTemplates:
		return c.Templates[i].wire(v)
	default:
		return c.Prompts[i].wire(v)
	}
}

// page is a list result encoded once for all who ask for it.
type page struct{ result []byte }

type pageKey struct {
	kind    listKind
	version Version
	scope   scope
	offset  int
}

// scope is who may keep a list: as the catalog says, or the caller alone.
type scope uint8

const (
	asDeclared scope = iota
	callerOnly
	scopes
)

// list returns the encoded result that begins with entry offset.
func (c *Catalog) list(k listKind, offset int, v Version, who scope) ([]byte, error) {
	c.index.Do(c.buildIndex)
	if c.uniform[k] && !v.Modern() {
		v = LatestLegacyVersion
	}
	if offset == 0 {
		if p := c.first[k][v][who].Load(); p != nil {
			return p.result, nil
		}
	} else if p, ok := c.rest.Load(pageKey{k, v, who, offset}); ok {
		return p.(*page).result, nil
	}
	result, err := c.encodePage(k, offset, v, who)
	if err != nil {
		return nil, err
	}
	if offset == 0 {
		c.first[k][v][who].Store(&page{result})
	} else if offset%c.pageSize() == 0 {
		// Only offsets that our own cursors hold are kept: others are few, and
		// keeping them would let a client fill the memory.
		c.rest.Store(pageKey{k, v, who, offset}, &page{result})
	}
	return result, nil
}

func (c *Catalog) pageSize() int {
	if c.PageSize > 0 {
		return c.PageSize
	}
	return DefaultPageSize
}

func (c *Catalog) encodePage(k listKind, offset int, v Version, who scope) ([]byte, error) {
	n := c.length(k)
	end := min(n, offset+c.pageSize())
	dst := append(append([]byte(`{"`), listMembers[k]...), `":[`...)
	for i := offset; i < end; i++ {
		entry, err := c.entry(k, i, v)
		if err != nil {
			return nil, fmt.Errorf("encode %s[%d]: %w", listMembers[k], i, err)
		}
		if i > offset {
			dst = append(dst, ',')
		}
		dst = append(dst, entry...)
	}
	dst = append(dst, ']')
	if end < n {
		dst = append(dst, `,"nextCursor":`...)
		dst = jsonscan.AppendQuote(dst, encodeCursor(k, end))
	}
	if v.Modern() {
		hint := c.Cache
		hint.Public = hint.Public && who == asDeclared
		dst = appendCacheHint(append(dst, ','), hint)
		dst = append(append(dst, ','), c.completeMembers()...)
	}
	dst = append(dst, '}')
	return dst[:len(dst):len(dst)], nil
}

func appendCacheHint(dst []byte, hint CacheHint) []byte {
	return appendScope(append(appendTTL(dst, hint), ','), hint)
}

func appendTTL(dst []byte, hint CacheHint) []byte {
	return strconv.AppendInt(append(dst, `"ttlMs":`...), max(0, hint.TTL.Milliseconds()), 10)
}

func appendScope(dst []byte, hint CacheHint) []byte {
	if hint.Public {
		return append(dst, `"cacheScope":"public"`...)
	}
	return append(dst, `"cacheScope":"private"`...)
}

const metaServerInfo = "io.modelcontextprotocol/serverInfo"

// serverInfo returns the encoded Server for version v.
func (c *Catalog) serverInfo(v Version) json.RawMessage {
	if info := c.infos[v].Load(); info != nil {
		return *info
	}
	info, err := c.Server.wire(v)
	if err != nil {
		info = json.RawMessage(`{}`) // strings always encode; nothing else can fail
	}
	c.infos[v].Store(&info)
	return info
}

// completeMembers are the members that every 2026-07-28 result ends with.
func (c *Catalog) completeMembers() []byte {
	dst := appendServerInfo([]byte(`"resultType":"complete","_meta":{`), c.serverInfo(LatestVersion))
	return append(dst, '}')
}
