package schema_test

import "testing"

const travel = `{"type":"object","properties":{
	"city":{"type":"string","minLength":1},
	"mode":{"type":"string","enum":["walk","bike","train"],"default":"walk"},
	"days":{"type":"integer","minimum":1,"maximum":30},
	"tags":{"type":"array","items":{"type":"string"},"maxItems":10}
},"required":["city","days"],"additionalProperties":false}`

const nullable = `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},` +
	`"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"c":{"type":"number","multipleOf":0.5}}}}}`

// TestAllocations: validating a valid text allocates nothing.
func TestAllocations(t *testing.T) {
	for _, tt := range []struct{ name, schema, doc string }{
		{"usual", travel, `{"city":"Lyon","days":3,"tags":["a","b"],"mode":"bike"}`},
		{"no rules", `{"type":"object"}`, `{"a":[1,{"b":null}],"c":"d"}`},
		{"branches", nullable, `{"a":null,"b":{"c":2.5}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, doc := mustCompile(t, tt.schema), []byte(tt.doc)
			if err := s.Validate(doc); err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() { _ = s.Validate(doc) }); n != 0 {
				t.Errorf("Validate allocates %v times, want 0", n)
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, bb := range []struct{ name, schema, doc string }{
		{"one field",
			`{"type":"object","properties":{"code":{"type":"integer"}},"required":["code"],"additionalProperties":false}`,
			`{"code":404}`},
		{"five fields", travel, `{"city":"Lyon","days":3,"tags":["a","b"],"mode":"bike"}`},
		{"branches", nullable, `{"a":null,"b":{"c":2.5}}`},
		{"invalid", travel, `{"city":"Lyon","days":0,"mode":"car"}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s, doc := mustCompile(b, bb.schema), []byte(bb.doc)
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Validate(doc)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustCompile(b, travel)
	}
}
