package policy

import (
	"math/rand/v2"
	"testing"

	"github.com/cedar-policy/cedar-go/types"
)

// TestPattern compares patterns with those of Cedar, for random texts.
func TestPattern(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "b", "*", "é", `"`, "\\", "\n"}
	matched := 0
	for range 3000 {
		var parts []any
		for range random.IntN(6) {
			if random.IntN(3) == 0 {
				parts = append(parts, types.Wildcard{})
				continue
			}
			parts = append(parts, letters[random.IntN(len(letters))])
		}
		cedars := types.NewPattern(parts...)
		own, ok := patternOf(cedars)
		if !ok {
			t.Fatalf("%s has no form for bytes", cedars.MarshalCedar())
		}
		for range 50 {
			text := ""
			for range random.IntN(7) {
				text += letters[random.IntN(3)]
			}
			if random.IntN(4) == 0 {
				text += letters[random.IntN(len(letters))]
			}
			got, want := own.matches([]byte(text)), cedars.Match(types.String(text))
			if got != want {
				t.Fatalf("%q like %s = %v, want %v", text, cedars.MarshalCedar(), got, want)
			}
			if got {
				matched++
			}
		}
	}
	if matched < 1000 {
		t.Errorf("%d texts matched, want more", matched)
	}
}
