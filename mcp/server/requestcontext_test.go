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

// TestContextForgetsDerived guards the memory of a request or task that runs long: contexts derived from its own, such
// as one for each request to another server, are forgotten once they have ended.
func TestContextForgetsDerived(t *testing.T) {
	rc := New(mcp.Unimplemented{}, nil).newRequest(t.Context(), "", TransportHTTP)
	var cancels []context.CancelFunc
	var derived []context.Context
	for range 10 {
		ctx, cancel := context.WithCancel(rc)
		derived, cancels = append(derived, ctx), append(cancels, cancel)
	}
	for _, i := range []int{9, 0, 4, 1, 8, 2, 7} {
		cancels[i]()
	}
	if n := len(rc.after); n != 3 {
		t.Errorf("%d derived contexts are known, want the 3 that have not ended", n)
	}
	rc.cancel()
	for _, ctx := range derived {
		<-ctx.Done()
	}
	for _, cancel := range cancels {
		cancel()
	}
}
