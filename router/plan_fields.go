package router

import (
	"reflect"
	"slices"
	"strings"
)

// structField is a struct field that is encoded as JSON, with its JSON name.
type structField struct {
	reflect.StructField
	// name is the JSON name; tagged reports that it is from a tag, which decides between
	// promoted fields of the same name.
	name   string
	tagged bool
	// path is the index of each embedded struct on the way, as for reflect's FieldByIndex.
	path                []int
	omitEmpty, omitZero bool
	quoted              bool // the option "string"
}

// promoted returns the fields of t in order, with those of embedded structs in place of
// the embedding. It follows encoding/json (a less nested field hides others with its
// name), except that two fields of the same depth with the same name are a fault:
// encoding/json silently drops both.
func (c *compiler) promoted(t reflect.Type) []structField {
	all := c.embedded(t, nil, nil)
	var chosen []structField
	for i, f := range all {
		if dominant(all, f.name) == i {
			chosen = append(chosen, f)
			continue
		}
		for _, earlier := range all[:i] {
			if earlier.name == f.name && len(earlier.path) == len(f.path) &&
				earlier.tagged == f.tagged {
				c.fault("two fields have the JSON name %q", f.name)
				break
			}
		}
	}
	return chosen
}

// dominant returns the index of the first field with that name that is not hidden by
// another.
func dominant(all []structField, name string) int {
	best := -1
	for i, f := range all {
		if f.name != name {
			continue
		}
		if best < 0 || len(f.path) < len(all[best].path) ||
			len(f.path) == len(all[best].path) && f.tagged && !all[best].tagged {
			best = i
		}
	}
	return best
}

// embedded collects the fields of t at path; within lists the enclosing structs.
func (c *compiler) embedded(t reflect.Type, path []int, within []reflect.Type) []structField {
	if slices.Contains(within, t) {
		return nil
	}
	within = append(slices.Clip(within), t)
	var all []structField
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(slices.Clip(path), i)
		tag, tagged := sf.Tag.Lookup("json")
		if tag == "-" {
			continue
		}
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		name, options, _ := strings.Cut(tag, ",")
		if sf.Anonymous && name == "" && inner.Kind() == reflect.Struct &&
			!c.special(inner) {
			if sf.Type.Kind() == reflect.Pointer && !sf.IsExported() {
				c.fault("%s is embedded by a pointer to an unexported struct, which no other package can fill", sf.Name)
				continue
			}
			all = append(all, c.embedded(inner, at, within)...)
			continue
		}
		if !sf.IsExported() {
			if tagged {
				c.fault("%s has a json tag but is not exported", sf.Name)
			}
			continue
		}
		all = append(all, c.named(sf, name, options, at))
	}
	return all
}

// special reports whether an embedded struct is encoded as one value.
func (c *compiler) special(t reflect.Type) bool {
	return (&compiler{output: c.output}).formOfType(&node{}, t)
}

// named interprets the json tag of a field. An option that would have no effect is a
// mistake rather than ignored.
func (c *compiler) named(sf reflect.StructField, name, options string, path []int) structField {
	f := structField{
		StructField: sf,
		name:        name,
		tagged:      name != "",
		path:        path,
	}
	if name == "" {
		f.name = sf.Name
	}
	if f.name == "" || strings.ContainsAny(f.name, "\"\\\x00") {
		c.fault("the JSON name %q cannot be used", f.name)
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "string":
			if f.quoted = c.output; !c.output {
				c.fault("%s: the option %q of its json tag is only for outputs", sf.Name, option)
			}
		default:
			c.fault("%s: the option %q of its json tag is not supported", sf.Name, option)
		}
	}
	return f
}

// at returns the field of v for reading; ok is false if an embedded pointer on the path
// is nil.
func (f *field) at(v reflect.Value) (value reflect.Value, ok bool) {
	for i, place := range f.path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(place)
	}
	return v, true
}

// in returns the field of v for writing, allocating embedded structs on the path.
func (f *field) in(v reflect.Value) reflect.Value {
	for i, place := range f.path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(place)
	}
	return v
}
