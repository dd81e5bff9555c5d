package compose

import (
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
)

// originOf returns the origin of what source calls name.
func originOf(source, name string) mcp.Origin {
	return mcp.Origin{
		Source:   source,
		Name:     name,
		Prefixed: prefixed(source, name),
	}
}

// uriOrigin returns the origin of a resource or template of source.
func uriOrigin(source, uri string) mcp.Origin {
	return mcp.Origin{
		Source: source,
		Name:   uri,
	}
}

// sources returns the names of the parts, of the sources inside them, and of the
// absent sources.
func (u *union) sources(parts []*mcp.Catalog) []mcp.JoinedSource {
	var all []mcp.JoinedSource
	for i, cat := range parts {
		all = append(all, mcp.JoinedSource{
			Name:    u.parts[i].Name,
			Unknown: cat.Unknown(),
		})
		all = append(all, cat.Sources...)
	}
	return append(all, absentSources(u.opts.Absent)...)
}

// absentSources lists sources whose catalog is not known.
func absentSources(names []string) []mcp.JoinedSource {
	all := make([]mcp.JoinedSource, 0, len(names))
	for _, name := range names {
		all = append(all, mcp.JoinedSource{
			Name:    name,
			Unknown: true,
		})
	}
	return all
}

// checkOrigin returns an error if a call was admitted for a different tool than its
// name now refers to. Calls without Origins, such as a program's own, always pass.
func checkOrigin(params *mcp.CallToolParams, source, name string) error {
	if params.Origins == nil {
		return nil
	}
	for i := range params.Origins {
		o := &params.Origins[i]
		if o.Source == source && o.Name == name {
			return nil
		}
	}
	return mcp.Errorf(mcp.CodeInvalidParams,
		"tool %q is another tool now: list the tools again", params.Name)
}

// outermost returns the source that a read is restricted to at this layer, if it is: see
// [mcp.ReadResourceParams].
func outermost(sources []string) (name string, restricted bool) {
	if len(sources) == 0 {
		return "", false
	}
	return sources[len(sources)-1], true
}

// inner returns the sources that a read is restricted to inside of the outermost one.
func inner(sources []string) []string {
	if len(sources) < 2 {
		return nil
	}
	return sources[:len(sources)-1]
}

// Label returns src with name as the origin of its tools ([mcp.Tool.Origins]) and other items, as
// [Union] does for the sources it joins. others names sources that belong to it but
// offer nothing yet. The returned Source implements io.Closer, which closes src.
func Label(name string, src mcp.Source, others ...string) mcp.Source {
	e := &edited{
		Source: src,
		edits:  &Edits{},
		label:  name,
		others: others,
	}
	e.watched, e.watches = mcp.AsWatcher(src)
	return e
}

// addLabel adds the label to the items and sources of the edited catalog result. Lists that
// no edit has copied are still those of the source.
func (e *edited) addLabel(result *mcp.Catalog) {
	result.Prompts = slices.Clone(result.Prompts)
	result.Resources = slices.Clone(result.Resources)
	result.Templates = slices.Clone(result.Templates)
	for i := range result.Tools {
		t := &result.Tools[i]
		t.Origins = originOf(e.label, t.Name).After(t.Origins)
	}
	for i := range result.Prompts {
		p := &result.Prompts[i]
		p.Origins = originOf(e.label, p.Name).After(p.Origins)
	}
	for i := range result.Resources {
		r := &result.Resources[i]
		r.Origins = uriOrigin(e.label, r.URI).After(r.Origins)
	}
	for i := range result.Templates {
		t := &result.Templates[i]
		t.Origins = uriOrigin(e.label, t.URITemplate).After(t.Origins)
	}
	sources := []mcp.JoinedSource{{Name: e.label}}
	sources = append(sources, result.Sources...)
	result.Sources = append(sources, absentSources(e.others)...)
}
