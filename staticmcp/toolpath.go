package staticmcp

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"
)

// textForm is a rule that turns the text of one argument into parts of a path.
type textForm struct {
	form site.Form
	// parts returns the parts of a path for a text in this form.
	parts func(text string) []string
}

var (
	asEncoded       = textForm{site.FormEncoded, asOnePart(site.EncodeName)}
	asEncoded31     = textForm{site.FormEncoded31, asOnePart(site.EncodeName31)}
	asEncodedScalar = textForm{site.FormEncodedScalar, asOnePart(site.EncodeNameScalar)}
	asRaw           = textForm{site.FormRaw, asOnePart(func(text string) string {
		return text
	})}
	asSlashes    = textForm{site.FormSlashes, encodedParts}
	asSlashes31  = textForm{site.FormSlashes31, site.EncodedWhole31}
	asRawSlashes = textForm{site.FormRawSlashes, site.SplitSlashes}
	asReplaced   = textForm{site.FormReplaced, replacedParts}
)

// asOnePart returns a rule whose result is a single part.
func asOnePart(encode func(string) string) func(string) []string {
	return func(text string) []string { return []string{encode(text)} }
}

func replacedParts(text string) []string {
	return site.SplitSlashes(site.ReplaceReserved(text))
}

// textForms are the rules in the order in which they are tried. For a text of safe
// characters they all yield the same.
var textForms = []textForm{
	asEncoded,
	asEncoded31,
	asEncodedScalar,
	asRaw,
	asSlashes,
	asSlashes31,
	asRawSlashes,
	asReplaced,
}

// restForms are the rules for the part after "://", starting with those of the generators
// that cut off a scheme.
var restForms = []textForm{
	asRawSlashes,
	asReplaced,
	asSlashes,
	asSlashes31,
	asEncoded,
	asEncoded31,
	asEncodedScalar,
	asRaw,
}

func encodedParts(text string) []string {
	parts := site.SplitSlashes(text)
	for i, part := range parts {
		parts[i] = site.EncodeName(part)
	}
	return parts
}

// paths returns where the answer to a call may be, the standard's name first. None of the
// values is absent.
func (t *tool) paths(values []value, o *Options) []site.Candidate {
	found := make(site.Candidates, 0, 4)
	for _, variant := range t.variants(values, o) {
		t.addVariant(&found, variant, o)
	}
	return found
}

// variants returns the argument lists that mean the same: as sent, with the defaults of
// omitted arguments, and without those equal to their default.
func (t *tool) variants(values []value, o *Options) [][]value {
	variants := [][]value{values}
	if o.Strict {
		return variants
	}
	filled := slices.Clone(values)
	bare := slices.Clone(values)
	for i, p := range t.params {
		if p.fallback == nil {
			continue
		}
		if at := slices.IndexFunc(values, func(v value) bool {
			return v.param == i
		}); at < 0 {
			filled = append(filled, value{i, p.fallback, spellings(p.fallback)})
		} else if sameValue(values[at].raw, p.fallback) {
			bare = slices.DeleteFunc(bare, func(v value) bool {
				return v.param == i
			})
		}
	}
	if len(filled) > len(values) {
		sortByParam(filled)
		variants = append(variants, filled)
	}
	if len(bare) < len(values) {
		variants = append(variants, bare)
	}
	return variants
}

// addVariant adds the candidates of one list of arguments.
func (t *tool) addVariant(found *site.Candidates, values []value, o *Options) {
	values = t.ordered(values, o.Compat)
	most := 1
	plain := true
	for _, v := range values {
		most = max(most, len(v.texts))
		plain = plain && len(v.texts) == 1 && site.IsSafe(v.texts[0]) &&
			len(v.texts[0]) <= site.MaxName
	}
	forms := textForms
	if o.Strict || plain {
		most = 1
		forms = textForms[:1]
	}
	for spelling := range most {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = v.texts[min(spelling, len(v.texts)-1)]
		}
		t.addForms(found, texts, forms[:1], 0, o)
		if !o.Strict && slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(text, "://")
		}) {
			t.addForms(found, rests(texts), restForms, site.FormRest, o)
		}
		t.addForms(found, texts, forms[1:], 0, o)
	}
	if len(values) >= 3 && !o.Strict {
		t.addBase64(found, values)
	}
}

func rests(texts []string) []string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = site.URIRest(text)
	}
	return list
}

// addForms adds the candidates for texts by each of the rules.
func (t *tool) addForms(found *site.Candidates, texts []string, forms []textForm, mark site.Form, o *Options) {
	for _, f := range forms {
		var parts []string
		for _, text := range texts {
			p := f.parts(text)
			if len(p) == 0 {
				p = []string{""} // an empty name: add rejects it
			}
			parts = append(parts, p...)
		}
		// A path with no more parts than the tool has arguments may belong to
		// another call: get(a="x/y") must not find the answer to get(a=x, b=y).
		if len(parts) != len(texts) && len(parts) <= len(t.params) &&
			o.Compat == CompatDeclared {
			continue
		}
		t.addDirs(found, f.form|mark, parts, o)
	}
}

// addDirs adds the candidates in each spelling of the tool's folder. Strict sites have the
// original only.
func (t *tool) addDirs(found *site.Candidates, f site.Form, parts []string, o *Options) {
	for i, dir := range t.dirs {
		if o.Strict && dir != t.name {
			continue
		}
		found.Add(f+site.Form(i)*site.FormDir, site.ToolsDir+"/"+dir, parts...)
	}
}

// addBase64 adds the name that some readers build from three or more arguments:
// name=value pairs sorted by name, in base64 with "/", "+" and "=" as "_".
func (t *tool) addBase64(found *site.Candidates, values []value) {
	sorted := slices.Clone(values)
	slices.SortStableFunc(sorted, func(a, b value) int {
		return cmp.Compare(t.params[a.param].name, t.params[b.param].name)
	})
	for last := range 2 {
		pairs := make([]string, len(sorted))
		for i, v := range sorted {
			pairs[i] = t.params[v.param].name + "=" + v.texts[min(last, len(v.texts)-1)]
		}
		name := base64.StdEncoding.EncodeToString([]byte(strings.Join(pairs, "&")))
		name = strings.NewReplacer("/", "_", "+", "_").Replace(name)
		for i, dir := range t.dirs {
			root := site.ToolsDir + "/" + dir
			found.Add(site.FormBase64Padded+site.Form(i)*site.FormDir, root,
				strings.ReplaceAll(name, "=", "_"))
			found.Add(site.FormBase64+site.Form(i)*site.FormDir, root,
				strings.TrimRight(name, "="))
		}
	}
}

// ordered returns values in the order of c.
func (t *tool) ordered(values []value, c Compat) []value {
	switch c {
	case CompatKeyOrder:
		values = slices.Clone(values)
		slices.SortStableFunc(values, func(a, b value) int {
			return site.CompareNames(t.params[a.param].name, t.params[b.param].name)
		})
	case CompatValueOrder:
		values = slices.Clone(values)
		slices.SortStableFunc(values, func(a, b value) int {
			return cmp.Compare(a.texts[0], b.texts[0])
		})
	}
	return values
}
