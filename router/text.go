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
		switch kind := pointee(f.node).kind; {
		case kind <= kindURL, kind == kindText:
		default:
			faults = append(faults, fmt.Sprintf("%s: a %v cannot be given as a text", f.name, f.node.typ))
		}
	}
	return faults
}

// objectOf returns the JSON object to decode: first the members of fields, in field
// order, then the unknown ones, sorted by name.
func (in *input) objectOf(values map[string]string) []byte {
	o := pointee(in.node).object // nil for a map
	var fields []field
	if o != nil {
		fields = o.fields
	}
	dst := []byte{'{'}
	known := 0
	for i := range fields {
		text, ok := values[fields[i].name]
		if !ok {
			continue
		}
		known++
		dst = append(dst, fields[i].key...)
		if !pointee(fields[i].node).kind.stringly() && isScalar(text) {
			dst = append(dst, text...)
		} else {
			dst = jsonscan.AppendQuote(dst, text)
		}
		dst = append(dst, ',')
	}
	if known < len(values) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if o == nil || o.find([]byte(name), 0) < 0 {
				dst = append(jsonscan.AppendQuote(dst, name), ':')
				dst = append(jsonscan.AppendQuote(dst, values[name]), ',')
			}
		}
	}
	return closeWith(dst, '}')
}

// closeWith replaces the comma at the end of dst, if there is one, with a closing bracket.
func closeWith(dst []byte, bracket byte) []byte {
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, bracket)
}

// isScalar reports whether text is a JSON number or boolean.
func isScalar(text string) bool {
	if text == "true" || text == "false" {
		return true
	}
	return isNumber(text)
}

// isNumber reports whether a text is a JSON number. A valid JSON text that begins like one can
// be nothing else.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') &&
		jsonscan.Valid([]byte(text)) == nil
}

// plainText is the inverse of objectOf for one value of an enum.
func plainText(raw []byte) string {
	if s, ok := jsonscan.Unquote(raw); ok {
		return s
	}
	return string(raw)
}

// matchNames reports differences between the fields of a struct and the variables of a
// template.
func (in *input) matchNames(variables []string) (faults []string) {
	if !isStruct(pointee(in.node)) {
		return nil
	}
	for _, name := range in.names {
		if slices.Contains(variables, name) {
			continue
		}
		text := fmt.Sprintf("the field %q is not a variable of the template (has %s)",
			name, listNames(variables))
		if near := nearest.DidYouMean(name, variables); near != "" {
			text += fmt.Sprintf(", did you mean %q?", near)
		}
		faults = append(faults, text)
	}
	for _, name := range variables {
		if !slices.Contains(in.names, name) {
			faults = append(faults, fmt.Sprintf("the variable %q has no field", name))
		}
	}
	return faults
}
