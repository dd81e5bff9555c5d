package server

import (
	"context"
	"reflect"
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

// TestRequestSize: a request takes 1024 bytes of memory, of which 8 are those of the allocator. The next
// size has 128 more, for each request.
func TestRequestSize(t *testing.T) {
	if size := reflect.TypeFor[request]().Size(); size > 1016 {
		t.Errorf("a request has %d bytes, want at most 1016", size)
	}
}
