package staticmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/mcp"
)

const (
	// maxSuggested is how many values are collected for one answer; the server sends the
	// first hundred.
	maxSuggested = 1000
	// maxOpened is how many files are opened to find values.
	maxOpened = 256
)

// template is a resource template and the suggested values of its variables.
type template struct {
	// uriTemplate is the text of the template, and values are its declared suggestions by
	// variable.
	uriTemplate string
	values      map[string][]string

	compiling sync.Once
	match     *regexp.Regexp // nil if the template is not supported
	names     []string
	prefix    string // the common start of all matching URIs
}

func newTemplate(uriTemplate string, meta json.RawMessage) *template {
	return &template{
		uriTemplate: uriTemplate,
		values:      metaSuggestions(meta),
	}
}

// metaSuggestions reads the suggested values in the _meta of a definition.
func metaSuggestions(meta json.RawMessage) map[string][]string {
	values := make(map[string][]string)
	if meta == nil || meta[0] != '{' {
		return values
	}
	for _, m := range jsonscan.Members(meta) {
		if m.Name != metaValues || m.Value[0] != '{' {
			continue
		}
		for _, variable := range jsonscan.Members(m.Value) {
			values[variable.Name] = texts(variable.Value)
		}
	}
	return values
}

// texts returns the strings in a JSON array.
func texts(array []byte) []string {
	if array[0] != '[' {
		return nil
	}
	var list []string
	for _, element := range jsonscan.Elements(array) {
		if text, ok := jsonscan.Unquote(element); ok {
			list = append(list, text)
		}
	}
	return list
}

// suggestions parses a file in completions/: an array of strings, or a result of
// completion/complete.
func (s *stored) suggestions() (*document, error) {
	if s.doc[0] == '[' {
		return &document{values: texts(s.doc)}, nil
	}
	var result struct {
		Completion mcp.Completion `json:"completion"`
	}
	if err := json.Unmarshal(s.doc, &result); err != nil {
		return nil, err
	}
	return &document{values: result.Completion.Values}, nil
}

// variable matches RFC 6570 expressions with a single variable.
var variable = lazyregexp.New(`\{([+#./]?)([A-Za-z0-9_.%]+)\}`)

// compile builds a regular expression for the URIs that the template describes.
func (t *template) compile() {
	var expression strings.Builder
	expression.WriteByte('^')
	rest := t.uriTemplate
	for {
		at := variable().FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		literal := rest[:at[0]]
		operator := rest[at[2]:at[3]]
		if strings.ContainsAny(literal, "{}") {
			return // an expression with several variables
		}
		if len(t.names) == 0 {
			t.prefix = literal
		}
		expression.WriteString(regexp.QuoteMeta(literal))
		switch operator {
		case "":
			expression.WriteString(`([^/?#]+)`)
		case "+":
			expression.WriteString(`(.+)`)
		default:
			fmt.Fprintf(&expression, `%s([^?#]+)`, regexp.QuoteMeta(operator))
		}
		t.names = append(t.names, rest[at[4]:at[5]])
		rest = rest[at[1]:]
	}
	if strings.ContainsAny(rest, "{}") {
		return
	}
	expression.WriteString(regexp.QuoteMeta(rest) + "$")
	t.match, _ = regexp.Compile(expression.String())
}

// valueIn returns the value of the variable called name in uri, if uri matches the
// template and agrees with the values already chosen.
func (t *template) valueIn(uri, name string, chosen map[string]string) (string, bool) {
	t.compiling.Do(t.compile)
	if t.match == nil || !strings.HasPrefix(uri, t.prefix) {
		return "", false
	}
	found := t.match.FindStringSubmatch(uri)
	if found == nil {
		return "", false
	}
	value := ""
	ok := false
	for i, variable := range t.names {
		text := found[i+1]
		if decoded, err := url.PathUnescape(text); err == nil {
			text = decoded
		}
		if variable == name {
			value = text
			ok = true
		} else if want, fixed := chosen[variable]; fixed && want != text {
			return "", false
		}
	}
	return value, ok
}

// Complete implements [mcp.Source]. It suggests the values of the first of these
// that has any:
//
//   - the definition: the enum of a prompt's argument, or an object with an array
//     for each argument or variable in _meta as "io.github.slipway-mcp/values";
//   - a file completions/prompts/{name}/{argument}.json or
//     completions/resources/{template}/{variable}.json, the template encoded as
//     if it were a URI: an array of strings, or a result of completion/complete;
//   - for a template, the URIs in the manifest;
//   - the names of files, if the site can be listed.
func (s *Site) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	o := s.offer.Load()
	found := &suggested{
		prefix: params.Value,
		seen:   make(map[string]bool),
	}
	var err error
	switch {
	case params.URITemplate != "":
		t := o.templates[params.URITemplate]
		if t == nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams,
				"unknown resource template %q", params.URITemplate)
		}
		err = s.completeTemplate(ctx, o, t, params, found)
	default:
		p := o.prompts[params.Prompt]
		if p == nil {
			return nil, mcp.UnknownPrompt(params.Prompt)
		}
		err = s.completePrompt(ctx, o, p, params, found)
	}
	if err != nil {
		return nil, s.wireError(err, mcp.CodeResourceUnavailable)
	}
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: found.values}}, nil
}

// suggested collects values that begin with the typed prefix.
type suggested struct {
	// prefix is what the user has typed, in any case.
	prefix string
	seen   map[string]bool
	values []string
}

func (f *suggested) full() bool { return len(f.values) >= maxSuggested }

// add adds the values that begin with the prefix, each once, up to the limit.
func (f *suggested) add(values ...string) {
	for _, v := range values {
		if f.full() {
			return
		}
		begins := len(v) >= len(f.prefix) && strings.EqualFold(v[:len(f.prefix)], f.prefix)
		if v != "" && begins && !f.seen[v] {
			f.seen[v] = true
			f.values = append(f.values, v)
		}
	}
}

// completePrompt finds suggestions for an argument of a prompt, from the best source that
// has any: the manifest, a stored list, and for folders the names of the stored answers.
func (s *Site) completePrompt(
	ctx context.Context,
	o *offer,
	p *prompt,
	params *mcp.CompleteParams,
	found *suggested,
) error {
	if values := p.values[params.Argument]; values != nil {
		found.add(values...)
		return nil
	}
	stored, err := s.storedValues(ctx,
		"prompts/"+site.EncodeName(p.name)+"/"+site.EncodeName(params.Argument))
	if err != nil || stored != nil {
		found.add(stored...)
		return err
	}
	if !s.store.Traits().Listed {
		return nil
	}
	// The names of files are values, too: they are encoded, and encode to themselves.
	dir := site.PromptsDir + "/" + p.name
	for _, a := range p.arguments {
		if a.Name == params.Argument {
			if l, err := s.listing(ctx, dir); err == nil {
				found.add(l.names()...)
			}
			return nil
		}
		if chosen := site.EncodeName(params.Arguments[a.Name]); chosen != "" {
			dir += "/" + chosen
		}
	}
	return nil
}

// completeTemplate finds suggestions for a variable of a template, from the best source
// that has any: the manifest, a stored list, the listed resources, and for folders the
// names of files.
func (s *Site) completeTemplate(
	ctx context.Context,
	o *offer,
	t *template,
	params *mcp.CompleteParams,
	found *suggested,
) error {
	if values := t.values[params.Argument]; values != nil {
		found.add(values...)
		return nil
	}
	place := "resources"
	for _, part := range site.SplitSlashes(site.URIRest(t.uriTemplate)) {
		place += "/" + site.EncodeName(part)
	}
	stored, err := s.storedValues(ctx, place+"/"+site.EncodeName(params.Argument))
	if err != nil || stored != nil {
		found.add(stored...)
		return err
	}
	for i := range o.catalog.Resources {
		v, ok := t.valueIn(o.catalog.Resources[i].URI, params.Argument, params.Arguments)
		if ok {
			found.add(v)
		}
	}
	if len(found.values) == 0 && s.store.Traits().Listed {
		s.completeFromFiles(ctx, t, params, found)
	}
	return nil
}

// storedValues returns the values of a file in completions/, or nil.
func (s *Site) storedValues(ctx context.Context, place string) ([]string, error) {
	path := site.CompletionsDir + "/" + place + site.Extension
	if !site.IsSafePath(path) {
		return nil, nil
	}
	d, err := s.document(ctx, path)
	if errors.Is(err, site.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.Clip(append([]string{}, d.values...)), nil
}

// completeFromFiles collects the URIs stated in the files of resources that the manifest
// does not list.
func (s *Site) completeFromFiles(ctx context.Context, t *template, params *mcp.CompleteParams, found *suggested) {
	t.compiling.Do(t.compile)
	dir := site.ResourcesDir
	parts := strings.Split(site.URIRest(t.prefix), "/")
	for _, part := range parts[:len(parts)-1] {
		if name := site.EncodeName(part); name != "" {
			dir += "/" + name
		}
	}
	l, err := s.listing(ctx, dir)
	if err != nil {
		return
	}
	for i, name := range l.files {
		if i >= maxOpened || found.full() {
			return
		}
		d, err := s.document(ctx, dir+"/"+name+site.Extension)
		if err != nil {
			continue
		}
		if v, ok := t.valueIn(d.uri, params.Argument, params.Arguments); ok {
			found.add(v)
		}
	}
}
