package serve

import (
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/cutengine"
)

// TestRetireAgain guards a replica that leaves while the engine fails: it keeps what it has, and hands it over once the
// others know.
func TestRetireAgain(t *testing.T) {
	e := &cutengine.Engine{Engine: cluster.NewMemory()}
	p := newOwner(t, e).homes(&noProcesses{}).hop
	e.Cut.Store(true)
	p.retire()
	time.Sleep(noticeRetirement / 2)
	if p.retiring.Load() {
		t.Error("a replica hands over that could not tell the others that it leaves")
	}
	e.Cut.Store(false)
	for deadline := time.Now().Add(10 * time.Second); !p.retiring.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the replica did not try again")
		}
	}
	p.running.Wait()
}
