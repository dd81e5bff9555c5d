package lock

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// Record captures the current offer of a source, ready to be locked under a name.
// origin is the digest of how the source is started or reached, or empty. UI resources,
// whether listed or referenced by tools, are read for their contents.
//
// A source that does not return all of its lists is an [*mcp.IncompleteError]: its missing items
// would be approved as gone.
//
// The report lists items that cannot be pinned, and so will be refused, and things that a
// reviewer should know: invisible characters, templates that cannot be matched, and UI
// resources that cannot be read.
func Record(
	ctx context.Context,
	name string,
	src mcp.Source,
	origin string,
) (*Entry, *check.Report, error) {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := cat.Incomplete(); err != nil {
		return nil, nil, err
	}
	s := &recorder{
		name: name,
		locked: &Entry{
			Version: cat.Server.Version,
			Items:   make(map[Item]Pin),
		},
		report: &check.Report{},
	}
	if origin != "" {
		s.locked.Items[Item{Kind: Origin}] = Pin{Digest: origin}
	}
	if err := s.server(cat); err != nil {
		return nil, nil, err
	}
	for _, e := range entries(cat) {
		text, err := e.definition.MarshalJSON()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", e.item, err)
		}
		s.pin(e.item, text)
	}
	for _, uri := range uiResources(cat) {
		s.contents(ctx, src, uri)
	}
	return s.locked, s.report, nil
}

// recorder records what a source offers, and reports what a person approving it should
// see.
type recorder struct {
	// name is that of the source, and locked its entry so far.
	name   string
	locked *Entry
	report *check.Report
}

// add adds a finding about an item of the source.
func (s *recorder) add(rule check.Rule, item Item, format string, args ...any) {
	s.report.Add(finding(rule, s.name, item, fmt.Sprintf(format, args...)))
}

// server pins the server's description of itself and its instructions.
func (s *recorder) server(cat *mcp.Catalog) error {
	identity, err := identityOf(cat.Server)
	if err != nil {
		return err
	}
	s.pin(Item{Kind: Server}, identity)
	if cat.Instructions == "" {
		return nil
	}
	text, err := mcp.Marshal(cat.Instructions)
	if err == nil {
		s.pin(Item{Kind: Instructions}, text)
	}
	return err
}

// pin pins an item. If a name is repeated, only the first item is pinned: if the second
// differs, both will be refused.
func (s *recorder) pin(item Item, definition json.RawMessage) {
	pin, err := pinOf(item.Kind, definition)
	if err != nil {
		s.add(ruleUnpinnable, item, "%s cannot be pinned, and is not offered: %v", item, err)
		return
	}
	if _, ok := s.locked.Items[item]; ok {
		return
	}
	s.locked.Items[item] = pin
	s.reportInvisible(item, pin.Definition)
	if item.Kind == Templates {
		if _, err := uritemplate.Parse(item.Name); err != nil {
			s.add(ruleTemplate, item, "%s is a template that cannot be matched, so nothing can be read through it: %v",
				item, err)
		}
	}
}

// reportInvisible reports invisible characters in a definition.
func (s *recorder) reportInvisible(item Item, definition json.RawMessage) {
	var v any
	if json.Unmarshal(definition, &v) != nil {
		return
	}
	for _, at := range texts(v, "") {
		for _, r := range visible.Find(at.text) {
			where := item.String()
			if at.where != "" {
				where += ", " + strings.TrimPrefix(at.where, ".")
			}
			s.add(ruleInvisible, item, "%s holds %s", where, visible.Describe(r))
		}
	}
}

// located is a text in a definition, with its path.
type located struct{ where, text string }

// texts returns every string of a definition with its place, keys included: models read
// those too.
func texts(v any, where string) (all []located) {
	switch v := v.(type) {
	case string:
		all = append(all, located{where, v})
	case []any:
		for i, item := range v {
			all = append(all, texts(item, fmt.Sprintf("%s.%d", where, i))...)
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			all = append(all, located{where, key})
			all = append(all, texts(v[key], where+"."+key)...)
		}
	}
	return all
}

// contents pins the contents of a UI resource.
func (s *recorder) contents(ctx context.Context, src mcp.Source, uri string) {
	item := Item{UI, uri}
	result, err := src.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	var contents json.RawMessage
	if err == nil {
		contents, err = contentsOf(result)
	}
	var digest string
	if err == nil {
		digest, err = Digest(UI, contents)
	}
	if err != nil {
		s.add(ruleUnread, item,
			"%s cannot be read, and so not be pinned: it is not offered: %v", item, err)
		return
	}
	s.locked.Items[item] = Pin{
		Digest: digest,
		Bytes:  len(contents),
	}
}

// isUI reports whether a resource is one that clients run as a program.
func isUI(uri string) bool { return strings.HasPrefix(uri, "ui://") }

// uiResources returns the UI resources that are listed or referenced by tools.
func uiResources(cat *mcp.Catalog) (uris []string) {
	add := func(uri string) {
		if isUI(uri) && !slices.Contains(uris, uri) {
			uris = append(uris, uri)
		}
	}
	for i := range cat.Resources {
		add(cat.Resources[i].URI)
	}
	for i := range cat.Tools {
		text, err := cat.Tools[i].MarshalJSON()
		if err != nil {
			continue
		}
		meta := jsonscan.Member(text, "_meta")
		for _, raw := range []json.RawMessage{
			jsonscan.Member(jsonscan.Member(meta, "ui"), "resourceUri"),
			jsonscan.Member(meta, "ui/resourceUri"),
		} {
			var uri string
			if raw != nil && json.Unmarshal(raw, &uri) == nil {
				add(uri)
			}
		}
	}
	return uris
}
