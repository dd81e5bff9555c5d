package serve

import (
	"context"
	"errors"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// endedFirst is a context that has ended, although none below it has yet.
type endedFirst struct{ context.Context }

func (endedFirst) Err() error { return context.Canceled }

// notOpened is a [Pending] source whose opening fails.
type notOpened struct{ mcp.Source }

func (notOpened) Opened(context.Context) (mcp.Source, error) {
	return nil, errors.New("it cannot be opened")
}

// TestStartupThatAnInterruptEnds ensures that an opening that fails because the server is
// stopped is no failure of the server, even if the opening notices the stop first.
func TestStartupThatAnInterruptEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		want bool
	}{
		{"stopped", endedFirst{t.Context()}, false},
		{"not stopped", t.Context(), true},
	} {
		ctx, starting := new(Options).awaitStartup(test.ctx, notOpened{}, nil)
		<-ctx.Done()
		if got := starting.failure() != nil; got != test.want {
			t.Errorf("%s: failure = %v, want one: %t", test.name, starting.failure(), test.want)
		}
		starting.close()
	}
}
