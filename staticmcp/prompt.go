package staticmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
)

// prompt holds what is needed to find a prompt's files and suggestions.
type prompt struct {
	// name and arguments are those of the manifest.
	name      string
	arguments []mcp.PromptArgument
	values    map[string][]string // suggestions by argument
	learnt    atomic.Uint32       // as in tool
}

// newPrompt reads the definition of a prompt. An argument may have an enum of suggested
// values.
func newPrompt(e *entry) (*prompt, error) {
	p := &prompt{
		name:   e.name,
		values: metaSuggestions(e.meta),
	}
	if e.arguments == nil {
		return p, nil
	}
	var arguments []struct {
		mcp.PromptArgument
		Enum json.RawMessage `json:"enum"`
	}
	if err := json.Unmarshal(e.arguments, &arguments); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	for _, a := range arguments {
		p.arguments = append(p.arguments, a.PromptArgument)
		if len(a.Enum) > 0 {
			p.values[a.Name] = texts(a.Enum)
		}
	}
	return p, nil
}

// promptDoc is a file of a prompt.
type promptDoc struct {
	result *mcp.GetPromptResult
	// template is the document with {{name}} placeholders, or nil.
	template []byte
	// variants are the templates for calls that omit some arguments, by the key of the given
	// ones. Nil if template serves all calls.
	variants map[string][]byte
}

// PromptVariant is the text of a stored prompt template for calls that give only some of
// its arguments.
type PromptVariant struct {
	// Arguments are the names of the given arguments.
	Arguments []string `json:"arguments"`
	// Result is a result of prompts/get, with placeholders.
	Result json.RawMessage `json:"result"`
}

// WithPromptVariants adds to doc, a result of prompts/get with placeholders, the variants
// for calls that omit some arguments. A call whose arguments match no variant has no
// stored answer.
func WithPromptVariants(doc json.RawMessage, variants []PromptVariant) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, err
	}
	meta := make(map[string]json.RawMessage)
	if raw := members["_meta"]; raw != nil {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, fmt.Errorf("_meta: %w", err)
		}
	}
	list, err := mcp.Marshal(variants)
	if err != nil {
		return nil, err
	}
	meta[metaVariants] = list
	encoded, err := mcp.Marshal(meta)
	if err != nil {
		return nil, err
	}
	rest := without(doc, "_meta")
	separator := ","
	if len(rest) == len(`{}`) {
		separator = ""
	}
	return slices.Concat(rest[:len(rest)-1], []byte(separator+`"_meta":`), encoded, []byte("}")), nil
}

// metaVariants, in the _meta of a prompt template, has a list of [PromptVariant].
const metaVariants = site.MetaPrefix + "variants"

// maxVariants bounds the variants that are read.
const maxVariants = 64

// variantKey returns the key of the arguments that a call gives.
func variantKey(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	return strings.Join(sorted, "\x00")
}

// variants reads the variants of a template.
func (f *outline) variants() (map[string][]byte, error) {
	for _, m := range jsonscan.Members(f.meta) {
		if m.Name != metaVariants {
			continue
		}
		var list []PromptVariant
		err := json.Unmarshal(m.Value, &list)
		if err != nil || len(list) > maxVariants {
			return nil, errors.New("its variants are not a list of at most 64 results")
		}
		byKey := make(map[string][]byte)
		for _, v := range list {
			if len(v.Result) == 0 || v.Result[0] != '{' {
				return nil, errors.New("a variant has no result")
			}
			byKey[variantKey(v.Arguments)] = site.Compact(v.Result)
		}
		return byKey, nil
	}
	return nil, nil
}

// prompt parses the file as a prompt.
func (s *stored) prompt() (*document, error) {
	if s.raw == nil {
		return nil, errors.New("not an object")
	}
	f := outlineOf(s.doc)
	if !f.messages.array {
		if site.IsListing(s.path) {
			return nil, site.ErrMissing
		}
		return nil, errors.New("it has no messages")
	}
	d := &promptDoc{}
	if site.IsTemplate(f.meta) {
		variants, err := f.variants()
		if err != nil {
			return nil, err
		}
		d.template, d.variants = unmarked(s.doc, f), variants
	} else {
		raw, err := s.result(f)
		if err != nil {
			return nil, err
		}
		if d.result, err = promptResult(raw); err != nil {
			return nil, err
		}
	}
	return &document{
		prompt: d,
		others: site.SharedPlaces(f.meta),
	}, nil
}

// unmarked returns a template without the mark, which is not meant for clients.
func unmarked(doc []byte, f *outline) []byte {
	meta := without(without(f.meta, site.MetaTemplate), metaVariants)
	doc = without(without(doc, "_meta"), "staticmcp")
	if string(meta) == `{}` {
		return doc
	}
	doc = append(doc[:len(doc)-1], `,"_meta":`...)
	return append(append(doc, meta...), '}')
}

// promptResult returns a stored result unchanged, unless it has the role "system": then
// it is decoded, because only encoding a result can express that role in a way every
// client supports.
func promptResult(raw *mcp.Raw) (*mcp.GetPromptResult, error) {
	if !bytes.Contains(raw.Bytes(), []byte(`"role":"system"`)) {
		return &mcp.GetPromptResult{Raw: raw}, nil
	}
	var decoded struct {
		Description string              `json:"description"`
		Messages    []mcp.PromptMessage `json:"messages"`
		Meta        json.RawMessage     `json:"_meta"`
	}
	if err := json.Unmarshal(raw.Bytes(), &decoded); err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{
		Description: decoded.Description,
		Messages:    decoded.Messages,
		Meta:        decoded.Meta,
	}, nil
}

// fill returns the template with the arguments filled in. Placeholders within argument
// values are not expanded, and a placeholder that names no argument stays as it is, so a
// text may contain braces.
func (p *prompt) fill(template []byte, arguments map[string]string) (*mcp.GetPromptResult, error) {
	values := make(map[string]string, len(p.arguments))
	for _, a := range p.arguments {
		values[a.Name] = arguments[a.Name]
	}
	// In compact JSON two consecutive braces open a placeholder only within a string.
	var doc []byte
	for rest := template; ; {
		before, after, found := bytes.Cut(rest, []byte("{{"))
		doc = append(doc, before...)
		if !found {
			break
		}
		name, behind, closed := bytes.Cut(after, []byte("}}"))
		value, ok := values[placeName(name)]
		if !closed || !ok {
			doc = append(doc, "{{"...)
			rest = after
			continue
		}
		quoted := site.Quote(value)
		doc = append(doc, quoted[1:len(quoted)-1]...)
		rest = behind
	}
	raw, err := mcp.ParseRaw(doc)
	if err != nil {
		return nil, err
	}
	return promptResult(raw)
}

// placeName returns the name in a placeholder, which is part of a JSON string.
func placeName(raw []byte) string {
	literal := append(append([]byte{'"'}, raw...), '"')
	if jsonscan.Valid(literal) != nil {
		return ""
	}
	name, _ := jsonscan.Unquote(literal)
	return strings.TrimSpace(name)
}

// GetPrompt implements [mcp.Source]. A prompt is stored like the answer of a tool: in
// prompts/{name}.json without arguments, in prompts/{name}/{arguments}.json with them,
// each file a result of prompts/get. If there is none for the arguments, and the _meta of
// prompts/{name}.json has "io.github.slipway-mcp/template": true, the {{argument}}
// placeholders in its texts are filled in.
func (s *Site) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	o := s.offer.Load()
	p := o.prompts[params.Name]
	if p == nil {
		return nil, mcp.UnknownPrompt(params.Name)
	}
	if err := p.check(params.Arguments); err != nil {
		return nil, err
	}
	plan := p.plan(o, params.Arguments, s.opts.Strict)
	d, err := s.find(ctx, plan, &p.learnt, func(*document) bool {
		return true
	})
	if errors.Is(err, site.ErrMissing) && len(plan.originals) > 0 {
		d, err = s.find(ctx, p.plan(o, nil, s.opts.Strict), &p.learnt,
			func(d *document) bool { return d.prompt.template != nil })
	}
	switch {
	case errors.Is(err, site.ErrMissing):
		return nil, s.noPrompt(ctx, plan, params)
	case err != nil:
		return nil, s.wireError(err, mcp.CodeResourceUnavailable)
	case d.prompt.template == nil:
		return d.prompt.result, nil
	}
	template := d.prompt.template
	given := slices.Collect(maps.Keys(params.Arguments))
	if d.prompt.variants != nil && len(given) < len(p.arguments) {
		if template = d.prompt.variants[variantKey(given)]; template == nil {
			return nil, s.noPrompt(ctx, plan, params)
		}
	}
	filled, err := p.fill(template, params.Arguments)
	if err != nil {
		return nil, s.wireError(err, mcp.CodeResourceUnavailable)
	}
	return filled, nil
}

// check validates the arguments against those that the prompt declares.
func (p *prompt) check(arguments map[string]string) error {
	names := make([]string, len(p.arguments))
	for i, a := range p.arguments {
		names[i] = a.Name
		_, ok := arguments[a.Name]
		if a.Required && !ok {
			return mcp.Errorf(mcp.CodeInvalidParams,
				"prompt %q: argument %q is required", p.name, a.Name)
		}
	}
	for name, value := range arguments {
		switch {
		case slices.Contains(names, name) && len(value) <= site.MaxText:
		case slices.Contains(names, name):
			return mcp.Errorf(mcp.CodeInvalidParams, "prompt %q: argument %q is longer than %d bytes",
				p.name, name, site.MaxText)
		case len(names) == 0:
			return mcp.Errorf(mcp.CodeInvalidParams, "prompt %q takes no arguments", p.name)
		default:
			hint := ""
			if near := nearest.DidYouMean(name, names); near != "" {
				hint = fmt.Sprintf(" (did you mean %q?)", near)
			}
			return mcp.Errorf(mcp.CodeInvalidParams, "prompt %q: unknown argument %q%s, it accepts %s",
				p.name, name, hint, strings.Join(names, ", "))
		}
	}
	return nil
}

// plan returns where the file of a prompt may be. Arguments are in declaration order.
func (p *prompt) plan(o *offer, arguments map[string]string, strict bool) *plan {
	plan := &plan{offer: o}
	for _, a := range p.arguments {
		if text := arguments[a.Name]; site.EncodeName(text) != "" {
			plan.originals = append(plan.originals, text)
		}
	}
	var found site.Candidates
	for i, dir := range site.ToolFolders(p.name) {
		if strict && i > 0 {
			break
		}
		root := site.PromptsDir + "/" + dir
		if len(plan.originals) == 0 {
			found.Add(site.FormEncoded, root)
			continue
		}
		found.AddEncoded(site.FormEncoded, root, plan.originals, !strict)
		if !strict {
			found.Add(site.FormRaw, root, plan.originals...)
		}
	}
	plan.candidates = found
	return plan
}

// noPrompt returns the error for a prompt without a stored file.
func (s *Site) noPrompt(ctx context.Context, plan *plan, params *mcp.GetPromptParams) error {
	var names []string
	for _, a := range plan.offer.prompts[params.Name].arguments {
		if site.EncodeName(params.Arguments[a.Name]) != "" {
			names = append(names, a.Name)
		}
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "prompt %q is not stored for these arguments.%s",
		params.Name, s.missing(ctx, plan, names))
}
