package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// list requests the catalog of the server.
func (ses *session) list(ctx context.Context) (*mcp.Catalog, error) {
	cat := &mcp.Catalog{
		Instructions: ses.instructions,
		// 2024-11-05 has the method, but no capability for it.
		Completions: ses.declares("completions") || ses.version == mcp.Version20241105,
		Logging:     ses.declares("logging"),
		Subscribe:   ses.declares("resources", "subscribe"),
		Extensions:  extensions(jsonscan.Member(ses.capabilities, "extensions")),
	}
	_ = json.Unmarshal(ses.info, &cat.Server)
	if cat.Server.Name == "" {
		cat.Server.Name = "unknown"
	}
	if cat.Server.Version == "" {
		cat.Server.Version = "0"
	}
	named := make(map[string]bool) // of tools
	lists := []struct {
		capability, method, key string
		add                     func(raw json.RawMessage) bool
	}{
		{"tools", "tools/list", "tools", func(raw json.RawMessage) bool { return addTool(cat, raw, named) }},
		{"resources", "resources/list", "resources", func(raw json.RawMessage) bool { return addResource(cat, raw) }},
		{
			"resources",
			"resources/templates/list",
			"resourceTemplates",
			func(raw json.RawMessage) bool { return addTemplate(cat, raw) },
		},
		{"prompts", "prompts/list", "prompts", func(raw json.RawMessage) bool { return addPrompt(cat, raw) }},
	}
	size := int64(0)
	for _, l := range lists {
		if !ses.declares(l.capability) {
			continue
		}
		if err := ses.readList(ctx, l.method, l.key, &size, l.add); err != nil {
			return nil, err
		}
	}
	if _, http := ses.link.(*httpLink); http && ses.version.Modern() {
		ses.dropWrong(cat)
	}
	return cat, nil
}

// dropWrong removes tools that clients must not use over HTTP.
func (ses *session) dropWrong(cat *mcp.Catalog) {
	_, wrong := headersOf(cat)
	for _, name := range wrong {
		cat.Tools = slices.DeleteFunc(cat.Tools, func(t mcp.Tool) bool { return t.Name == name })
		ses.src.report(Event{
			What:   "log",
			Detail: fmt.Sprintf("tool %q is left out: its x-mcp-header annotations break the rules", name),
		})
	}
}

// maxEmptyPages is how many consecutive pages may be empty and yet name another. A server
// that filters may send a few of them.
const maxEmptyPages = 8

// listing is a list of a server that is being read page by page. Its limits keep a server
// from exhausting memory or time with an endless list.
type listing struct {
	src     *Source
	method  string
	add     func(json.RawMessage) bool
	size    *int64 // bytes of all lists of the server so far
	pages   int
	empty   int // consecutive empty pages
	entries int
	dropped int
	cursors map[string]bool
}

// readList requests one list, page by page. size counts the bytes of all lists.
func (ses *session) readList(
	ctx context.Context, method, key string, size *int64, add func(json.RawMessage) bool,
) error {
	l := &listing{src: ses.src, method: method, add: add, size: size, cursors: make(map[string]bool)}
	defer l.reportDropped()
	var params []byte
	for {
		result, err := ses.request(ctx, method, params)
		if err != nil {
			var e *mcp.Error
			if errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound {
				return nil // declared, but missing: no entries
			}
			return err
		}
		entries := jsonscan.Member(result, key)
		if entries == nil || entries[0] != '[' {
			return fmt.Errorf("%s: the answer has no array %q", method, key)
		}
		cursor, err := l.page(entries, result)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", method, ses.src.label(), err)
		}
		if cursor == nil {
			return nil
		}
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
}

// page adds the entries of one page, and returns the cursor of the next, or nil.
func (l *listing) page(entries, result []byte) (cursor []byte, err error) {
	limits := &l.src.opts
	l.pages++
	if *l.size += int64(len(result)); *l.size > limits.MaxListBytes {
		return nil, fmt.Errorf("the lists have more than %d bytes", limits.MaxListBytes)
	}
	before := l.entries
	err = eachOf(entries, func(raw []byte) {
		if l.entries++; l.entries <= limits.MaxEntries {
			l.take(raw)
		}
	})
	cursor = jsonscan.Member(result, "nextCursor")
	last := len(cursor) == 0 || cursor[0] != '"'
	if l.empty++; l.entries > before {
		l.empty = 0
	}
	switch {
	case err != nil:
		return nil, err
	case l.entries > limits.MaxEntries:
		return nil, fmt.Errorf("more than %d entries", limits.MaxEntries)
	case last:
		return nil, nil
	case l.cursors[string(cursor)]:
		return nil, errors.New("the same cursor is given twice")
	case l.empty >= maxEmptyPages:
		return nil, fmt.Errorf("%d empty pages in a row, each with a cursor for another", l.empty)
	case l.pages >= limits.MaxPages:
		return nil, fmt.Errorf("more than %d pages", limits.MaxPages)
	}
	l.cursors[string(cursor)] = true
	return cursor, nil
}

// maxDropsLogged is how many dropped entries of a list are logged individually.
const maxDropsLogged = 10

// take adds one entry. It drops an entry that is invalid, or that two parsers could read
// differently.
func (l *listing) take(raw []byte) {
	why := "is invalid"
	if key := jsonscan.Duplicate(raw); key != nil {
		why = fmt.Sprintf("has the member %.64q twice", key)
	} else if l.add(compact(raw)) {
		return
	}
	l.src.junk.Add(1)
	if l.dropped++; l.dropped <= maxDropsLogged {
		name := memberString(raw, "name")
		if name == "" {
			name = memberString(raw, "uri")
		}
		l.src.report(Event{What: EventLog,
			Detail: fmt.Sprintf("%s: entry %d (%.64q) %s and is dropped", l.method, l.entries, name, why)})
	}
}

func (l *listing) reportDropped() {
	if l.dropped > maxDropsLogged {
		l.src.report(Event{What: EventLog, Detail: fmt.Sprintf("%s: %d entries are dropped in all", l.method, l.dropped)})
	}
}

// compact returns a copy without whitespace between tokens.
func compact(raw []byte) json.RawMessage {
	return jsonscan.AppendCompact(make([]byte, 0, len(raw)), raw)
}

// lenient decodes as much as possible: a field with a wrong type stays zero.
func lenient(raw json.RawMessage, into any) {
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, into); err != nil && !errors.As(err, &wrong) {
		return
	}
}

func addTool(cat *mcp.Catalog, raw json.RawMessage, named map[string]bool) bool {
	t := mcp.Tool{}
	lenient(raw, &t)
	t.Name = memberString(raw, "name")
	if t.Name == "" || named[t.Name] {
		return false
	}
	named[t.Name] = true
	t.InputSchema, t.OutputSchema = jsonscan.Member(raw, "inputSchema"), jsonscan.Member(raw, "outputSchema")
	t.Raw = raw
	cat.Tools = append(cat.Tools, t)
	return true
}

func addResource(cat *mcp.Catalog, raw json.RawMessage) bool {
	r := mcp.Resource{}
	lenient(raw, &r)
	if r.URI = memberString(raw, "uri"); r.URI == "" {
		return false
	}
	r.Raw = raw
	cat.Resources = append(cat.Resources, r)
	return true
}

func addTemplate(cat *mcp.Catalog, raw json.RawMessage) bool {
	t := mcp.ResourceTemplate{}
	lenient(raw, &t)
	if t.URITemplate = memberString(raw, "uriTemplate"); t.URITemplate == "" {
		return false
	}
	t.Raw = raw
	cat.Templates = append(cat.Templates, t)
	return true
}

func addPrompt(cat *mcp.Catalog, raw json.RawMessage) bool {
	p := mcp.Prompt{}
	lenient(raw, &p)
	if p.Name = memberString(raw, "name"); p.Name == "" {
		return false
	}
	p.Raw = raw
	cat.Prompts = append(cat.Prompts, p)
	return true
}

const tasksExtension = "io.modelcontextprotocol/tasks"

// extensions returns the server's declared extensions that can be relayed. Tasks cannot,
// because they would have to survive a restart.
func extensions(raw []byte) json.RawMessage {
	if !jsonscan.IsObject(raw) {
		return nil
	}
	all := make(map[string]json.RawMessage)
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	delete(all, tasksExtension)
	if len(all) == 0 {
		return nil
	}
	encoded, err := mcp.Marshal(all)
	if err != nil {
		return nil
	}
	return encoded
}
