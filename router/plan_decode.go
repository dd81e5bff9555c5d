package router

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// decoder decodes untrusted JSON into one value and checks it in the same pass. A
// violation of the schema is only noted here (failed); the compiled schema then words the
// error, so that there is one wording. What the schema does not check, such as a format,
// is worded here (problems).
type decoder struct {
	// doc is the whole text, and path leads to the value being decoded, for problems.
	doc  []byte
	path []schema.Segment
	// strict rejects members that the type does not have.
	strict bool

	failed   bool
	where    string           // the path of the first violation
	problems []schema.Problem // not checked by the schema
	unknown  []string         // paths of ignored members
	nulls    []string         // paths of the nulls that mean absent
}

// decoders recycles decoders with the storage of their paths, so that a call allocates none.
var decoders = sync.Pool{New: func() any {
	return &decoder{path: make([]schema.Segment, 0, 16)}
}}

// newDecoder returns a decoder for a text. free returns it to the pool.
func newDecoder(doc []byte, strict bool) *decoder {
	d := decoders.Get().(*decoder)
	*d = decoder{
		doc:    doc,
		strict: strict,
		path:   d.path[:0],
	}
	return d
}

// free ends the use of the decoder. It drops the text, which would otherwise stay in memory.
func (d *decoder) free() {
	d.doc = nil
	decoders.Put(d)
}

// decode decodes all of doc into v. An error means that doc is not valid JSON.
func (d *decoder) decode(n *node, v reflect.Value) error {
	end, err := d.value(n, v, jsonscan.Space(d.doc, 0), 0)
	if err != nil {
		return err
	}
	return jsonscan.End(d.doc, end)
}

// explain words all errors in the input that d has decoded. It returns nil if there are
// none.
func (d *decoder) explain(check *schema.Schema) error {
	if !d.failed && len(d.problems) == 0 {
		return nil
	}
	all := new(schema.Error)
	var invalid *schema.Error
	if d.failed && errors.As(check.Validate(d.doc), &invalid) {
		all.More = invalid.More
		for _, p := range invalid.Problems {
			if !slices.Contains(d.nulls, p.Path) { // a null that means absent
				all.Problems = append(all.Problems, p)
			}
		}
	}
	all.Problems = append(all.Problems, d.problems...)
	if len(all.Problems) == 0 {
		all.Problems = []schema.Problem{{
			Path:    d.where,
			Message: "this value is not accepted",
		}}
	}
	return all
}

// fail notes that the value at the current path violates the schema.
func (d *decoder) fail() {
	if !d.failed {
		d.failed = true
		d.where = schema.PathText(d.path)
	}
}

// problem records an error that the schema does not check.
func (d *decoder) problem(text string) {
	d.problems = append(d.problems, schema.Problem{
		Path:    schema.PathText(d.path),
		Message: text,
	})
}

func (d *decoder) push(s schema.Segment) { d.path = append(d.path, s) }
func (d *decoder) pop()                  { d.path = d.path[:len(d.path)-1] }

// skip skips a value.
func (d *decoder) skip(i, depth int) (int, error) {
	return jsonscan.ValueAt(d.doc, i, depth)
}

// wrong skips a value that violates the schema.
func (d *decoder) wrong(i, depth int) (int, error) {
	d.fail()
	return d.skip(i, depth)
}

// numberStarts are the characters that a JSON number can begin with.
const numberStarts = "-0123456789"

// starts are the first bytes of the values of each kind; "" means any.
var starts = [...]string{
	kindString:   `"`,
	kindBool:     "tf",
	kindInt:      numberStarts,
	kindUint:     numberStarts,
	kindFloat:    numberStarts,
	kindNumber:   numberStarts,
	kindTime:     `"`,
	kindDuration: `"`,
	kindURL:      `"`,
	kindText:     `"`,
	kindBytes:    `"`,
	kindStruct:   "{",
	kindSlice:    "[",
	kindArray:    "[",
	kindMap:      "{",
	kindPointer:  "",
}

// value decodes the value at i, which is nested depth levels deep.
func (d *decoder) value(n *node, v reflect.Value, i, depth int) (int, error) {
	if i < len(d.doc) && starts[n.kind] != "" &&
		strings.IndexByte(starts[n.kind], d.doc[i]) < 0 {
		return d.wrong(i, depth)
	}
	switch n.kind {
	case kindStruct:
		return d.members(n.object, v, i, depth)
	case kindSlice, kindArray:
		return d.list(n, v, i, depth)
	case kindMap:
		return d.entries(n, v, i, depth)
	case kindPointer:
		if v.IsNil() {
			v.Set(reflect.New(n.typ.Elem()))
		}
		return d.value(n.elem, v.Elem(), i, depth)
	}
	end, err := d.skip(i, depth)
	if err == nil {
		d.scalar(n, v, d.doc[i:end])
	}
	return end, err
}

// members decodes the object at i into the struct v.
func (d *decoder) members(o *object, v reflect.Value, i, depth int) (int, error) {
	var seen jsonscan.IndexSet
	last := -1
	end, err := jsonscan.Object(d.doc, i, depth, func(key []byte, at int) (int, error) {
		place := o.find(key, last+1)
		switch {
		case place < 0:
			return d.unknownMember(key, at, depth+1)
		case !seen.Add(place): // repeated
			return d.wrong(at, depth+1)
		}
		last = place
		return d.member(&o.fields[place], v, at, depth+1)
	})
	if err != nil {
		return end, err
	}
	for i := range o.fields {
		if !seen.Has(i) {
			d.setAbsent(&o.fields[i], v)
		}
	}
	return end, nil
}

// member decodes a field. A null for an optional field means that it is absent.
func (d *decoder) member(f *field, v reflect.Value, i, depth int) (end int, err error) {
	d.push(schema.Segment{Name: f.name})
	isNull := i < len(d.doc) && d.doc[i] == 'n'
	if isNull && !f.required && f.node.kind != kindAny && f.node.kind != kindRaw {
		// Models write null for arguments that they omit.
		d.nulls = append(d.nulls, schema.PathText(d.path))
		end, err = d.skip(i, depth)
		d.setDefault(f, v)
	} else {
		end, err = d.value(f.node, f.in(v), i, depth)
	}
	d.pop()
	return end, err
}

// setAbsent sets the default of a field that is missing from the input, or notes that it
// is required.
func (d *decoder) setAbsent(f *field, v reflect.Value) {
	if f.required {
		d.push(schema.Segment{Name: f.name})
		d.fail()
		d.pop()
	}
	d.setDefault(f, v)
}

// setDefault decodes the default, if there is one, for each call, so that no two calls
// share a slice or a map.
func (d *decoder) setDefault(f *field, v reflect.Value) {
	if f.fallback == nil {
		return
	}
	doc := d.doc
	d.doc = f.fallback
	_, _ = d.value(f.node, f.in(v), 0, 0) // checked at compilation
	d.doc = doc
}

// maxUnknown is the number of ignored members to record.
const maxUnknown = 16

// unknownMember skips a member that the type does not have. Outside strict mode it is
// reported to the model, up to a limit.
func (d *decoder) unknownMember(key []byte, i, depth int) (int, error) {
	if d.strict {
		d.fail()
	}
	if len(d.unknown) < maxUnknown {
		d.push(schema.Segment{Name: string(key)})
		d.unknown = append(d.unknown, schema.PathText(d.path))
		d.pop()
	}
	return d.skip(i, depth)
}

// list decodes the array at i into a slice or an array.
func (d *decoder) list(n *node, v reflect.Value, i, depth int) (int, error) {
	grows := n.kind == kindSlice
	if grows {
		v.Set(n.empty)
	}
	count := 0
	end, err := jsonscan.Array(d.doc, i, depth, func(at int) (int, error) {
		if grows {
			if count == v.Cap() {
				v.Grow(max(4, count))
			}
			v.SetLen(count + 1)
		}
		count++
		if count > v.Len() {
			return d.skip(at, depth+1)
		}
		d.push(schema.Segment{Index: count})
		end, err := d.value(n.elem, v.Index(count-1), at, depth+1)
		d.pop()
		return end, err
	})
	if err != nil {
		return end, err
	}
	if count != v.Len() ||
		n.check != nil && !n.check.AcceptsCount(d.doc[i:end], count) {
		d.fail()
	}
	return end, nil
}

// entries decodes the object at i into the map v.
func (d *decoder) entries(n *node, v reflect.Value, i, depth int) (int, error) {
	v.Set(reflect.MakeMap(n.typ))
	element := reflect.New(n.typ.Elem()).Elem()
	return jsonscan.Object(d.doc, i, depth, func(key []byte, at int) (int, error) {
		name := reflect.ValueOf(string(key)).Convert(n.typ.Key())
		d.push(schema.Segment{Name: name.String()})
		if v.MapIndex(name).IsValid() {
			d.fail() // repeated
		}
		element.SetZero()
		end, err := d.value(n.elem, element, at, depth+1)
		d.pop()
		v.SetMapIndex(name, element)
		return end, err
	})
}
