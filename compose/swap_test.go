package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

func TestSwapIsASource(t *testing.T) {
	var a, b *shelf
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		a, b = newShelf("a"), newShelf("b")
		src, err := compose.Union(t.Context(),
			[]compose.Named{{Name: "a", Source: compose.NewRetirable(a)}, {Name: "b", Source: compose.NewRetirable(b)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return compose.NewSwap(src)
	}, &mcptest.Options{
		CatalogAllocs: 1,
		Calls: []mcptest.Call{
			{Tool: "a_find", Args: `{"x":1}`, Want: `a:find{\"x\":1}`},
			{Tool: "find", WantError: true},
		},
		Reads:   []mcptest.Read{{URI: "shelf://b/moby", Want: `"text":"b"`}, {URI: "shelf://c", WantError: true}},
		Prompts: []mcptest.Prompt{{Name: "b_ask", Args: map[string]string{"book": "moby"}, Want: "bmoby"}},
		Completions: []mcptest.Completion{{
			Params: mcp.CompleteParams{Prompt: "b_ask", Argument: "book", Value: "mo"},
			Want:   []string{"b", "ask", "mo"},
		}},
		Change: func(testing.TB, mcp.Source) {
			b.offer(shelfCatalog("b", "second"))
			b.tell(mcp.Change{Tools: true, Prompts: true})
		},
	})
}

// slow is a Source whose calls block, and that records calls after its end.
type slow struct {
	mcp.Unimplemented
	entered, release chan struct{}
	ended            atomic.Bool
	late             atomic.Int64
}

func (s *slow) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if s.entered != nil {
		s.entered <- struct{}{}
		<-s.release
	}
	if s.ended.Load() {
		s.late.Add(1)
	}
	return &mcp.CallToolResult{}, nil
}

func TestRetiredIsIdleWhenItsCallsHaveEnded(t *testing.T) {
	src := &slow{entered: make(chan struct{}), release: make(chan struct{})}
	r := compose.NewRetirable(src)
	swap := compose.NewSwap(r)
	done := make(chan error, 1)
	go func() {
		_, err := swap.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"})
		done <- err
	}()
	<-src.entered
	idle := r.Retire()
	if _, err := swap.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, compose.ErrRetired) {
		t.Errorf("a call to a source that was retired and not replaced: %v, want ErrRetired", err)
	}
	select {
	case <-idle:
		t.Error("it is idle with a call in flight")
	default:
	}
	close(src.release)
	if err := <-done; err != nil {
		t.Errorf("the call that had begun: %v", err)
	}
	<-idle
	<-compose.NewRetirable(src).Retire() // immediately, as no call is in flight
}

// TestSwapLosesNoCall keeps swapping and retiring during concurrent calls.
func TestSwapLosesNoCall(t *testing.T) {
	used := &slow{}
	part := compose.NewRetirable(used)
	swap := compose.NewSwap(part)
	var callers sync.WaitGroup
	var calls, failed atomic.Int64
	stop := make(chan struct{})
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				if _, err := swap.CallTool(context.Background(), &mcp.CallToolParams{Name: "x"}); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	late := int64(0)
	for n := 0; n < 2000 || calls.Load() < 20_000; n++ {
		next := &slow{}
		fresh := compose.NewRetirable(next)
		swap.Set(context.Background(), fresh)
		<-part.Retire()
		used.ended.Store(true)
		late += used.late.Load()
		part, used = fresh, next
	}
	close(stop)
	callers.Wait()
	if failed.Load() > 0 || late > 0 || calls.Load() == 0 {
		t.Errorf("of %d calls %d failed, and %d came to a source that was closed", calls.Load(), failed.Load(), late)
	}
}

func TestSwapTellsOnce(t *testing.T) {
	a, b := newShelf("a"), newShelf("b")
	swap := compose.NewSwap(compose.NewRetirable(a))
	var got []mcp.Change
	stop := swap.Watch(func(c mcp.Change) { got = append(got, c) })
	swap.Set(t.Context(), compose.NewRetirable(newShelf("a")))
	if len(got) != 0 {
		t.Errorf("told %v of a source that offers the same", got)
	}
	swap.Set(t.Context(), compose.NewRetirable(b))
	a.tell(mcp.Change{Tools: true}) // no longer current
	b.tell(mcp.Change{URI: "shelf://b"})
	if len(got) != 2 || !got[0].Tools || got[1].URI != "shelf://b" {
		t.Errorf("told %v, want that the lists changed, once, and what changed in b", got)
	}
	stop()
	swap.Tell(mcp.Change{Tools: true})
	if len(got) != 2 {
		t.Error("told after stop")
	}
}

func TestSwapHasWhatItShowsHas(t *testing.T) {
	swap := compose.NewSwap(compose.NewRetirable(&slow{}))
	if _, err := swap.ServeMethod(t.Context(), "x/y", json.RawMessage(`{}`)); err == nil {
		t.Error("an unknown method was served")
	}
	swap.Set(t.Context(), &slow{})
	if err := swap.Subscribe(t.Context(), "x://y"); err != nil {
		t.Errorf("Subscribe to a source without subscriptions: %v", err)
	}
}

// overtaken is replaced and retired while a call is on its way.
type overtaken struct {
	*compose.Retirable
	swap *compose.Swap
	next mcp.Source
}

func (o *overtaken) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	o.swap.Set(ctx, o.next)
	<-o.Retire()
	return o.Retirable.CallTool(ctx, p)
}

func TestSwapRepeatsWhatCameTooLate(t *testing.T) {
	late := &overtaken{Retirable: compose.NewRetirable(newShelf("a")), next: newShelf("b")}
	late.swap = compose.NewSwap(late)
	got, err := late.swap.CallTool(t.Context(), &mcp.CallToolParams{Name: "find"})
	if err != nil || got.Content[0].Text != "b:find" {
		t.Errorf("CallTool = %v, %v; want the answer of b", got, err)
	}
}
