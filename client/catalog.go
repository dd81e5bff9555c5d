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

// list requests the catalog of the server, or only some of its lists: the others are those of
// old, the current catalog. failed are the lists that the server fails to return, unless it is
// that of the tools or all there is. Such a list is that of old, or else missing in the catalog,
// see [mcp.Catalog.Missing].
func (ses *session) list(
	ctx context.Context,
	wanted wantedLists,
	old *mcp.Catalog,
) (_ *mcp.Catalog, failed []mcp.Missing, err error) {
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
	size := wanted.size
	var failure error // the first one
	for _, l := range listsOf(cat) {
		if !ses.declares(l.capability) {
			continue
		}
		if !wanted.has(l.method) {
			l.keep(cat, old)
			continue
		}
		before := size
		dropped, err := ses.readList(ctx, l, &size)
		if err == nil {
			cat.Missing = append(cat.Missing, dropped...)
			continue
		}
		if l.method == "tools/list" || !ses.failsAlone(ctx, err) {
			return nil, nil, err
		}
		failure = cmp.Or(failure, err)
		size = before
		m := mcp.Missing{
			List: l.method,
			Why:  truncate(err.Error(), maxWhyMissing),
		}
		failed = append(failed, m)
		l.set(&mcp.Catalog{})
		if old != nil && !lacks(old, "", l.method) {
			l.keep(cat, old)
		} else {
			cat.Missing = append(cat.Missing, m)
		}
	}
	cat.Growing = cat.Incomplete() != nil // they are requested again
	if failure != nil && len(cat.Tools)+len(cat.Resources)+len(cat.Templates)+len(cat.Prompts) == 0 {
		return nil, nil, failure
	}
	if ses.http != nil && ses.version.Modern() {
		ses.dropToolsWithInvalidHeaders(cat)
	}
	ses.noteFailed(failed, size)
	return cat, failed, nil
}

// keep sets the list in cat to that of old.
func (l *catalogList) keep(cat, old *mcp.Catalog) {
	l.set(old)
	for _, m := range old.Missing {
		if m.List == l.method {
			cat.Missing = append(cat.Missing, m)
		}
	}
}

// lacks reports whether a list of a source is missing in cat.
func lacks(cat *mcp.Catalog, source, list string) bool {
	return slices.ContainsFunc(cat.Missing, func(m mcp.Missing) bool {
		return m.Entry == 0 && m.Source == source && m.List == list
	})
}

// failsAlone reports whether a list fails because of what the server answers to its request, so
// that other requests may succeed.
func (ses *session) failsAlone(ctx context.Context, err error) bool {
	var status *StatusError
	switch {
	case ctx.Err() != nil, !ses.alive(), isPermanent(err):
		return false
	case errors.As(err, new(*lostError)), errors.As(err, new(*AuthorizeError)):
		return false
	case errors.As(err, &status) && status.Refused():
		return false
	}
	return true
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
	// add appends an entry to the catalog. It returns why the entry cannot be used, or "".
	add func(raw json.RawMessage) string
	// set replaces the entries of the catalog by those of another one.
	set func(from *mcp.Catalog)
}

// listsOf returns the lists whose entries make up cat.
func listsOf(cat *mcp.Catalog) []catalogList {
	named := make(map[string]bool) // tools
	return []catalogList{
		{"tools", "tools/list", "tools", func(raw json.RawMessage) string {
			return addEntry(&cat.Tools, raw, "name", func(t *mcp.Tool, name string) string {
				if named[name] {
					return "has the name of another one"
				}
				named[name] = true
				t.Name = name
				t.Raw = raw
				t.InputSchema, t.OutputSchema = jsonscan.Member(raw,
					"inputSchema"), jsonscan.Member(raw, "outputSchema")
				return ""
			})
		}, func(from *mcp.Catalog) { cat.Tools = slices.Clip(from.Tools) }},
		{"resources", "resources/list", "resources", func(raw json.RawMessage) string {
			return addEntry(&cat.Resources, raw, "uri", func(r *mcp.Resource, uri string) string {
				r.URI = uri
				r.Raw = raw
				return ""
			})
		}, func(from *mcp.Catalog) { cat.Resources = slices.Clip(from.Resources) }},
		{"resources", "resources/templates/list", "resourceTemplates", func(raw json.RawMessage) string {
			return addEntry(&cat.Templates, raw, "uriTemplate", func(t *mcp.ResourceTemplate, template string) string {
				t.URITemplate = template
				t.Raw = raw
				return ""
			})
		}, func(from *mcp.Catalog) { cat.Templates = slices.Clip(from.Templates) }},
		{"prompts", "prompts/list", "prompts", func(raw json.RawMessage) string {
			return addEntry(&cat.Prompts, raw, "name", func(p *mcp.Prompt, name string) string {
				p.Name = name
				p.Raw = raw
				return ""
			})
		}, func(from *mcp.Catalog) { cat.Prompts = slices.Clip(from.Prompts) }},
	}
}

// addEntry decodes an entry as far as possible and appends it to a list, if the member
// that identifies it is a string that set accepts. Otherwise it returns why not.
func addEntry[E any](
	list *[]E,
	raw json.RawMessage,
	member string,
	set func(e *E, id string) (why string),
) (why string) {
	var e E
	_ = json.Unmarshal(raw, &e) // a field with a wrong type stays zero
	id := memberString(raw, member)
	if id == "" {
		return "has no " + member
	}
	if why = set(&e, id); why != "" {
		return why
	}
	*list = append(*list, e)
	return ""
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
	// dropped counts unusable entries, of which missing has the first.
	dropped int
	missing []mcp.Missing
	cursors map[string]bool
}

// readList requests one list, page by page. size counts the bytes of all lists. dropped are the
// entries that cannot be used.
func (ses *session) readList(
	ctx context.Context,
	list catalogList,
	size *int64,
) (dropped []mcp.Missing, err error) {
	l := &listReader{
		catalogList: list,
		src:         ses.src,
		size:        size,
		cursors:     make(map[string]bool),
	}
	defer func() { dropped = l.dropEntries() }()
	var params []byte
	for {
		result, err := ses.request(ctx, l.method, params)
		if err != nil {
			var e *mcp.Error
			if errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound {
				return nil, nil // declared, but missing: no entries
			}
			return nil, err
		}
		entries := jsonscan.Member(result, l.member)
		if entries == nil || entries[0] != '[' {
			return nil, fmt.Errorf("%s: the answer has no array %q", l.method, l.member)
		}
		cursor, err := l.addPage(entries, result)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", l.method, ses.src.label(), err)
		}
		if cursor == nil {
			return nil, nil
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

// maxWhyMissing is how many bytes of the text of a server say why a list or an entry is missing.
const maxWhyMissing = 500

// maxDropsNamed is how many dropped entries of a list are named individually.
const maxDropsNamed = 10

// addOrDrop adds one entry. It drops an entry that is invalid, or that two parsers could read
// differently.
func (l *listReader) addOrDrop(raw []byte) {
	var why string
	if key := jsonscan.Duplicate(raw); key != nil {
		why = fmt.Sprintf("has a duplicate member %.64q", key)
	} else if why = l.add(compact(raw)); why == "" {
		return
	}
	l.src.junk.Add(1)
	if l.dropped++; l.dropped <= maxDropsNamed {
		name := cmp.Or(memberString(raw, "name"), memberString(raw, "uri"))
		l.missing = append(l.missing, mcp.Missing{
			List:  l.method,
			Entry: l.entries,
			Why: fmt.Sprintf("%s: entry %d (%.64q) %s and is dropped", l.method, l.entries, name,
				truncate(why, maxWhyMissing)),
		})
	}
}

// dropEntries reports the entries that were dropped, and returns them.
func (l *listReader) dropEntries() []mcp.Missing {
	if l.dropped > maxDropsNamed {
		l.missing = append(l.missing, mcp.Missing{
			List:  l.method,
			Entry: l.entries,
			Why:   fmt.Sprintf("%s: %d entries are dropped in all", l.method, l.dropped),
		})
	}
	for _, m := range l.missing {
		l.src.report(Event{
			What:   EventLog,
			Detail: m.Why,
		})
	}
	return l.missing
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
