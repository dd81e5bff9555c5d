package compose

import "github.com/slipway-mcp/slipway/mcp"

// originOf returns the origin of the tool that source calls name.
func originOf(source, name string) mcp.Origin {
	return mcp.Origin{
		Source:   source,
		Name:     name,
		Prefixed: prefixed(source, name),
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

// Label returns src with name as the origin of its tools ([mcp.Tool.Origins]), as
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

// addLabel adds the label to the tools and sources of the edited catalog result.
func (e *edited) addLabel(result *mcp.Catalog) {
	for i := range result.Tools {
		t := &result.Tools[i]
		t.Origins = originOf(e.label, t.Name).After(t.Origins)
	}
	sources := []mcp.JoinedSource{{Name: e.label}}
	sources = append(sources, result.Sources...)
	result.Sources = append(sources, absentSources(e.others)...)
}
