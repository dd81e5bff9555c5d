package schema_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/schema"
)

// allocated returns how many MiB f allocates. Nothing else must run.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// TestManyPatterns guards the work of compiling an untrusted schema, such as the form of a question: each
// pattern had a limit, but not all of them together.
func TestManyPatterns(t *testing.T) {
	var text strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&text, `"p%d":{"pattern":"^([a-z]{1,30}){1,30}%d!$"},`, n, n)
	}
	var s *schema.Schema
	var err error
	used := allocated(func() { s, err = schema.Compile([]byte(`{"properties":{` + text.String() + `"z":true}}`)) })
	if err != nil || used > 150 {
		t.Fatalf("Compile allocates %d MiB, %v", used, err)
	}
	if s.Accepts([]byte(`{"p0":"?"}`)) || !s.Accepts([]byte(`{"p0":"a0!"}`)) || !s.Accepts([]byte(`{"p999":"?"}`)) {
		t.Error("want the first patterns checked, and not the last")
	}
	const why = "the patterns of the schema are too large together"
	if notes := strings.Join(s.Notes(), "\n"); !strings.Contains(notes, why) {
		t.Errorf("the notes do not say why: %.200s", notes)
	}
}

// TestHugePattern guards the work for one pattern whose program is too large: it was compiled to find out.
func TestHugePattern(t *testing.T) {
	for name, pattern := range map[string]string{
		"repetition": "(" + strings.Repeat("x", 3000) + "){1000}",
		"classes":    strings.Repeat(`\\p{L}`, 100_000),
		"expanded":   strings.Repeat(`\\S`, 300_000),
	} {
		var s *schema.Schema
		var err error
		used := allocated(func() { s, err = schema.Compile([]byte(`{"pattern":"` + pattern + `"}`)) })
		if err != nil || used > 20 || len(s.Notes()) != 1 || !strings.Contains(s.Notes()[0], "too large") {
			t.Errorf("%s: Compile allocates %d MiB, %v, notes %.100q", name, used, err, s.Notes())
		}
	}
}

// TestUnsureChain guards the work for a pattern that cannot be checked at the end of many references: all schemas were
// visited again for each few of them.
func TestUnsureChain(t *testing.T) {
	const length = 9000
	var text strings.Builder
	for n := range length {
		fmt.Fprintf(&text, `"p%d":{"$ref":"#/$defs/p%d"},`, n, n+1)
	}
	schemaText := fmt.Sprintf(`{"not":{"$ref":"#/$defs/p0"},"$defs":{%s"p%d":{"pattern":"(?=x)"}}}`, text.String(), length)
	var s *schema.Schema
	var err error
	used := allocated(func() { s, err = schema.Compile([]byte(schemaText)) })
	if err != nil || used > 100 {
		t.Fatalf("Compile allocates %d MiB, %v", used, err)
	}
	if !s.Accepts([]byte(`"y"`)) {
		t.Error("a value is refused because of a pattern that is not checked")
	}
}
