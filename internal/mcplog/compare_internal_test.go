package mcplog

import (
	"runtime"
	"strings"
	"testing"
)

// TestManyAdditionalElements guards the work for elements that are not reported: each was searched for secrets.
func TestManyAdditionalElements(t *testing.T) {
	array := func(n int) []byte { return []byte("[" + strings.Repeat(`"x",`, n) + `"x"]`) }
	one, two := array(2000), array(4000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found, err := (&comparison{redacted: true}).run(one, two)
	runtime.ReadMemStats(&after)
	if err != nil || len(found) != maxDifferences {
		t.Fatalf("%d differences, error %v", len(found), err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 40<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}
