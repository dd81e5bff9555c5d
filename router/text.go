package router

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// Prompt arguments and template variables are strings on the wire, whatever their Go
// type. They are first turned into a JSON object, so that the same plans decode them as
// tool arguments.

// checkTexts reports the fields that no string can fill.
func checkTexts(o *object) (faults []string) {
	for i := range o.fields {
		f := &o.fields[i]
		switch pointee(f.node).kind {
		case kindString, kindTime, kindDuration, kindURL, kindText, kindBool, kindInt, kindUint, kindFloat, kindNumber:
		default:
			faults = append(faults, fmt.Sprintf("%s: a %v cannot be given as a text", f.name, f.node.typ))
		}
	}
	return faults
}

// fromTexts returns the JSON object to decode: first the members of fields, in field
// order, then the unknown ones, sorted by name.
func fromTexts(o *object, values map[string]string) []byte {
	dst := []byte{'{'}
	known := 0
	for i := range o.fields {
		text, ok := values[o.fields[i].name]
		if !ok {
			continue
		}
		known++
		dst = append(dst, o.fields[i].key...)
		if !pointee(o.fields[i].node).kind.stringly() && isScalar(text) {
			dst = append(dst, text...)
		} else {
			dst = jsonscan.AppendQuote(dst, text)
		}
		dst = append(dst, ',')
	}
	if known < len(values) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if o.find([]byte(name), 0) < 0 {
				dst = append(jsonscan.AppendQuote(dst, name), ':')
				dst = append(jsonscan.AppendQuote(dst, values[name]), ',')
			}
		}
	}
	if len(dst) > 1 {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}

// isScalar reports whether text is a JSON number or boolean.
func isScalar(text string) bool {
	if text == "true" || text == "false" {
		return true
	}
	return text != "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && jsonscan.Valid([]byte(text)) == nil
}

// plainText is the inverse of fromTexts for one value of an enum.
func plainText(raw []byte) string {
	if s, ok := jsonscan.Unquote(raw); ok {
		return s
	}
	return string(raw)
}

// matchNames reports differences between the fields of a struct and the variables of a
// template.
func matchNames(o *object, names []string) (faults []string) {
	for i := range o.fields {
		name := o.fields[i].name
		if slices.Contains(names, name) {
			continue
		}
		text := fmt.Sprintf("the field %q is no variable of the template (has %s)", name, listNames(names))
		if near := nearest.DidYouMean(name, names); near != "" {
			text += fmt.Sprintf(", did you mean %q?", near)
		}
		faults = append(faults, text)
	}
	for _, name := range names {
		if o.find([]byte(name), 0) < 0 {
			faults = append(faults, fmt.Sprintf("the variable %q has no field", name))
		}
	}
	return faults
}
