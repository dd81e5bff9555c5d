package router

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFieldMistakes compiles types that go vet would reject in source code.
func TestFieldMistakes(t *testing.T) {
	text, number := reflect.TypeFor[string](), reflect.TypeFor[int]()
	for _, tt := range []struct {
		name   string
		fields []reflect.StructField
		want   []string
	}{
		{"one name twice", []reflect.StructField{
			{Name: "A", Type: text, Tag: `json:"a"`}, {Name: "B", Type: text, Tag: `json:"a"`},
		}, []string{`two fields have the JSON name "a"`}},
		{"a name and a field", []reflect.StructField{
			{Name: "A", Type: text}, {Name: "B", Type: number, Tag: `json:"A"`},
		}, nil}, // a tag wins, as in encoding/json
		{"hidden", []reflect.StructField{
			{Name: "a", PkgPath: "x", Type: text, Tag: `json:"a"`},
		}, []string{"a has a json tag but is not exported"}},
		{"a quote in the name", []reflect.StructField{
			{Name: "A", Type: text, Tag: `json:"a\"b"`},
		}, []string{`the JSON name "a\"b" cannot be used`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCompiler(false)
			c.node(reflect.StructOf(tt.fields))
			if !slices.Equal(c.faults, tt.want) {
				t.Errorf("faults %q, want %q", c.faults, tt.want)
			}
		})
	}
}

// TestManyFields: a struct with more fields than fit in the small bit set of seen fields.
func TestManyFields(t *testing.T) {
	var fields []reflect.StructField
	var members []string
	for i := range 200 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int]()})
		members = append(members, fmt.Sprintf(`"F%d":%d`, i, i))
	}
	n := newCompiler(false).node(reflect.StructOf(fields))
	for _, tt := range []struct {
		name   string
		given  []string
		failed bool
	}{
		{"all", members, false},
		{"reversed", slices.Collect(func(yield func(string) bool) {
			for _, m := range slices.Backward(members) {
				if !yield(m) {
					return
				}
			}
		}), false},
		{"one missing", slices.Concat(members[:150], members[151:]), true},
		{"one twice", append(slices.Clone(members), members[199]), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := reflect.New(n.typ).Elem()
			d := newDecoder([]byte("{"+strings.Join(tt.given, ",")+"}"), false)
			defer d.free()
			if err := d.decode(n, v); err != nil || d.failed != tt.failed {
				t.Fatalf("err %v, failed %v, want %v", err, d.failed, tt.failed)
			}
			if got := v.Field(199).Int(); got != 199 {
				t.Errorf("F199 = %d, want 199", got)
			}
		})
	}
}
