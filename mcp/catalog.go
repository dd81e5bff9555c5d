package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// DefaultPageSize is the number of entries in one page of a list, unless
// [Catalog.PageSize] is set.
const DefaultPageSize = 1000

// Catalog is what a [Source] offers at one moment. It becomes immutable when a Source
// returns it: to change what is offered, return another Catalog. It must not be copied by
// assignment, see [Catalog.Copy]. It is safe for concurrent use.
//
// Clients see the entries in the order of the slices.
type Catalog struct {
	// Server is the serverInfo shown to clients.
	Server Implementation
	// Instructions explain the server to a model. They may be empty.
	Instructions string

	// Tools, Resources, Templates and Prompts are the lists, in the order in which clients
	// see them. Names of tools and prompts and URIs of resources are unique within their
	// list.
	Tools     []Tool
	Resources []Resource
	Templates []ResourceTemplate
	Prompts   []Prompt
	// Completions means that Source.Complete can return suggestions.
	Completions bool
	// Subscribe means that the source is a [Watcher] that reports changes of single
	// resources ([Change.URI]).
	Subscribe bool
	// Tasks means that tools may answer with a task ([Request.Task]).
	Tasks bool
	// Logging means that the source sends log lines to clients ([Request.Log]).
	Logging bool

	// Stateless means that the source keeps nothing for a session: whatever a client does, each
	// call depends on its arguments and its caller alone. Another server with the same source
	// can then continue the sessions of this one.
	Stateless bool
	// Restartable means that another server with the same source may continue the sessions of
	// this one although the source keeps something for them, which is then lost. The source of the
	// other server begins with nothing.
	Restartable bool

	// Growing means that tools, resources and prompts may be added later. Their capabilities
	// are declared to clients even while the lists are empty.
	Growing bool

	// WithheldTools and WithheldPrompts map the names of tools and prompts that exist but
	// are not offered to the reason. A client that uses such a name gets the reason as the
	// error message, rather than an unknown name error. Usually nil.
	WithheldTools, WithheldPrompts map[string]string

	// Missing are the parts of an offer that the catalog lacks: lists that a server failed to
	// return, and the first of the entries that clients could not use. Usually nil. What
	// records or compares the whole offer must refuse a catalog with [Catalog.Incomplete].
	Missing []Missing

	// Sources are the sources that the catalog was joined from, including nested ones. Nil
	// if the source does not join others.
	Sources []JoinedSource

	// Extensions are the capabilities.extensions that the source declares, as a JSON object,
	// or nil.
	Extensions json.RawMessage

	// PageSize is the number of entries in one page of a list; 0 means [DefaultPageSize].
	PageSize int
	// Cache specifies how long 2026-07-28 clients may cache the lists.
	Cache CacheHint
	// PerCaller means that the catalog is for the caller of the request alone: neither it nor
	// anything computed from it may be shown to others. Cache.Public is then ignored.
	PerCaller bool

	// index guards the maps below it, which are built at the first lookup: most catalogs
	// of a [Watcher] are replaced before anyone looks for a name.
	index   sync.Once
	tools   map[string]int
	prompts map[string]int
	headers map[string][]HeaderParam // by tool name; most tools have none
	// uniform means that all entries of a list are Raw, so all versions without an envelope
	// get the same bytes.
	uniform [listKinds]bool

	version lazy[string]
	// first caches the encoded first page by list, version and scope. Almost every request
	// for a list reads one, so that it takes no lock; all other pages are in rest.
	first [listKinds][LatestVersion + 1][scopes]atomic.Pointer[page]
	rest  sync.Map // pageKey to *page
	// infos caches the encoded serverInfo by version.
	infos [LatestVersion + 1]atomic.Pointer[json.RawMessage]
}

// Copy returns a catalog with the same offer. Until it is used, its lists can be replaced
// and names added to the withheld ones. The entries are shared with c.
func (c *Catalog) Copy() *Catalog {
	return &Catalog{
		Server:          c.Server,
		Instructions:    c.Instructions,
		Tools:           c.Tools,
		Resources:       c.Resources,
		Templates:       c.Templates,
		Prompts:         c.Prompts,
		Completions:     c.Completions,
		Subscribe:       c.Subscribe,
		Tasks:           c.Tasks,
		Logging:         c.Logging,
		Stateless:       c.Stateless,
		Restartable:     c.Restartable,
		Growing:         c.Growing,
		WithheldTools:   maps.Clone(c.WithheldTools),
		WithheldPrompts: maps.Clone(c.WithheldPrompts),
		Missing:         c.Missing,
		Sources:         c.Sources,
		Extensions:      c.Extensions,
		PageSize:        c.PageSize,
		Cache:           c.Cache,
		PerCaller:       c.PerCaller,
	}
}

// JoinedSource is one of the sources that a [Catalog] was joined from.
type JoinedSource struct {
	// Name is the [Origin.Source] of its tools.
	Name string
	// Unknown means that the source is not open yet, because it is being started or built, or
	// cannot be reached: what it offers is not known, or provisional.
	Unknown bool
}

// Missing is a part of a server's offer that its [Catalog] lacks.
type Missing struct {
	// Source is the [JoinedSource.Name] of the server, or empty if it is the only one.
	Source string
	// List is the method of the list, such as "prompts/list".
	List string
	// Entry is the number of the entry in the list, from 1, or 0 for the whole list.
	Entry int
	// Why is the reason, such as "prompts/list: database down". It contains text of the server.
	Why string
}

// String returns the reason, after the name of the source.
func (m Missing) String() string {
	if m.Source == "" {
		return m.Why
	}
	return m.Source + ": " + m.Why
}

// Incomplete returns an error that names the lists that are missing, or nil if all of them are
// in the catalog. Entries that are missing do not count: clients cannot use them anyway.
func (c *Catalog) Incomplete() error {
	var lists []string
	for _, m := range c.Missing {
		if m.Entry == 0 {
			lists = append(lists, m.String())
		}
	}
	if lists == nil {
		return nil
	}
	return &IncompleteError{Lists: lists}
}

// IncompleteError is why the whole offer of a server is not known.
type IncompleteError struct {
	// Lists has the text of each [Missing] list.
	Lists []string
}

// Error implements the error interface.
func (e *IncompleteError) Error() string {
	return "the server does not return all of its lists: " + strings.Join(e.Lists, "; ")
}

// Size estimates the memory that the catalog uses, in bytes: its texts, which other catalogs may
// share, are encoded for two groups of versions. It is computed at each call, in linear time.
func (c *Catalog) Size() int64 {
	const each = 400
	size := 1024 + 2*int64(len(c.Instructions)+len(c.Extensions))
	for i := range c.Tools {
		t := &c.Tools[i]
		size += each + 2*int64(len(t.Raw)+len(t.Description)+len(t.InputSchema)+len(t.OutputSchema))
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		size += each + 2*int64(len(r.Raw)+len(r.Description)+len(r.URI))
	}
	for i := range c.Templates {
		t := &c.Templates[i]
		size += each + 2*int64(len(t.Raw)+len(t.Description)+len(t.URITemplate))
	}
	for i := range c.Prompts {
		p := &c.Prompts[i]
		size += each + 2*int64(len(p.Raw)+len(p.Description))
	}
	return size
}

// Unknown reports whether c was joined from sources and all of them are unknown, so that
// what it offers may change soon.
func (c *Catalog) Unknown() bool {
	for i := range c.Sources {
		if !c.Sources[i].Unknown {
			return false
		}
	}
	return len(c.Sources) > 0
}

var emptyCatalog = &Catalog{Server: Implementation{
	Name:    "empty",
	Version: "0",
}}

// lazy is a value computed on first use.
type lazy[T any] struct {
	once  sync.Once
	value T
}

func (l *lazy[T]) get(compute func() T) T {
	l.once.Do(func() { l.value = compute() })
	return l.value
}

// Tool returns the named tool, or nil. The result is read-only.
func (c *Catalog) Tool(name string) *Tool {
	c.index.Do(c.buildIndex)
	if i, ok := c.tools[name]; ok {
		return &c.Tools[i]
	}
	return nil
}

// HeaderParams returns the parameters of a tool that 2026-07-28 clients repeat in headers.
func (c *Catalog) HeaderParams(t *Tool) []HeaderParam {
	c.index.Do(c.buildIndex)
	return c.headers[t.Name]
}

// Prompt returns the named prompt, or nil. The result is read-only.
func (c *Catalog) Prompt(name string) *Prompt {
	c.index.Do(c.buildIndex)
	if i, ok := c.prompts[name]; ok {
		return &c.Prompts[i]
	}
	return nil
}

// buildIndex indexes the entries by name. If a name is repeated, the first entry wins.
func (c *Catalog) buildIndex() {
	c.tools = make(map[string]int, len(c.Tools))
	for i := len(c.Tools) - 1; i >= 0; i-- {
		t := &c.Tools[i]
		c.tools[t.Name] = i
		if found, _ := HeaderParams(t.InputSchema); found != nil {
			if c.headers == nil {
				c.headers = make(map[string][]HeaderParam)
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

// Version returns a short hash that is equal for two catalogs only if all clients would
// see the same in both.
func (c *Catalog) Version() string {
	return c.version.get(func() string { return c.digest() })
}

// digest computes the version. It is a method so that the compiler does not copy it to each caller of Version.
func (c *Catalog) digest() string {
	sum := sha256.New()
	info, _ := Marshal(c.Server)
	fmt.Fprintf(sum, "%s\n%q\n%t %t %t %t\n%s\n",
		info, c.Instructions, c.Completions, c.Logging, c.Subscribe, c.Tasks, c.Extensions)
	if c.WithheldTools != nil || c.WithheldPrompts != nil {
		fmt.Fprintf(sum, "%q\n%q\n", c.WithheldTools, c.WithheldPrompts)
	}
	for _, m := range c.Missing {
		if m.Entry == 0 { // Why may contain the time or a number of the request
			fmt.Fprintf(sum, "%q %q\n", m.Source, m.List)
		}
	}
	for kind := range listKinds {
		for i := range c.length(kind) {
			entry, _ := c.entry(kind, i, LatestVersion)
			sum.Write(entry)
			sum.Write([]byte{'\n'})
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
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

var (
	listMethods = [listKinds]string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"}
	listMembers = [listKinds]string{"tools", "resources", "resourceTemplates", "prompts"}
)

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

// page is an encoded list result, shared by all requests for it.
type page struct{ result []byte }

// pageKey identifies an encoded page other than a first one. A scope is part of it because
// hints about caching differ.
type pageKey struct {
	kind    listKind
	version Version
	scope   scope
	offset  int
}

// scope is who may cache a list: as declared by the catalog, or only the caller.
type scope uint8

const (
	asDeclared scope = iota
	callerOnly
	scopes
)

// List returns the encoded result of tools/list, resources/list, resources/templates/list
// or prompts/list for a client, starting at a cursor of an earlier page. An empty cursor
// is the start of the list. The result is shared and must not be modified. If the cursor
// does not belong to the list, the error is an [*Error].
func (c *Catalog) List(method, cursor string, f Form) (json.RawMessage, error) {
	k := listKind(slices.Index(listMethods[:], method))
	offset, ok := decodeCursor(cursor, k)
	if !ok {
		return nil, Errorf(CodeInvalidParams,
			"invalid cursor: use the nextCursor of an earlier answer to the same list")
	}
	who := asDeclared
	if (f.Private || c.PerCaller) && c.Cache.Public {
		who = callerOnly
	}
	return c.page(k, min(offset, c.length(k)), f.Version, who)
}

// page returns the encoded page that starts with entry offset.
func (c *Catalog) page(k listKind, offset int, v Version, who scope) ([]byte, error) {
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
		// Only offsets from our own cursors are kept. Others are rare, and keeping them would
		// let a client fill the memory.
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

// encodePage encodes a page of a list, from the entry at offset. An entry that cannot be
// encoded fails the whole page, since a client would otherwise miss it without notice. The
// result has no spare capacity, so that appending to it copies.
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
	return strconv.AppendInt(append(dst, `"ttlMs":`...),
		max(0, hint.TTL.Milliseconds()), 10)
}

// appendScope appends who may cache a result (2026-07-28, caching).
func appendScope(dst []byte, hint CacheHint) []byte {
	if hint.Public {
		return append(dst, `"cacheScope":"public"`...)
	}
	return append(dst, `"cacheScope":"private"`...)
}

const metaServerInfo = "io.modelcontextprotocol/serverInfo"

// ServerInfo returns Server as a client of version v receives it. The result is shared and
// must not be modified.
func (c *Catalog) ServerInfo(v Version) json.RawMessage {
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

// completeMembers returns the final members of every 2026-07-28 result.
func (c *Catalog) completeMembers() []byte {
	dst := appendServerInfo([]byte(`"resultType":"complete","_meta":{`),
		c.ServerInfo(LatestVersion))
	return append(dst, '}')
}
