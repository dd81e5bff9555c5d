package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// merged is the joined catalog, with the mapping back to the parts.
type merged struct {
	parts   []*mcp.Catalog // the catalogs it was built from
	catalog *mcp.Catalog

	tools, prompts       map[string]ownName // by visible name
	resources, templates map[string]ownName // by visible URI or URI template

	// uris decides which part answers for a URI that is not listed.
	uris           *uriIndex
	labels         *labels // empty if names are left as they are
	joinsResources bool    // at least two parts offer resources
}

// ownName is a tool, prompt or URI in its owner's spelling.
type ownName struct {
	part int
	name string
}

// builtFrom reports whether m, which may be nil, was built from exactly these catalogs.
func (m *merged) builtFrom(parts []*mcp.Catalog) bool {
	return m != nil && slices.Equal(m.parts, parts)
}

// completer returns the part that handles a completion, and params with the part's own
// names.
func (m *merged) completer(params *mcp.CompleteParams) (int, *mcp.CompleteParams, error) {
	renamed := *params
	owners := m.prompts
	name := &renamed.Prompt
	unknown := mcp.UnknownPrompt
	if params.Prompt == "" {
		owners = m.templates
		name = &renamed.URITemplate
		unknown = unknownTemplate
	}
	o, ok := owners[*name]
	if !ok {
		return 0, nil, unknown(*name)
	}
	*name = o.name
	return o.part, &renamed, nil
}

// unknownTemplate is the error for a template that no part has.
func unknownTemplate(text string) *mcp.Error {
	return mcp.Errorf(mcp.CodeInvalidParams, "unknown resource template %q", text)
}

// merge joins the catalogs of the parts. It fails if names collide and cannot be
// distinguished; nothing is then changed.
func (u *union) merge(parts []*mcp.Catalog) (*merged, error) {
	m := &merged{
		parts:     parts,
		catalog:   &mcp.Catalog{Server: u.opts.Server},
		resources: make(map[string]ownName),
		templates: make(map[string]ownName),
		labels:    u.labels,
	}
	if m.catalog.Server.Name == "" {
		m.catalog.Server = identity(parts)
	}
	tools := make([][]mcp.Tool, len(parts))
	prompts := make([][]mcp.Prompt, len(parts))
	for i, cat := range parts {
		tools[i] = cat.Tools
		prompts[i] = cat.Prompts
	}
	var err error
	if m.catalog.Tools, m.tools, err = join(u, "tool", tools, toolLabel); err != nil {
		return nil, err
	}
	for i := range m.catalog.Tools {
		t := &m.catalog.Tools[i]
		from := m.tools[t.Name]
		t.Origins = originOf(u.parts[from.part].Name, from.name).After(t.Origins)
	}
	m.catalog.Sources = u.sources(parts)
	if m.catalog.Prompts, m.prompts, err = join(u, "prompt", prompts, promptLabel); err != nil {
		return nil, err
	}
	for i := range m.catalog.Prompts {
		p := &m.catalog.Prompts[i]
		from := m.prompts[p.Name]
		p.Origins = originOf(u.parts[from.part].Name, from.name).After(p.Origins)
	}
	if err := u.mergeResources(m); err != nil {
		return nil, err
	}
	u.mergeSettings(m)
	for i, cat := range parts {
		for _, missing := range cat.Missing {
			missing.Source = u.parts[i].Name
			m.catalog.Missing = append(m.catalog.Missing, missing)
		}
		u.copyReasons(&m.catalog.WithheldTools, m.tools, i, cat.WithheldTools)
		u.copyReasons(&m.catalog.WithheldPrompts, m.prompts, i, cat.WithheldPrompts)
	}
	return m, nil
}

// copyReasons copies a part's reasons for missing items, under the names they would have in
// the union, unless those are taken.
func (u *union) copyReasons(
	into *map[string]string,
	owners map[string]ownName,
	part int,
	reasons map[string]string,
) {
	for name, why := range reasons {
		shown := []string{name, prefixed(u.parts[part].Name, name)}
		if u.opts.Prefix == PrefixAlways {
			shown = shown[1:]
		}
		for _, as := range shown {
			_, taken := owners[as]
			if !taken && (*into)[as] == "" {
				if *into == nil {
					*into = make(map[string]string)
				}
				(*into)[as] = why
			}
		}
	}
}

// toolLabel and promptLabel return the fields that contain a name.
func toolLabel(t *mcp.Tool) (name *string, raw *json.RawMessage) {
	return &t.Name, &t.Raw
}
func promptLabel(p *mcp.Prompt) (name *string, raw *json.RawMessage) {
	return &p.Name, &p.Raw
}

// join returns the items of all parts under their visible names, and the owner of each.
// If a part uses a name twice, the second item is skipped, as [mcp.Catalog] would not
// find it either.
func join[T any](
	u *union,
	kind string,
	parts [][]T,
	label func(*T) (*string, *json.RawMessage),
) ([]T, map[string]ownName, error) {
	names := make([][]string, len(parts))
	for i, items := range parts {
		names[i] = make([]string, len(items))
		for j := range items {
			name, _ := label(&items[j])
			names[i][j] = *name
		}
	}
	visible := u.visibleNames(names)
	var joined []T
	owners := make(map[string]ownName, len(visible))
	for i, items := range parts {
		for _, item := range items {
			name, raw := label(&item)
			o := ownName{i, *name}
			shown := visible[o]
			if other, taken := owners[shown]; taken {
				if other == o {
					continue
				}
				return nil, nil, fmt.Errorf("%s %q of %q and %s %q of %q would both be shown as %q",
					kind, other.name, u.parts[other.part].Name, kind, o.name, u.parts[i].Name, shown)
			}
			owners[shown] = o
			*name = shown
			*raw = renamed(*raw, o.name, shown)
			joined = append(joined, item)
		}
	}
	return joined, owners, nil
}

// mergeSettings joins the settings. A client may cache the lists only as long as every
// part allows it.
func (u *union) mergeSettings(m *merged) {
	c := m.catalog
	c.PerCaller = perCaller(m.parts)
	c.Cache = m.parts[0].Cache
	c.Stateless = true // unless a part is not
	c.Restartable = true
	var instructions []string
	var extensions []json.RawMessage
	for i, cat := range m.parts {
		c.Completions = c.Completions || cat.Completions
		c.Subscribe = c.Subscribe || cat.Subscribe
		c.Tasks = c.Tasks || cat.Tasks
		c.Logging = c.Logging || cat.Logging
		c.Stateless = c.Stateless && cat.Stateless
		c.Restartable = c.Restartable && (cat.Stateless || cat.Restartable)
		c.Growing = c.Growing || cat.Growing
		c.Cache.TTL = min(c.Cache.TTL, cat.Cache.TTL)
		c.Cache.Public = c.Cache.Public && cat.Cache.Public
		if cat.PageSize > 0 && (c.PageSize == 0 || cat.PageSize < c.PageSize) {
			c.PageSize = cat.PageSize
		}
		if cat.Instructions != "" {
			instructions = append(instructions, u.parts[i].Name+": "+cat.Instructions)
		}
		if cat.Extensions != nil {
			extensions = append(extensions, cat.Extensions)
		}
	}
	c.Instructions = strings.Join(instructions, "\n\n")
	c.Extensions = joinObjects(extensions)
}

// joinObjects returns one JSON object with the members of all objects; if a member is
// repeated, the first wins.
func joinObjects(objects []json.RawMessage) json.RawMessage {
	switch len(objects) {
	case 0:
		return nil
	case 1:
		return objects[0]
	}
	var members [][]byte
	seen := make(map[string]bool)
	for _, object := range objects {
		_, err := jsonscan.Object(object, 0, 0, func(key []byte, i int) (int, error) {
			end, err := jsonscan.Value(object, i)
			if err == nil && !seen[string(key)] {
				seen[string(key)] = true
				members = append(members, append(append(jsonscan.AppendQuote(nil, key), ':'), object[i:end]...))
			}
			return end, err
		})
		if err != nil {
			continue // not an object: it declares nothing
		}
	}
	return append(append([]byte{'{'}, bytes.Join(members, []byte{','})...), '}')
}

// identity joins the names and versions of the parts.
func identity(parts []*mcp.Catalog) mcp.Implementation {
	names := make([]string, len(parts))
	versions := make([]string, len(parts))
	for i, cat := range parts {
		names[i] = cat.Server.Name
		versions[i] = cat.Server.Version
	}
	return mcp.Implementation{
		Name:    strings.Join(names, "+"),
		Version: strings.Join(versions, "+"),
	}
}
