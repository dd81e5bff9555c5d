package secrets

import (
	"fmt"
	"strings"
	"testing"
)

// What a Scanner remembers of names changes no result, and is limited.
func TestNamesAreLimited(t *testing.T) {
	s := New([]string{"DB_PASSWORD=hunter2correct"})
	var text strings.Builder
	for i := range 5 * maxNames {
		fmt.Fprintf(&text, "name_%d=value\n", i)
	}
	text.WriteString("api_key=Zk83hs92KdP01xQm\n")
	for range 2 {
		if found := s.Find(text.String()); len(found) != 1 || found[0].Kind != Pair {
			t.Errorf("found %+v, want the value called api_key", found)
		}
	}
	kinds := map[string]nameKind{
		"api_key":     secretPairName,
		"DB_PASSWORD": secretPairName,
		"name_1":      otherName,
	}
	for name, want := range kinds {
		for range 2 {
			if got := s.nameKind(name); got != want {
				t.Errorf("kind of %s is %d, want %d", name, got, want)
			}
		}
	}
	kept := 0
	s.names.Range(func(any, any) bool { kept++; return true })
	if kept != maxNames {
		t.Errorf("%d names are remembered, want %d", kept, maxNames)
	}
}
