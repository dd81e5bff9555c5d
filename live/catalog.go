package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// list asks the server for all it offers.
func (ses *session) list(ctx context.Context) (*mcp.Catalog, error) {
	cat := &mcp.Catalog{
		Instructions: ses.instructions,
		// 2024-11-05 has the method, but no capability to say so.
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
	named := make(map[string]bool) // the tools
	lists := []struct {
		capability, method, key string
		add                     func(raw json.RawMessage) bool
	}{
		{"tools", "tools/list", "tools", func(raw json.RawMessage) bool { return addTool(cat, raw, named) }},
		{"resources", "resources/list", "resources", func(raw json.RawMessage) bool { return addResource(cat, raw) }},
		{"resources", "resources/templates/list", "resourceTemplates", func(raw json.RawMessage) bool { return addTemplate(cat, raw) }},
		{"prompts", "prompts/list", "prompts", func(raw json.RawMessage) bool { return addPrompt(cat, raw) }},
	}
	for _, l := range lists {
		if !ses.declares(l.capability) {
			continue
		}
		if err := ses.pages(ctx, l.method, l.key, l.add); err != nil {
			return nil, err
		}
	}
	if _, http := ses.link.(*httpLink); http && ses.version.Modern() {
		ses.dropWrong(cat)
	}
	return cat, nil
}

// dropWrong leaves out tools that clients must not use over HTTP.
func (ses *session) dropWrong(cat *mcp.Catalog) {
	_, wrong := headersOf(cat)
	for _, name := range wrong {
		cat.Tools = slices.DeleteFunc(cat.Tools, func(t mcp.Tool) bool { return t.Name == name })
		ses.src.tell(Event{What: "log", Detail: fmt.Sprintf("tool %q is left out: its x-mcp-header annotations break the rules", name)})
	}
}

// pages asks for one list, page by page.
func (ses *session) pages(ctx context.Context, method, key string, add func(json.RawMessage) bool) error {
	var params []byte
	seen := make(map[string]bool)
	for n := 0; ; {
		result, err := ses.request(ctx, method, params)
		if err != nil {
			var e *mcp.Error
			if errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound {
				return nil // declared, but not there: nothing of that kind
			}
			return err
		}
		entries := jsonscan.Member(result, key)
		if entries == nil || entries[0] != '[' {
			return fmt.Errorf("%s: the answer has no array %q", method, key)
		}
		err = eachOf(entries, func(raw []byte) {
			if n++; n <= ses.src.opts.MaxEntries && !add(compact(raw)) {
				ses.src.junk.Add(1)
				ses.src.tell(Event{What: "log", Detail: fmt.Sprintf("%s: entry %d makes no sense and is left out", method, n)})
			}
		})
		if err == nil && n > ses.src.opts.MaxEntries {
			err = fmt.Errorf("%s: more than %d entries", method, ses.src.opts.MaxEntries)
		}
		cursor := jsonscan.Member(result, "nextCursor")
		if err != nil || len(cursor) == 0 || cursor[0] != '"' {
			return err
		}
		if seen[string(cursor)] {
			return fmt.Errorf("%s: the same cursor is given twice", method)
		}
		seen[string(cursor)] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
}

// compact returns a copy without white space between tokens.
func compact(raw []byte) json.RawMessage {
	return jsonscan.AppendCompact(make([]byte, 0, len(raw)), raw)
}

// lenient decodes what it can: a field of a wrong type is left at its zero value.
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

// extensions returns what can be passed on of the extensions that the server
// declares. Tasks cannot: they would have to be kept across a restart.
func extensions(raw []byte) json.RawMessage {
	if !isObject(raw) {
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
