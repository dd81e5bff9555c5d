package jsonscan_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// membersTo returns an object with n members, k1 to kn.
func membersTo(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i+1, i+1)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// ofSize returns an object of n bytes, whose last member is z.
func ofSize(n int) string {
	const rest = `{"a":"","z":1}`
	return `{"a":"` + strings.Repeat("x", n-len(rest)) + `","z":1}`
}

// indexSeeds are texts, and whether an Index has the members of the value at their start.
var indexSeeds = []struct {
	name, text string
	holds      bool
}{
	{"members", `{"a":1,"b":[1,{"a":2}],"c":{"a":3,"d":4}}`, true},
	{"white space", "\t{ \"a\" : 1 , \"b\" : \"x y\" } ", true},
	{"none", `{ }`, true},
	{"the empty name", `{"":1,"a":2}`, true},
	{"repeated", `{"a":1,"b":2,"a":3}`, true},
	{"in another case", `{"a":1,"A":2,"K":3,"k":4}`, true},
	{"folded by Unicode", "{\"k\":1,\"\u212a\":2}", true},
	{"an escaped value", `{"a":"\u0062","b":"\""}`, true},
	{"an escaped name", `{"\u0061":1}`, false},
	{"a name repeated in two ways", `{"a":1,"\u0061":2}`, false},
	{"eight members", membersTo(8), true},
	{"nine members", membersTo(9), false},
	{"the ninth repeats the first", strings.Replace(membersTo(9), "k9", "k1", 1), false},
	{"the longest", ofSize(math.MaxUint16), true},
	{"the longest name", `{"a":1,"` + strings.Repeat("n", 255) + `":2}`, true},
	{"a longer name", `{"a":1,"` + strings.Repeat("n", 256) + `":2}`, false},
	{"the widest gap", `{"a"` + strings.Repeat(" ", 126) + ":" + strings.Repeat("\n", 127) + `1}`, true},
	{"a wider gap", `{"a"` + strings.Repeat(" ", 127) + ":" + strings.Repeat("\n", 127) + `1}`, false},
	{"longer", ofSize(math.MaxUint16 + 1), false},
	{"a list", `["a",1]`, false},
	{"a string", `"a"`, false},
	{"null", `null`, false},
	{"nothing", ` `, false},
	{"a name only", `{"a"`, false},
	{"no value", `{"a":}`, false},
	{"a comma too many", `{"a":1,}`, false},
	{"cut off", `{"a":1`, false},
	{"no comma", `{"a":1 "b":2}`, false},
	{"invalid UTF-8", "{\"a\":1,\"\xff\":2}", false},
	{"text after it", `{"a":1}{"a":2}`, true},
	{"deep", strings.Repeat(`{"a":`, 512) + `1` + strings.Repeat(`}`, 512), true},
	{"too deep", strings.Repeat(`{"a":`, 513) + `1` + strings.Repeat(`}`, 513), false},
}

// checkIndex compares an Index of the value at the start of a text with scans of it. It returns the
// Index and the text of the value, or nil if that is invalid.
func checkIndex(t *testing.T, text []byte) (x *jsonscan.Index, raw []byte) {
	t.Helper()
	x = &jsonscan.Index{}
	var end int
	var err error
	for _, depth := range []int{jsonscan.MaxDepth, jsonscan.MaxDepth - 1, 0} {
		wantEnd, wantErr := jsonscan.ValueAt(text, 0, depth)
		if end, err = x.ValueAt(text, 0, depth); fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && end != wantEnd {
			t.Fatalf("ValueAt(%.100q) at depth %d = %d, %v, want %d, %v", text, depth, end, err, wantEnd, wantErr)
		}
	}
	if err != nil {
		raw = text
	} else {
		raw = text[jsonscan.Space(text, 0):end]
	}
	names := []string{"a", "A", "k", "K", "k1", "k9", "z", "", "absent"}
	for _, m := range jsonscan.Members(raw) {
		names = append(names, m.Name, strings.ToUpper(m.Name), strings.ToLower(m.Name), m.Name+"x")
	}
	for _, name := range names[:min(len(names), 60)] {
		for _, index := range []*jsonscan.Index{x, {}, nil} {
			got, want := index.Member(raw, name), jsonscan.Member(raw, name)
			if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Fatalf("%.100q: Member(%q) = %.100q, want %.100q", raw, name, got, want)
			}
			got, rival := index.OnlyMember(raw, name)
			want, wantRival := jsonscan.OnlyMember(raw, name)
			if !bytes.Equal(got, want) || (got == nil) != (want == nil) ||
				!bytes.Equal(rival, wantRival) || (rival == nil) != (wantRival == nil) {
				t.Fatalf("%.100q: OnlyMember(%q) = %.100q, %q, want %.100q, %q", raw, name, got, rival, want, wantRival)
			}
		}
	}
	if err != nil {
		return x, nil
	}
	return x, raw
}

func TestIndex(t *testing.T) {
	for _, tt := range indexSeeds {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			x, raw := checkIndex(t, text)
			if raw == nil {
				return
			}
			members := jsonscan.Members(raw)
			if !tt.holds || len(members) == 0 {
				members = append(members, jsonscan.Field{Name: "a"})
			}
			raw[0] = '-' // a scan finds no members any more
			last := members[len(members)-1]
			got, _ := x.OnlyMember(raw, last.Name)
			want := last.Value
			if !tt.holds {
				want = nil
			}
			if member := x.Member(raw, last.Name); !bytes.Equal(got, want) || !bytes.Equal(member, want) {
				t.Errorf("%q is found by the index as %q and %q, want %q", last.Name, got, member, want)
			}
		})
	}
}

// TestIndexOfAnotherText looks for members of a text with the index of another one.
func TestIndexOfAnotherText(t *testing.T) {
	text := []byte(`{"a":1,"b":2}`)
	var x jsonscan.Index
	if _, err := x.ValueAt(text, 0, 0); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{`{"b":3,"a":4}`, `{"x":"xxa:5"}`, `{"a":4}`, ``, `{"a":[10],"b":{"a":1}}`} {
		if got, want := x.Member([]byte(other), "a"), jsonscan.Member([]byte(other), "a"); !bytes.Equal(got, want) {
			t.Errorf("Member of %s is %s, want %s", other, got, want)
		}
	}
	for _, part := range [][]byte{text[:7], text[1:], nil} {
		if got, _ := x.OnlyMember(part, "a"); got != nil {
			t.Errorf("OnlyMember of %s is %s, want none", part, got)
		}
	}
	for _, other := range []string{`["a",1,"b",2]`, `{"\u0061":10}`} {
		copy(text, other)
		if _, err := x.ValueAt(text, 0, 0); err != nil {
			t.Fatal(err)
		}
		if got, want := x.Member(text, "b"), jsonscan.Member(text, "b"); !bytes.Equal(got, want) {
			t.Errorf("Member of %s, at the place of another text, is %s, want %s", text, got, want)
		}
	}
}

func FuzzIndex(f *testing.F) {
	for _, tt := range indexSeeds {
		if len(tt.text) < 1000 {
			f.Add([]byte(tt.text))
		}
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) { checkIndex(t, text) })
}
