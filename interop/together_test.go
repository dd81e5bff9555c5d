package interop_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestTogether uses one server from two clients of each kind at once, with eight callers
// each. Every answer must belong to its question.
func TestTogether(t *testing.T) {
	s, _ := writeSite(t)
	to := serve(t, s.dir)
	for _, kind := range sdks() {
		for _, transport := range transports() {
			for _, version := range []string{v1125, v0728} {
				t.Run(kind.name+"/"+transport+"/"+version, func(t *testing.T) {
					var all sync.WaitGroup
					for range 2 {
						c := kind.connect(t, transport, to, version)
						for caller := range 8 {
							all.Go(func() { callPlainTools(t, c, caller) })
						}
					}
					all.Wait()
				})
			}
		}
	}
}

// callPlainTools calls every eighth plain tool, starting with number first.
func callPlainTools(t *testing.T, c client, first int) {
	for i := first; i < manyTools; i += 8 {
		checkCall(t, c, exchange{fmt.Sprintf("plain_%03d", i), object{}, object{
			"content": []any{object{"type": "text", "text": fmt.Sprintf("answer %d", i)}},
		}})
	}
}
