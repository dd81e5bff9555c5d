package server

import (
	"context"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// The end of a session does not change a finished request, because its answer is being
// written without the lock.
func TestFinishedRequestStaysAsItWas(t *testing.T) {
	for _, finished := range []bool{false, true} {
		rc := New(catalogOnly{}, nil).newRequest(context.Background(), "", "")
		if finished && rc.finish() {
			t.Error("the client of the request has cancelled it")
		}
		rc.cancelBecause(errSessionOver)
		if got := rc.because == errSessionOver; got == finished {
			t.Errorf("finished %v: the session's end becomes the answer: %v", finished, got)
		}
	}
}

type catalogOnly struct{ mcp.Unimplemented }

func (catalogOnly) Catalog(context.Context) (*mcp.Catalog, error) { return &mcp.Catalog{}, nil }
