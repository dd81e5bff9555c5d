package staticmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Question identifies one stored answer: a call of a tool, a resource or a prompt.
// Exactly one of Tool, URI and Prompt is set.
type Question struct {
	// Tool, URI and Prompt say what is asked; exactly one is set.
	Tool   string `json:"tool,omitempty"`
	URI    string `json:"uri,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	// Arguments is a JSON object in path order, or nil. Those of a prompt are strings.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Lookup is [Site.CallTool], but reports whether the call has a stored answer instead of
// returning a message for the model.
func (s *Site) Lookup(
	ctx context.Context,
	params *mcp.CallToolParams,
) (result *mcp.CallToolResult, stored bool, err error) {
	o := s.offer.Load()
	t := o.tools[params.Name]
	if t == nil {
		return nil, false, mcp.UnknownTool(params.Name)
	}
	p, err := s.planCall(o, t, params.Arguments)
	if err != nil {
		return nil, false, err
	}
	d, err := s.find(ctx, p, &t.learnt, func(d *document) bool {
		return d.params == nil || t.isFor(d.params, p.values)
	})
	switch {
	case errors.Is(err, site.ErrMissing) || err == nil && d.others != nil:
		return nil, false, nil
	case err != nil:
		return nil, false, s.wireError(err, mcp.CodeToolUnavailable)
	}
	return d.tool, true, nil
}

// ReadFile returns the file of the site at path, which has slashes. If the file does not
// exist, the error matches fs.ErrNotExist.
func (s *Site) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if !site.IsSafePath(path) {
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	f, err := s.store.Load(ctx, path, nil, s.opts.MaxFileBytes)
	if errors.Is(err, site.ErrMissing) {
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return f.Data, nil
}

// Index returns the entries of the site's index (index.json and its parts), or nil if it
// has none in a supported format. The error is that of reading a file, or a part that is
// not valid JSON.
func (s *Site) Index(ctx context.Context) ([]IndexEntry, error) {
	data, err := s.ReadFile(ctx, IndexPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var index Index
	if err := json.Unmarshal(data, &index); err != nil || index.Format != 1 {
		return nil, nil
	}
	entries := index.Files
	for _, shard := range index.Shards {
		data, err := s.ReadFile(ctx, shard.Path)
		if err != nil {
			return nil, err
		}
		var part []IndexEntry
		if err := json.Unmarshal(data, &part); err != nil {
			return nil, fmt.Errorf("read %s: %w", shard.Path, err)
		}
		entries = append(entries, part...)
	}
	return entries, nil
}

// Questions returns what the site has answers for, according to its index or, without
// one, to the names of its files if it can be listed. File names are encoded; where the
// definitions list the values themselves, these are used. The resources of the manifest
// are always included.
func (s *Site) Questions(ctx context.Context) ([]Question, error) {
	entries, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	var list []Question
	if entries != nil {
		for i := range entries {
			e := &entries[i]
			if !e.Alias && e.Tool+e.URI+e.Prompt != "" {
				list = append(list, Question{e.Tool, e.URI, e.Prompt, e.Arguments})
			}
		}
		return list, nil
	}
	o := s.offer.Load()
	for i := range o.catalog.Resources {
		list = append(list, Question{URI: o.catalog.Resources[i].URI})
	}
	if !s.store.Traits().Listed {
		return list, nil
	}
	for i := range o.catalog.Tools {
		list = append(list, s.toolQuestions(ctx, o.tools[o.catalog.Tools[i].Name])...)
	}
	for i := range o.catalog.Prompts {
		list = append(list, s.promptQuestions(ctx, &o.catalog.Prompts[i])...)
	}
	return append(list, s.unlisted(ctx, o, site.ResourcesDir)...), nil
}

// pathsBelow calls visit with the parts of each path below dir that can be an answer.
func (s *Site) pathsBelow(ctx context.Context, dir string, depth int, parts []string, visit func(parts []string)) {
	l, err := s.listing(ctx, dir)
	if err != nil || depth == 0 {
		return
	}
	for _, name := range l.files {
		visit(append(slices.Clip(parts), name))
	}
	for _, name := range l.folders {
		s.pathsBelow(ctx, dir+"/"+name, depth-1, append(slices.Clip(parts), name), visit)
	}
}

// toolQuestions derives the calls of a tool from the names of its files.
func (s *Site) toolQuestions(ctx context.Context, t *tool) []Question {
	var list []Question
	_, err := s.document(ctx, site.ToolsDir+"/"+t.name+site.Extension)
	if err == nil {
		list = append(list, Question{
			Tool:      t.name,
			Arguments: json.RawMessage(`{}`),
		})
	}
	known := t.knownValues()
	s.pathsBelow(ctx, site.ToolsDir+"/"+t.name, len(t.params), nil, func(parts []string) {
		if raw := t.callOf(parts, known); raw != nil {
			list = append(list, Question{
				Tool:      t.name,
				Arguments: raw,
			})
		}
	})
	return list
}

// knownValues returns the values that the schema lists, by argument and by file name.
func (t *tool) knownValues() []map[string]json.RawMessage {
	known := make([]map[string]json.RawMessage, len(t.params))
	for _, part := range site.SchemaParts(t.inputSchema, t.inputSchema, nil) {
		for _, m := range jsonscan.Members(part) {
			if m.Name != "properties" || m.Value[0] != '{' {
				continue
			}
			for _, property := range jsonscan.Members(m.Value) {
				i := t.param(property.Name)
				if i >= 0 && property.Value[0] == '{' {
					known[i] = listedValues(property.Value)
				}
			}
		}
	}
	return known
}

// listedValues returns the values that a schema lists, by encoded name, to find the
// original of a file name.
func listedValues(schema []byte) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage)
	for _, keyword := range jsonscan.Members(schema) {
		if (keyword.Name != "enum" && keyword.Name != "examples") ||
			keyword.Value[0] != '[' {
			continue
		}
		for _, element := range jsonscan.Elements(keyword.Value) {
			for _, text := range spellings(element)[:min(1, len(spellings(element)))] {
				values[site.EncodeName(text)] = element
			}
		}
	}
	return values
}

// callOf returns arguments whose path has these parts, or nil.
func (t *tool) callOf(parts []string, known []map[string]json.RawMessage) json.RawMessage {
	// With fewer parts than arguments, they are the required ones, then the optional ones.
	if len(parts) > len(t.params) {
		return nil
	}
	doc := []byte{'{'}
	for i, part := range parts {
		value := known[i][part]
		if value == nil {
			value = site.Quote(part)
			if jsonscan.Valid([]byte(part)) == nil && !t.allows(i, value) {
				value = json.RawMessage(part)
			}
		}
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(append(append(doc, site.Quote(t.params[i].name)...), ':'), value...)
	}
	doc = append(doc, '}')
	if _, err := t.arguments(doc); err != nil {
		return nil
	}
	return doc
}

// allows reports whether the schema of the argument at index i accepts value.
func (t *tool) allows(i int, value []byte) bool {
	kind := ""
	for _, part := range site.SchemaParts(t.inputSchema, t.inputSchema, nil) {
		for _, m := range jsonscan.Members(part) {
			if m.Name != "properties" || m.Value[0] != '{' {
				continue
			}
			for _, property := range jsonscan.Members(m.Value) {
				if property.Name == t.params[i].name && property.Value[0] == '{' {
					for _, keyword := range jsonscan.Members(property.Value) {
						if keyword.Name == "type" {
							kind, _ = jsonscan.Unquote(keyword.Value)
						}
					}
				}
			}
		}
	}
	return kind == "" || kind == "string"
}

// promptQuestions returns the calls of a prompt that have answers. Their arguments are the
// encoded names, which lead to the same files.
func (s *Site) promptQuestions(ctx context.Context, p *mcp.Prompt) []Question {
	var list []Question
	_, err := s.document(ctx, site.PromptsDir+"/"+p.Name+site.Extension)
	if err == nil {
		list = append(list, Question{Prompt: p.Name})
	}
	s.pathsBelow(ctx, site.PromptsDir+"/"+p.Name, len(p.Arguments), nil, func(parts []string) {
		doc := []byte{'{'}
		for i, part := range parts {
			if i > 0 {
				doc = append(doc, ',')
			}
			doc = append(append(append(doc, site.Quote(p.Arguments[i].Name)...), ':'), site.Quote(part)...)
		}
		list = append(list, Question{
			Prompt:    p.Name,
			Arguments: append(doc, '}'),
		})
	})
	return list
}

// maxNested is how many levels of resource folders are searched.
const maxNested = 32

// unlisted finds the resources that the manifest does not list, by the URIs in their
// files.
func (s *Site) unlisted(ctx context.Context, o *offer, dir string) []Question {
	var list []Question
	s.pathsBelow(ctx, dir, maxNested, nil, func(parts []string) {
		d, err := s.document(ctx, dir+"/"+strings.Join(parts, "/")+site.Extension)
		if err != nil || d.uri == "" || d.others != nil {
			return
		}
		if _, listed := o.resources[d.uri]; !listed {
			list = append(list, Question{URI: d.uri})
		}
	})
	return list
}
