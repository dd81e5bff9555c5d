package staticmcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
)

// CallTool implements [mcp.Source]. The arguments are validated against the tool's schema
// first. A call without a stored answer is a result with IsError that suggests other
// calls to the model.
//
// Two values can have the same file name. A file whose _meta has
// "io.github.slipway-mcp/disambiguation" represents all of them: the answers are next to
// it, under names in the form that the standard gives to long ones. The value true means
// that the last part of the path is replaced by such a name, an array of numbers lists
// the parts to replace, counted from 0. Other readers get the shared file itself, which
// may list the names to call with.
func (s *Site) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	o := s.offer.Load()
	t := o.tools[params.Name]
	if t == nil {
		return nil, mcp.UnknownTool(params.Name)
	}
	p, err := s.planCall(o, t, params.Arguments)
	if err != nil {
		return nil, err
	}
	broken := false
	if t.searches != nil {
		found, err := s.search(ctx, t, p)
		broken = errors.Is(err, errSearchBroken)
		if found != nil || err != nil && !broken {
			return found, err
		}
	}
	d, err := s.find(ctx, p, &t.learnt, func(d *document) bool {
		return d.params == nil || t.isFor(d.params, p.values)
	})
	if errors.Is(err, site.ErrMissing) {
		d, err = s.findPage(ctx, o, t, p)
	}
	switch {
	case errors.Is(err, site.ErrMissing) && broken:
		return toolError(
			t.name +
				" failed: the search index of this site is broken. Its owner can repair it by building the site again."), nil
	case errors.Is(err, site.ErrMissing):
		return s.noAnswer(ctx, t, p), nil
	case err != nil:
		return nil, s.wireError(err, mcp.CodeToolUnavailable)
	}
	return d.tool, nil
}

// planCall returns where the answer to a call may be.
func (s *Site) planCall(o *offer, t *tool, arguments []byte) (*plan, error) {
	var buffer [512]byte
	key := append(append(buffer[:0], "\x00tool\x00"...), t.name...)
	key = append(append(key, 0), arguments...)
	if p := s.planned(key, o); p != nil {
		return p, nil
	}
	values, err := t.arguments(arguments)
	if err != nil {
		return nil, err
	}
	s.warnSchema(t)
	present := slices.DeleteFunc(values, func(v value) bool {
		return v.absent()
	})
	p := &plan{
		offer:      o,
		candidates: t.paths(present, s.opts),
		values:     t.ordered(present, s.opts.Compat),
	}
	for _, v := range p.values {
		p.originals = append(p.originals, v.texts[0])
	}
	s.keepPlan(key, p)
	return p, nil
}

// warnSchema logs once that a tool's arguments are not checked.
func (s *Site) warnSchema(t *tool) {
	if t.schemaErr == nil {
		return
	}
	if _, told := s.untold.LoadOrStore(t, nil); !told {
		s.opts.Logger.Warn("the arguments of a tool are not checked: its inputSchema cannot be used",
			"tool", t.name, "error", t.schemaErr)
	}
}

// isFor reports whether the arguments stated in an answer are those of the call. An
// argument that either omits has its default.
func (t *tool) isFor(params []byte, values []value) bool {
	said := make(map[string][]byte)
	for _, m := range jsonscan.Members(params) {
		said[m.Name] = m.Value
	}
	for i, p := range t.params {
		given := p.fallback
		for _, v := range values {
			if v.param == i {
				given = v.raw
			}
		}
		answered, ok := said[p.name]
		if !ok || string(answered) == "null" {
			answered = p.fallback
		}
		if (given == nil) != (answered == nil) ||
			given != nil && !sameArgument(given, answered) {
			return false
		}
	}
	return true
}

// sameArgument reports whether two values are equal or have the same text: some writers
// record every argument as a string.
func sameArgument(a, b []byte) bool {
	return sameValue(a, b) || plainText(a) == plainText(b)
}

func plainText(raw []byte) string {
	if text, ok := jsonscan.Unquote(raw); ok {
		return text
	}
	return string(canonical.AppendExact(nil, raw))
}

// noAnswer returns the result of a call without a stored answer.
func (s *Site) noAnswer(ctx context.Context, t *tool, p *plan) *mcp.CallToolResult {
	var call, names []string
	for _, v := range p.values {
		name := t.params[v.param].name
		names = append(names, name)
		call = append(call, name+"="+site.Shorten(string(v.raw)))
	}
	text := t.name + " has no stored answer"
	if len(call) > 0 {
		text += " for " + strings.Join(call, ", ")
	}
	text += "."
	if known := s.missingIndexed(ctx, t, p); known != "" {
		text += known
	} else if known := s.missing(ctx, p, names); known != "" {
		text += known
	} else if hint := t.otherArguments(names); hint != "" {
		text += hint
	}
	return toolError(text)
}

func toolError(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{mcp.Text(text)},
		IsError: true,
	}
}

// otherArguments returns a sentence with the arguments that the call omitted.
func (t *tool) otherArguments(given []string) string {
	var left []string
	for _, p := range t.params {
		if !slices.Contains(given, p.name) {
			left = append(left, p.name)
		}
	}
	switch {
	case len(left) == 0:
		return " Answers were computed beforehand, so only some values have one."
	case len(given) > 0:
		return " Answers were computed beforehand, so only some values have one. It also takes " + strings.Join(left, ", ") +
			"."
	}
	return " Try it with " + strings.Join(left, ", ") + "."
}

// nearNames returns the stored names that want was probably meant to be. If there are
// very many, only those that sort near want are compared.
func nearNames(want string, sorted []string) []string {
	if len(sorted) > maxCompared {
		at, _ := slices.BinarySearch(sorted, want)
		sorted = sorted[max(0, at-maxCompared/2):]
		sorted = sorted[:min(len(sorted), maxCompared)]
	}
	return nearest.Nearest(want, sorted, 3)
}

// tool parses the file as the answer of a tool.
func (s *stored) tool() (*document, error) {
	if s.raw != nil {
		switch f := outlineOf(s.doc); {
		case f.content.array && f.content.typed:
			raw, err := s.result(f)
			if err != nil {
				return nil, err
			}
			return f.answer(raw), nil
		case !s.strict && f.contents.array && f.contents.named && f.contents.full:
			return f.embedded()
		}
	}
	switch {
	case site.IsListing(s.path):
		return nil, site.ErrMissing
	case s.strict:
		return nil, errShape
	}
	text := append([]byte(`{"content":[{"type":"text","text":`), site.Quote(string(s.doc))...)
	raw, err := mcp.ParseRaw(append(text, `}]}`...))
	if err != nil {
		return nil, err
	}
	return &document{tool: &mcp.CallToolResult{Raw: raw}}, nil
}

// embedded converts a file with the contents of resources into the answer of a tool.
func (f *outline) embedded() (*document, error) {
	doc := []byte(`{"content":[`)
	for i, element := range jsonscan.Elements(f.contents.raw) {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(append(append(doc, `{"type":"resource","resource":`...), element...), '}')
	}
	raw, err := mcp.ParseRaw(append(doc, `]}`...))
	if err != nil {
		return nil, err
	}
	return f.answer(raw), nil
}

// answer returns raw as the answer of a tool, with what the file states about it.
func (f *outline) answer(raw *mcp.Raw) *document {
	return &document{
		tool:   &mcp.CallToolResult{Raw: raw},
		params: site.StatedParameters(f.envelope),
		others: site.SharedPlaces(f.meta),
	}
}
