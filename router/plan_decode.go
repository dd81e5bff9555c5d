package router

import (
	"bytes"
	"reflect"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// decoder decodes untrusted JSON into one value and checks it in the same pass. A
// violation of the schema is only noted here (failed); the compiled schema then words the
// error, so that there is one wording. What the schema does not check, such as a format,
// is worded here (problems).
type decoder struct {
	doc  []byte
	path []segment
	// strict rejects members that the type does not have.
	strict bool

	failed   bool
	where    string    // the path of the first violation
	problems []problem // not checked by the schema
	unknown  []string  // paths of ignored members
	nulls    []string  // paths of the nulls that mean absent
}

// segment is one step of a path.
type segment struct {
	name  string
	index int // array index plus one, or 0 for a name
}

type problem struct{ path, text string }

var decoders = sync.Pool{New: func() any { return &decoder{path: make([]segment, 0, 16)} }}

func newDecoder(doc []byte, strict bool) *decoder {
	d := decoders.Get().(*decoder)
	*d = decoder{doc: doc, strict: strict, path: d.path[:0]}
	return d
}

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

// fail notes that the value at the current path violates the schema.
func (d *decoder) fail() {
	if !d.failed {
		d.failed, d.where = true, pathText(d.path)
	}
}

// problem records an error that the schema does not check.
func (d *decoder) problem(text string) {
	d.problems = append(d.problems, problem{pathText(d.path), text})
}

func (d *decoder) push(s segment) { d.path = append(d.path, s) }
func (d *decoder) pop()           { d.path = d.path[:len(d.path)-1] }

// skip skips a value.
func (d *decoder) skip(i, depth int) (int, error) { return jsonscan.ValueAt(d.doc, i, depth) }

// wrong skips a value of the wrong type.
func (d *decoder) wrong(i, depth int) (int, error) {
	d.fail()
	return d.skip(i, depth)
}

// value decodes the value at i, which is nested depth levels deep.
func (d *decoder) value(n *node, v reflect.Value, i, depth int) (int, error) {
	if i >= len(d.doc) {
		return d.skip(i, depth)
	}
	first := d.doc[i]
	switch n.kind {
	case kindString:
		if first != '"' {
			return d.wrong(i, depth)
		}
		return d.text(n, v, i, depth)
	case kindInt, kindUint, kindFloat, kindNumber:
		if first != '-' && (first < '0' || first > '9') {
			return d.wrong(i, depth)
		}
		return d.number(n, v, i, depth)
	case kindBool:
		if first != 't' && first != 'f' {
			return d.wrong(i, depth)
		}
		v.SetBool(first == 't')
		return d.skip(i, depth)
	case kindStruct:
		if first != '{' {
			return d.wrong(i, depth)
		}
		return d.members(n.object, v, i, depth)
	case kindSlice:
		if first != '[' {
			return d.wrong(i, depth)
		}
		return d.slice(n, v, i, depth)
	case kindArray:
		if first != '[' {
			return d.wrong(i, depth)
		}
		return d.array(n, v, i, depth)
	case kindMap:
		if first != '{' {
			return d.wrong(i, depth)
		}
		return d.entries(n, v, i, depth)
	case kindPointer:
		if v.IsNil() {
			v.Set(reflect.New(n.typ.Elem()))
		}
		return d.value(n.elem, v.Elem(), i, depth)
	default:
		return d.special(n, v, i, depth)
	}
}

// next moves past the separator after a member or an element.
func (d *decoder) next(i int, closing byte) (at int, done bool, err error) {
	i = jsonscan.Space(d.doc, i)
	if i < len(d.doc) {
		switch d.doc[i] {
		case ',':
			return jsonscan.Space(d.doc, i+1), false, nil
		case closing:
			return i + 1, true, nil
		}
	}
	return i, false, d.syntax(i)
}

// syntax returns the syntax error at i.
func (d *decoder) syntax(i int) error {
	if err := jsonscan.Valid(d.doc); err != nil {
		return err
	}
	return &jsonscan.Error{Offset: i, Reason: "unexpected character"}
}

// key scans a member name and returns it with the start of its value.
func (d *decoder) key(i, depth int) (key []byte, at int, err error) {
	if i >= len(d.doc) || d.doc[i] != '"' {
		return nil, i, d.syntax(i)
	}
	end, err := d.skip(i, depth)
	if err != nil {
		return nil, end, err
	}
	key = d.doc[i+1 : end-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		key, _ = jsonscan.UnquoteBytes(d.doc[i:end])
	}
	if at = jsonscan.Space(d.doc, end); at >= len(d.doc) || d.doc[at] != ':' {
		return nil, at, d.syntax(at)
	}
	return key, jsonscan.Space(d.doc, at+1), nil
}

// tooDeep returns an error if the nesting exceeds the scanner's limit.
func (d *decoder) tooDeep(i, depth int) error {
	if depth < jsonscan.MaxDepth {
		return nil
	}
	return &jsonscan.Error{Offset: i, Reason: "nested too deeply"}
}

// members decodes the object at i into the struct v.
func (d *decoder) members(o *object, v reflect.Value, i, depth int) (int, error) {
	if err := d.tooDeep(i, depth); err != nil {
		return i, err
	}
	var small [2]uint64
	seen := small[:]
	if len(o.fields) > 64*len(small) {
		seen = make([]uint64, (len(o.fields)+63)/64)
	}
	last := -1
	done := false
	if i = jsonscan.Space(d.doc, i+1); i < len(d.doc) && d.doc[i] == '}' {
		i, done = i+1, true
	}
	for !done {
		key, at, err := d.key(i, depth+1)
		if err != nil {
			return at, err
		}
		place := o.find(key, last+1)
		switch {
		case place < 0:
			i, err = d.unknownMember(key, at, depth+1)
		case seen[place/64]>>(place%64)&1 == 1:
			d.fail() // repeated
			i, err = d.skip(at, depth+1)
		default:
			last = place
			i, err = d.member(&o.fields[place], v, at, depth+1)
			seen[place/64] |= 1 << (place % 64)
		}
		if err != nil {
			return i, err
		}
		if i, done, err = d.next(i, '}'); err != nil {
			return i, err
		}
	}
	return i, d.absent(o, v, seen)
}

func (d *decoder) member(f *field, v reflect.Value, i, depth int) (end int, err error) {
	d.push(segment{name: f.name})
	if !f.required && i < len(d.doc) && d.doc[i] == 'n' && f.node.kind != kindAny && f.node.kind != kindRaw {
		// Models write null for arguments that they omit.
		d.nulls = append(d.nulls, pathText(d.path))
		if end, err = d.skip(i, depth); err == nil && f.fallback != nil {
			err = d.setDefault(f, v)
		}
	} else {
		end, err = d.value(f.node, f.in(v), i, depth)
	}
	d.pop()
	return end, err
}

// absent sets the defaults of fields missing from the input, and notes missing required
// ones.
func (d *decoder) absent(o *object, v reflect.Value, seen []uint64) error {
	for i := range o.fields {
		if seen[i/64]>>(i%64)&1 == 1 {
			continue
		}
		f := &o.fields[i]
		switch {
		case f.required:
			d.push(segment{name: f.name})
			d.fail()
			d.pop()
		case f.fallback != nil:
			if err := d.setDefault(f, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// setDefault decodes the default for each call, so that no two calls share a slice or a
// map.
func (d *decoder) setDefault(f *field, v reflect.Value) error {
	doc := d.doc
	d.doc = f.fallback
	_, err := d.value(f.node, f.in(v), 0, 0)
	d.doc = doc
	return err
}

func (d *decoder) unknownMember(key []byte, i, depth int) (int, error) {
	if d.strict {
		d.fail()
	}
	if len(d.unknown) < maxUnknown {
		d.push(segment{name: string(key)})
		d.unknown = append(d.unknown, pathText(d.path))
		d.pop()
	}
	return d.skip(i, depth)
}

// maxUnknown is the number of ignored members to record.
const maxUnknown = 16

// slice decodes the array at i.
func (d *decoder) slice(n *node, v reflect.Value, i, depth int) (int, error) {
	if err := d.tooDeep(i, depth); err != nil {
		return i, err
	}
	if n.elem.kind == kindString && n.elem.typ == reflect.TypeFor[string]() && n.typ == reflect.TypeFor[[]string]() {
		return d.strings(n, v, i, depth)
	}
	start := i
	if v.IsNil() || v.Len() > 0 {
		v.Set(reflect.MakeSlice(n.typ, 0, 0))
	}
	count := 0
	end, err := d.elements(i, func(at int) (int, error) {
		if count == v.Cap() {
			v.Grow(max(4, count))
		}
		v.SetLen(count + 1)
		element := v.Index(count)
		element.SetZero()
		d.push(segment{index: count + 1})
		end, err := d.value(n.elem, element, at, depth+1)
		d.pop()
		count++
		return end, err
	})
	if err == nil && n.rules != nil {
		d.items(n.rules, count, d.doc[start:end])
	}
	return end, err
}

// strings is slice for the most common type.
func (d *decoder) strings(n *node, v reflect.Value, i, depth int) (int, error) {
	start := i
	list := make([]string, 0, 4)
	end, err := d.elements(i, func(at int) (int, error) {
		if at < len(d.doc) && d.doc[at] != '"' {
			d.push(segment{index: len(list) + 1})
			d.fail()
			d.pop()
			list = append(list, "")
			return d.skip(at, depth+1)
		}
		end, err := d.skip(at, depth+1)
		if err != nil {
			return end, err
		}
		text, _ := jsonscan.Unquote(d.doc[at:end])
		if n.elem.rules != nil {
			d.push(segment{index: len(list) + 1})
			d.checkText(n.elem.rules, text)
			d.pop()
		}
		list = append(list, text)
		return end, nil
	})
	if err != nil {
		return end, err
	}
	if n.rules != nil {
		d.items(n.rules, len(list), d.doc[start:end])
	}
	*v.Addr().Interface().(*[]string) = list
	return end, nil
}

// elements calls element for each element of the array at i.
func (d *decoder) elements(i int, element func(i int) (int, error)) (int, error) {
	if i = jsonscan.Space(d.doc, i+1); i < len(d.doc) && d.doc[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := element(i)
		if err != nil {
			return end, err
		}
		var done bool
		if i, done, err = d.next(end, ']'); err != nil || done {
			return i, err
		}
	}
}

func (d *decoder) array(n *node, v reflect.Value, i, depth int) (int, error) {
	if err := d.tooDeep(i, depth); err != nil {
		return i, err
	}
	start, count := i, 0
	end, err := d.elements(i, func(at int) (int, error) {
		d.push(segment{index: count + 1})
		defer d.pop()
		count++
		if count > v.Len() {
			return d.skip(at, depth+1)
		}
		return d.value(n.elem, v.Index(count-1), at, depth+1)
	})
	if err != nil {
		return end, err
	}
	if count != v.Len() {
		d.fail()
	}
	if n.rules != nil {
		d.items(n.rules, count, d.doc[start:end])
	}
	return end, nil
}

// items checks the rules that need the whole array.
func (d *decoder) items(r *rules, count int, raw []byte) {
	if count < r.minItems || r.maxItems >= 0 && count > r.maxItems ||
		r.unique != nil && count > 1 && r.unique.Validate(raw) != nil {
		d.fail()
	}
}

// entries decodes the object at i into the map v.
func (d *decoder) entries(n *node, v reflect.Value, i, depth int) (int, error) {
	if err := d.tooDeep(i, depth); err != nil {
		return i, err
	}
	v.Set(reflect.MakeMap(n.typ))
	if i = jsonscan.Space(d.doc, i+1); i < len(d.doc) && d.doc[i] == '}' {
		return i + 1, nil
	}
	element := reflect.New(n.typ.Elem()).Elem()
	for {
		key, at, err := d.key(i, depth+1)
		if err != nil {
			return at, err
		}
		name := reflect.ValueOf(string(key)).Convert(n.typ.Key())
		d.push(segment{name: name.String()})
		if v.MapIndex(name).IsValid() {
			d.fail() // repeated
		}
		element.SetZero()
		end, err := d.value(n.elem, element, at, depth+1)
		d.pop()
		if err != nil {
			return end, err
		}
		v.SetMapIndex(name, element)
		var done bool
		if i, done, err = d.next(end, '}'); err != nil || done {
			return i, err
		}
	}
}
