package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// elicitForm is the form of an elicitation: a flat object.
type elicitForm struct {
	// text is the requestedSchema, and schema the compiled form of it.
	text       json.RawMessage
	schema     *schema.Schema
	fields     []*formField
	parameters []parameter // of the fields, to convert what is typed
}

// formField is a field of a form.
type formField struct {
	*schema.Form
	// secret reports whether the value is neither echoed nor printed.
	secret bool
}

// newElicitForm returns the form for a requestedSchema. Without one, it has no fields.
func newElicitForm(requested json.RawMessage) (*elicitForm, error) {
	if requested == nil {
		requested = json.RawMessage(`{"type":"object"}`)
	}
	compiled, err := schema.Compile(requested)
	if err != nil {
		return nil, err
	}
	root, err := schema.NewForm(requested, nil)
	if err != nil {
		return nil, err
	}
	form := &elicitForm{
		text:       requested,
		schema:     compiled,
		parameters: parametersOf(requested),
	}
	for _, child := range root.Children {
		form.fields = append(form.fields, &formField{
			Form:   child,
			secret: child.Kind == "password" || secrets.Name(child.Key),
		})
	}
	return form, nil
}

// addDefaults adds the default values of fields without a value.
func (form *elicitForm) addDefaults(content map[string]json.RawMessage) {
	for _, f := range form.fields {
		value := f.Default
		if value == nil && f.Required {
			value = f.Const
		}
		if _, ok := content[f.Key]; !ok && value != nil {
			content[f.Key] = value
		}
	}
}

// missing returns the required fields without a value.
func (form *elicitForm) missing(content map[string]json.RawMessage) (missing []*formField) {
	for _, f := range form.fields {
		if _, ok := content[f.Key]; f.Required && !ok {
			missing = append(missing, f)
		}
	}
	return missing
}

// problems returns what is wrong with the values of a form, as lines without the values of
// secrets.
func (form *elicitForm) problems(content map[string]json.RawMessage) (lines []string) {
	for _, p := range form.violations(content) {
		name, _, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
		i := slices.IndexFunc(form.fields, func(f *formField) bool {
			return jsonscan.EscapeToken(f.Key) == name
		})
		if i >= 0 && form.fields[i].secret {
			p.Message = "not accepted"
		}
		lines = append(lines, p.String())
	}
	return lines
}

// violations returns how values violate the schema of the form or the formats in it.
func (form *elicitForm) violations(content map[string]json.RawMessage) []schema.Problem {
	object := encoded(content)
	var list []schema.Problem
	for _, err := range []error{form.schema.Validate(object), schema.CheckFormats(form.text, object)} {
		var invalid *schema.Error
		if errors.As(err, &invalid) {
			list = append(list, invalid.Problems...)
		}
	}
	return list
}

// encoded returns an object with members that are valid JSON.
func encoded(content map[string]json.RawMessage) []byte {
	text, err := json.Marshal(content)
	if err != nil {
		return []byte("null") // no object, which every form refuses
	}
	return text
}

// problem returns what is wrong with the value of one field, or "".
func (form *elicitForm) problem(f *formField, value json.RawMessage) string {
	at := "/" + jsonscan.EscapeToken(f.Key)
	for _, p := range form.violations(map[string]json.RawMessage{f.Key: value}) {
		switch {
		case p.Pointer != at && !strings.HasPrefix(p.Pointer, at+"/"):
		case f.secret:
			return "not accepted" + prefixed(": want ", f.limits())
		default:
			return p.Message
		}
	}
	return ""
}

// prefixed returns text after a prefix, or "" if it is empty.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// parse converts what the user has typed to a value of the field.
func (form *elicitForm) parse(f *formField, text string) (json.RawMessage, error) {
	switch {
	case f.Kind == "boolean":
		return parseYesNo(text)
	case f.Kind == "enum":
		return f.option(text)
	case f.Kind == "array" && !strings.HasPrefix(text, "["):
		return form.parseList(f, text)
	}
	return argument(form.parameters, f.Key, []string{text})
}

// parseYesNo returns the JSON boolean for an answer. It is stricter than a yes-or-no question: an
// empty line is no answer.
func parseYesNo(text string) (json.RawMessage, error) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return json.RawMessage("true"), nil
	case "n", "no", "false":
		return json.RawMessage("false"), nil
	}
	return nil, errors.New("enter yes or no")
}

// option returns the option of an enum that the user means by value, label or number.
func (f *formField) option(text string) (json.RawMessage, error) {
	for _, same := range []func(i int, o schema.Option) bool{
		func(_ int, o schema.Option) bool { return typed(o.Value) == text },
		func(_ int, o schema.Option) bool { return strings.EqualFold(o.Label, text) },
		func(i int, _ schema.Option) bool { return fmt.Sprint(i+1) == text },
	} {
		for i, o := range f.Options {
			if same(i, o) {
				return o.Value, nil
			}
		}
	}
	return nil, fmt.Errorf("%q is not one of them", text)
}

// parseList returns the values that the user has separated by commas.
func (form *elicitForm) parseList(f *formField, text string) (json.RawMessage, error) {
	var values []string
	var items [][]byte
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		values = append(values, word)
		if f.Items == nil || f.Items.Kind != "enum" {
			continue
		}
		item, err := (&formField{Form: f.Items}).option(word)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if items != nil {
		return slices.Concat([]byte{'['}, bytes.Join(items, []byte{','}), []byte{']'}), nil
	}
	return argument(form.parameters, f.Key, values)
}

// choices returns the options that a field offers, or nil.
func (f *formField) choices() []schema.Option {
	if f.Kind == "array" && f.Items != nil {
		return f.Items.Options
	}
	return f.Options
}

// fieldKinds are the words for what a field accepts.
var fieldKinds = map[string]string{
	"text":     "text",
	"longtext": "text",
	"password": "text",
	"number":   "number",
	"integer":  "integer",
	"boolean":  "yes or no",
	"enum":     "one of them",
	"array":    "list, separated by commas",
}

// kind returns what a field accepts, in a few words.
func (f *formField) kind() string {
	if f.Kind == "array" && f.choices() != nil {
		return "any of them, separated by commas"
	}
	format, ok := schema.Formats()[f.Format]
	if ok && format.Accepts != nil {
		return format.Text
	}
	return cmp.Or(fieldKinds[f.Kind], "JSON")
}

// placeholder returns the value of a field in a hint.
func (f *formField) placeholder() string {
	const most = 5
	var words []string
	for _, o := range f.choices() {
		words = append(words, typed(o.Value))
	}
	switch {
	case f.Kind == "boolean":
		return "true|false"
	case len(words) > 0 && len(words) <= most:
		return strings.Join(words, "|")
	case f.Kind == "number", f.Kind == "integer":
		return strings.ToUpper(f.Kind)
	}
	return "VALUE"
}

// limits returns the bounds of a field in words, or "".
func (f *formField) limits() string {
	var list []string
	list = append(list, bounds(f.Min, f.Max, f.ExclusiveMin, f.ExclusiveMax, ""))
	list = append(list, bounds(f.MinLength, f.MaxLength, false, false, " characters"))
	list = append(list, bounds(f.MinItems, f.MaxItems, false, false, " items"))
	if f.Pattern != "" {
		list = append(list, "matching "+f.Pattern)
	}
	list = slices.DeleteFunc(list, func(text string) bool { return text == "" })
	return strings.Join(list, ", ")
}

// bounds returns a range in words, or "" if it has no end.
func bounds(least, most string, aboveLeast, belowMost bool, unit string) string {
	low := "at least "
	high := "at most "
	if aboveLeast {
		low = "more than "
	}
	if belowMost {
		high = "less than "
	}
	switch {
	case least == "" && most == "":
		return ""
	case most == "":
		return low + least + unit
	case least == "":
		return high + most + unit
	case !aboveLeast && !belowMost:
		return least + " to " + most + unit
	}
	return low + least + ", " + high + most + unit
}

// keysOf returns the names of fields.
func keysOf(fields []*formField) []string {
	return names(fields, func(f *formField) string { return f.Key })
}
