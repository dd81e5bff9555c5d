package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestFailover guards what a server declares about sessions: before it has run, with a catalog of an
// earlier run, and afterwards.
func TestFailover(t *testing.T) {
	for how, want := range map[client.Failover]struct{ stateless, restartable bool }{
		"":                       {false, false},
		client.FailoverEnd:       {false, false},
		client.FailoverRestart:   {false, true},
		client.FailoverStateless: {true, false},
	} {
		for _, o := range []*client.Options{
			{Optional: true, Lazy: true},
			{Lazy: true, Previous: client.Previous{Catalog: catalogOf("one")}},
			{},
		} {
			o.Failover = how
			src := open(t, memory(t, &changing{cat: catalogOf("one")}), o)
			cat, err := src.Catalog(t.Context())
			if err != nil || cat.Stateless != want.stateless || cat.Restartable != want.restartable {
				t.Errorf("failover %q, optional %v, lazy %v: stateless %v, restartable %v, %v",
					how, o.Optional, o.Lazy, cat.Stateless, cat.Restartable, err)
			}
		}
	}
}

// TestIsolateAfterTheEnd guards against processes that nothing stops: a request that was cancelled because
// its session has ended starts none.
func TestIsolateAfterTheEnd(t *testing.T) {
	src := open(t, memory(t, &changing{cat: catalogOf("one")}), &client.Options{Lazy: true})
	i := client.Isolate(src, &client.IsolateOptions{
		Transport: func(context.Context) (client.Transport, error) {
			t.Error("a process was started")
			return nil, errors.New("none")
		},
	})
	ctx, cancel := context.WithCancel(mcp.WithPrincipal(t.Context(), &mcp.Principal{Name: "ada"}))
	cancel()
	if _, err := i.CallTool(ctx, &mcp.CallToolParams{Name: "one"}); !errors.Is(err, context.Canceled) {
		t.Errorf("CallTool = %v, want context.Canceled", err)
	}
}
