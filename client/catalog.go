package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
		// A process may remember what it was called with, whatever its version.
		Stateless:  ses.http != nil && ses.version.Modern(),
		Extensions: extensions(jsonscan.Member(ses.capabilities, "extensions")),
	}
	ses.src.opts.Failover.declare(cat)
	_ = json.Unmarshal(ses.info, &cat.Server)
	cat.Server.Name = cmp.Or(cat.Server.Name, "unknown")
	cat.Server.Version = cmp.Or(cat.Server.Version, "0")
	size := int64(0)
	for _, l := range listsOf(cat) {
		if !ses.declares(l.capability) {
			continue
		}
		if err := ses.readList(ctx, l, &size); err != nil {
			return nil, err
		}
	}
	if ses.http != nil && ses.version.Modern() {
		ses.dropToolsWithInvalidHeaders(cat)
	}
	return cat, nil
}

// dropToolsWithInvalidHeaders removes tools that clients must not use over HTTP.
func (ses *session) dropToolsWithInvalidHeaders(cat *mcp.Catalog) {
	_, invalid := headersOf(cat)
	cat.Tools = slices.DeleteFunc(cat.Tools, func(t mcp.Tool) bool {
		return invalid[t.Name] != nil
	})
	for _, name := range slices.Sorted(maps.Keys(invalid)) {
		ses.src.report(Event{
			What:   EventLog,
			Detail: fmt.Sprintf("tool %q is skipped: %v", name, invalid[name]),
		})
	}
}

// catalogList is one of the lists of a server.
type catalogList struct {
	// capability is the capability that the server must declare for the list to be
	// requested.
	capability string
	// method requests a page, whose entries are in member.
	method string
	member string // of the results
	// add appends an entry to the catalog. It returns false if the entry is invalid.
	add func(raw json.RawMessage) bool
}

// listsOf returns the lists whose entries make up cat.
func listsOf(cat *mcp.Catalog) []catalogList {
	named := make(map[string]bool) // tools
	return []catalogList{
		{"tools", "tools/list", "tools", func(raw json.RawMessage) bool {
			return addEntry(&cat.Tools, raw, "name", func(t *mcp.Tool, name string) bool {
				repeated := named[name]
				named[name] = true
				t.Name = name
				t.Raw = raw
				t.InputSchema, t.OutputSchema = jsonscan.Member(raw,
					"inputSchema"), jsonscan.Member(raw, "outputSchema")
				return !repeated
			})
		}},
		{"resources", "resources/list", "resources", func(raw json.RawMessage) bool {
			return addEntry(&cat.Resources, raw, "uri", func(r *mcp.Resource, uri string) bool {
				r.URI = uri
				r.Raw = raw
				return true
			})
		}},
		{"resources", "resources/templates/list", "resourceTemplates", func(raw json.RawMessage) bool {
			return addEntry(&cat.Templates, raw, "uriTemplate", func(t *mcp.ResourceTemplate, template string) bool {
				t.URITemplate = template
				t.Raw = raw
				return true
			})
		}},
		{"prompts", "prompts/list", "prompts", func(raw json.RawMessage) bool {
			return addEntry(&cat.Prompts, raw, "name", func(p *mcp.Prompt, name string) bool {
				p.Name = name
				p.Raw = raw
				return true
			})
		}},
	}
}

// addEntry decodes an entry as far as possible and appends it to a list, if the member
// that identifies it is a string that set accepts.
func addEntry[E any](list *[]E, raw json.RawMessage, member string, set func(e *E, id string) bool) bool {
	var e E
	_ = json.Unmarshal(raw, &e) // a field with a wrong type stays zero
	id := memberString(raw, member)
	if id == "" || !set(&e, id) {
		return false
	}
	*list = append(*list, e)
	return true
}

// maxEmptyPages is how many consecutive pages may be empty and yet name another. A server
// that filters may send a few of them.
const maxEmptyPages = 8

// listReader reads a list of a server page by page. Its limits keep a server from
// exhausting memory or time with an endless list.
type listReader struct {
	catalogList
	// src receives reports of invalid entries.
	src  *Source
	size *int64 // bytes of all lists of the server so far
	// pages, entries and cursors are limited or checked for repetition, because a faulty
	// server could continue for ever.
	pages   int
	empty   int // consecutive empty pages
	entries int
	// dropped counts invalid entries, of which only the first are logged one by one.
	dropped int
	cursors map[string]bool
}

// readList requests one list, page by page. size counts the bytes of all lists.
func (ses *session) readList(ctx context.Context, list catalogList, size *int64) error {
	l := &listReader{
		catalogList: list,
		src:         ses.src,
		size:        size,
		cursors:     make(map[string]bool),
	}
	defer l.reportDropped()
	var params []byte
	for {
		result, err := ses.request(ctx, l.method, params)
		if err != nil {
			var e *mcp.Error
			if errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound {
				return nil // declared, but missing: no entries
			}
			return err
		}
		entries := jsonscan.Member(result, l.member)
		if entries == nil || entries[0] != '[' {
			return fmt.Errorf("%s: the answer has no array %q", l.method, l.member)
		}
		cursor, err := l.addPage(entries, result)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", l.method, ses.src.label(), err)
		}
		if cursor == nil {
			return nil
		}
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
}

// addPage adds the entries of one page, and returns the cursor of the next, or nil.
func (l *listReader) addPage(entries, result []byte) (cursor []byte, err error) {
	limits := &l.src.opts.Limits
	l.pages++
	if *l.size += int64(len(result)); *l.size > limits.ListBytes {
		return nil, fmt.Errorf("the lists have more than %d bytes", limits.ListBytes)
	}
	before := l.entries
	err = eachOf(entries, func(raw []byte) {
		if l.entries++; l.entries <= limits.Entries {
			l.addOrDrop(raw)
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
	case l.entries > limits.Entries:
		return nil, fmt.Errorf("more than %d entries", limits.Entries)
	case last:
		return nil, nil
	case l.cursors[string(cursor)]:
		return nil, errors.New("the server repeats a cursor")
	case l.empty >= maxEmptyPages:
		return nil, fmt.Errorf("%d empty pages in a row, each with a cursor for another", l.empty)
	case l.pages >= limits.Pages:
		return nil, fmt.Errorf("more than %d pages", limits.Pages)
	}
	l.cursors[string(cursor)] = true
	return cursor, nil
}

// maxDropsLogged is how many dropped entries of a list are logged individually.
const maxDropsLogged = 10

// addOrDrop adds one entry. It drops an entry that is invalid, or that two parsers could read
// differently.
func (l *listReader) addOrDrop(raw []byte) {
	why := "is invalid"
	if key := jsonscan.Duplicate(raw); key != nil {
		why = fmt.Sprintf("has a duplicate member %.64q", key)
	} else if l.add(compact(raw)) {
		return
	}
	l.src.junk.Add(1)
	if l.dropped++; l.dropped <= maxDropsLogged {
		name := cmp.Or(memberString(raw, "name"), memberString(raw, "uri"))
		l.src.report(Event{
			What:   EventLog,
			Detail: fmt.Sprintf("%s: entry %d (%.64q) %s and is dropped", l.method, l.entries, name, why),
		})
	}
}

// reportDropped logs how many invalid entries there were, if not all of them were logged.
func (l *listReader) reportDropped() {
	if l.dropped > maxDropsLogged {
		l.src.report(Event{
			What:   EventLog,
			Detail: fmt.Sprintf("%s: %d entries are dropped in all", l.method, l.dropped),
		})
	}
}

// compact returns a copy without whitespace between tokens.
func compact(raw []byte) json.RawMessage {
	return jsonscan.AppendCompact(make([]byte, 0, len(raw)), raw)
}

const tasksExtension = "io.modelcontextprotocol/tasks"

// extensions returns the server's declared extensions that can be relayed. Tasks cannot,
// because they would have to survive a restart.
func extensions(raw []byte) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	delete(all, tasksExtension)
	if len(all) == 0 {
		return nil
	}
	encoded, _ := mcp.Marshal(all) // valid JSON can always be encoded
	return encoded
}
