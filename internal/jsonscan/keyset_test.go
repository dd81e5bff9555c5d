package jsonscan_test

import (
	"fmt"
	"testing"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

func TestKeySet(t *testing.T) {
	for _, n := range []int{1, 16, 17, 100} {
		var s jsonscan.KeySet
		for i := range n {
			if !s.Add(fmt.Appendf(nil, "key%d", i)) {
				t.Fatalf("of %d: key %d is not new", n, i)
			}
		}
		for i := range n {
			if s.Add(fmt.Appendf(nil, "key%d", i)) {
				t.Fatalf("of %d: key %d is new again", n, i)
			}
		}
	}
}
