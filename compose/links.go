package compose

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Paths of resource URIs in definitions and results, as member names; "*" matches each
// element of an array.
var (
	linksOfMeta = [][]string{{"ui", "resourceUri"}, {"ui/resourceUri"}, {"openai/outputTemplate"}}
	linksOfTool = [][]string{
		{"_meta", "ui", "resourceUri"}, {"_meta", "ui/resourceUri"}, {"_meta", "openai/outputTemplate"},
	}
	linksOfCall   = [][]string{{"content", "*", "uri"}, {"content", "*", "resource", "uri"}}
	linksOfPrompt = [][]string{
		{"messages", "*", "content", "uri"},
		{"messages", "*", "content", "resource", "uri"},
	}
	linksOfRead = [][]string{{"contents", "*", "uri"}}
)

// linkTool points the user interface of a tool at the tool's own part. left is the remaining
// work budget of the catalog.
func (m *merged) linkTool(t *mcp.Tool, left *int) {
	part := m.tools[t.Name].part
	link := func(uri string) string { return m.link(part, uri, left) }
	t.Meta = withLinks(t.Meta, linksOfMeta, link)
	t.Raw = withLinks(t.Raw, linksOfTool, link)
}

// linkCall returns the result with its links pointing at the part that produced it.
func (m *merged) linkCall(part int, r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if r == nil {
		return r, nil
	}
	left := maxMatching
	link := func(uri string) string { return m.link(part, uri, &left) }
	if r.Raw != nil {
		raw, err := rawWithLinks(r.Raw, linksOfCall, link)
		return &mcp.CallToolResult{Raw: raw}, err
	}
	linked := *r
	linked.Content = slices.Clone(r.Content)
	for i := range linked.Content {
		linked.Content[i] = linkContent(&r.Content[i], link)
	}
	return &linked, nil
}

// linkPrompt does for prompts what linkCall does for tool results.
func (m *merged) linkPrompt(part int, r *mcp.GetPromptResult) (*mcp.GetPromptResult, error) {
	if r == nil {
		return r, nil
	}
	left := maxMatching
	link := func(uri string) string { return m.link(part, uri, &left) }
	if r.Raw != nil {
		raw, err := rawWithLinks(r.Raw, linksOfPrompt, link)
		return &mcp.GetPromptResult{Raw: raw}, err
	}
	linked := *r
	linked.Messages = slices.Clone(r.Messages)
	for i := range linked.Messages {
		linked.Messages[i].Content = linkContent(&r.Messages[i].Content, link)
	}
	return &linked, nil
}

// linkRead does the same for read results. The URI that the part received is replaced by
// the one that the client sent. left is the remaining work budget of the request.
func (m *merged) linkRead(
	o ownName,
	asked string,
	r *mcp.ReadResourceResult,
	left *int,
) (*mcp.ReadResourceResult, error) {
	if r == nil {
		return r, nil
	}
	link := func(uri string) string {
		if uri == o.name {
			return asked
		}
		return m.link(o.part, uri, left)
	}
	if r.Raw != nil {
		raw, err := rawWithLinks(r.Raw, linksOfRead, link)
		return &mcp.ReadResourceResult{Raw: raw}, err
	}
	linked := *r
	linked.Contents = slices.Clone(r.Contents)
	for i := range linked.Contents {
		linked.Contents[i].URI = link(linked.Contents[i].URI)
	}
	return &linked, nil
}

// linkContent returns a block with its link replaced.
func linkContent(c *mcp.Content, link func(string) string) mcp.Content {
	linked := *c
	if c.Link != nil {
		to := *c.Link
		to.URI = link(to.URI)
		to.Raw = withText(to.Raw, "uri", c.Link.URI, to.URI)
		linked.Link = &to
	}
	if c.Resource != nil {
		resource := *c.Resource
		resource.URI = link(resource.URI)
		linked.Resource = &resource
	}
	return linked
}

// rawWithLinks returns raw itself if no link in it changes.
func rawWithLinks(raw *mcp.Raw, places [][]string, link func(string) string) (*mcp.Raw, error) {
	doc := raw.Bytes()
	edited := withLinks(doc, places, link)
	if &edited[0] == &doc[0] {
		return raw, nil
	}
	return mcp.ParseRaw(edited)
}

// withLinks returns a document with the URIs at the given paths replaced. All other bytes
// stay the same; a document without changes is returned as is.
func withLinks(doc json.RawMessage, places [][]string, link func(string) string) json.RawMessage {
	if !bytes.Contains(doc, []byte(`ri"`)) &&
		!bytes.Contains(doc, []byte(`outputTemplate"`)) {
		return doc // every member name of a link ends in one of these
	}
	e := &linkEditor{
		doc:  doc,
		link: link,
	}
	_, err := e.value(0, 0, places)
	if err != nil || e.done == 0 {
		return doc
	}
	return append(e.out, doc[e.done:]...)
}

// linkEditor replaces URIs in a JSON document, and copies everything between them
// unchanged.
type linkEditor struct {
	doc, out []byte
	done     int // length of the prefix of doc already copied to out
	// link returns the URI to write for one that it finds.
	link func(string) string
}

// value edits the value at i, which the paths are relative to, and returns its end.
func (e *linkEditor) value(i, depth int, places [][]string) (int, error) {
	if len(places) == 0 || i >= len(e.doc) {
		return jsonscan.ValueAt(e.doc, i, depth)
	}
	switch e.doc[i] {
	case '{':
		return jsonscan.Object(e.doc, i, depth, func(key []byte, i int) (int, error) {
			return e.value(i, depth+1, within(places, string(key)))
		})
	case '[':
		return jsonscan.Array(e.doc, i, depth, func(i int) (int, error) {
			return e.value(i, depth+1, within(places, "*"))
		})
	}
	end, err := jsonscan.ValueAt(e.doc, i, depth)
	if err != nil || len(places[0]) > 0 {
		return end, err
	}
	if uri, ok := jsonscan.Unquote(e.doc[i:end]); ok {
		if to := e.link(uri); to != uri {
			e.out = jsonscan.AppendQuote(append(e.out, e.doc[e.done:i]...), to)
			e.done = end
		}
	}
	return end, nil
}

// within returns the paths inside a member.
func within(places [][]string, member string) (inside [][]string) {
	for _, p := range places {
		if len(p) > 0 && p[0] == member {
			inside = append(inside, p[1:])
		}
	}
	return inside
}
