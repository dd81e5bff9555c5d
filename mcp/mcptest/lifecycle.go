package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// operations returns calls of all methods, which may be made in any order.
func (s *suite) operations(ctx context.Context, cat *mcp.Catalog) []func() {
	const few = 8
	var names []string
	for _, t := range sample(s.tools(cat), few) {
		names = append(names, t.Name)
	}
	uris := []string{"mcptest://unknown"}
	for _, r := range sample(cat.Resources, few) {
		uris = append(uris, r.URI)
	}
	for _, r := range s.opts.Reads {
		uris = append(uris, r.URI)
	}
	prompts := append([]Prompt{{Name: "mcptest-unknown"}}, s.opts.Prompts...)
	for _, p := range sample(cat.Prompts, few) {
		prompts = append(prompts, Prompt{Name: p.Name})
	}
	all := []func(){
		func() { ask(s, ctx, "Catalog", s.source.Catalog) },
		func() { s.callTool(ctx, "mcptest-unknown", nil) },
	}
	for _, c := range s.opts.Calls {
		if !c.Blocks {
			all = append(all, func() { s.callExample(ctx, c) })
		}
	}
	for _, name := range names {
		all = append(all, func() { s.callTool(ctx, name, json.RawMessage(`{}`)) })
	}
	for _, uri := range uris {
		all = append(all, func() { s.read(ctx, uri) })
	}
	for _, p := range prompts {
		all = append(all, func() { s.getPrompt(ctx, p.Name, p.Args) })
	}
	for _, p := range sample(s.completable(cat), few) {
		all = append(all, func() { s.complete(ctx, p) })
	}
	return all
}

// checkCancelledContext: every method returns if its context has ended.
func checkCancelledContext(s *suite) {
	cat := s.catalog()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, do := range s.operations(ctx, cat) {
		do()
	}
	for _, c := range s.opts.Calls {
		if c.Blocks {
			s.callExample(ctx, c)
		}
	}
}

// checkCancel: a call that blocks returns when its context ends.
func checkCancel(s *suite) {
	for _, c := range s.opts.Calls {
		if !c.Blocks {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(20*time.Millisecond, cancel)
		s.callExample(ctx, c)
		if timer.Stop() {
			s.Errorf("CallTool(%s, %s) returned before its context ended, want it to block", short(c.Tool), short(c.Args))
		}
		cancel()
	}
}

// checkConcurrent: all methods may be called concurrently. The race detector finds the
// violations.
func checkConcurrent(s *suite) {
	const clients, rounds = 8, 4
	cat := s.catalog()
	all := s.operations(context.Background(), cat)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for client := range clients {
		wg.Go(func() {
			<-start
			for i := range rounds * len(all) {
				all[(i+client)%len(all)]()
			}
		})
	}
	close(start)
	wg.Wait()
	if again := s.catalog(); again.Version() != cat.Version() {
		s.Errorf("the catalog has changed while the source was used")
	}
}

// checkWatch: a Watcher reports every change, and none after stop.
func checkWatch(s *suite) {
	w, ok := s.source.(mcp.Watcher)
	if !ok {
		return
	}
	before := s.catalog()
	first := s.watch(w)
	second := s.watch(w)
	if s.opts.Change != nil {
		s.opts.Change(s.TB, s.source)
		change, ok := s.next(first)
		if ok && (change.Tools || change.Resources || change.Prompts) && s.catalog().Version() == before.Version() {
			s.Errorf("Watch reports a change, but the catalog is unchanged")
		}
		s.next(second)
	}
	s.stop(first)
	s.stop(first) // stop may be called twice
	calls := first.calls.Load()
	if s.opts.Change != nil {
		for len(second.changes) > 0 {
			<-second.changes
		}
		s.opts.Change(s.TB, s.source)
		if _, ok := s.next(second); !ok {
			return
		}
	}
	s.stop(second)
	if n := first.calls.Load() - calls; n > 0 {
		s.Errorf("Watch calls changed %d times after stop has returned", n)
	}
}

// watcher is one subscription of a Watcher.
type watcher struct {
	stop func()
	// calls counts notifications, and changes has the first thousand.
	calls   atomic.Int64
	changes chan mcp.Change
}

// watch watches a source for the rules about changes.
func (s *suite) watch(source mcp.Watcher) *watcher {
	s.Helper()
	w := &watcher{changes: make(chan mcp.Change, 1000)}
	if !s.finish("Watch", func() {
		w.stop = source.Watch(func(c mcp.Change) {
			w.calls.Add(1)
			select {
			case w.changes <- c:
			default: // more changes than any test reads
			}
		})
	}) {
		s.FailNow()
	}
	if w.stop == nil {
		s.Fatalf("Watch returns no function to stop")
	}
	return w
}

func (s *suite) stop(w *watcher) {
	s.Helper()
	s.finish("stop", w.stop)
}

// next waits for the next change.
func (s *suite) next(w *watcher) (mcp.Change, bool) {
	s.Helper()
	timer := time.NewTimer(s.opts.Timeout)
	defer timer.Stop()
	select {
	case c := <-w.changes:
		return c, true
	case <-timer.C:
		s.Errorf("Watch has not reported a change after %v", s.opts.Timeout)
		return mcp.Change{}, false
	}
}

// checkClose: a source that can be closed can be closed twice, and its methods still
// return, if only with errors.
func checkClose(s *suite) {
	c, ok := s.source.(io.Closer)
	if !ok {
		return
	}
	cat := s.catalog()
	for i := range 2 {
		var err error
		if !s.finish("Close", func() { err = c.Close() }) {
			return
		}
		if err != nil {
			s.Errorf("Close = %v, want nil (call %d)", err, i+1)
		}
	}
	ctx := context.Background()
	s.finish("Catalog after Close", func() { _, _ = s.source.Catalog(ctx) })
	for _, t := range sample(s.tools(cat), 3) {
		s.finish(fmt.Sprintf("CallTool(%s) after Close", short(t.Name)), func() {
			_, _ = s.source.CallTool(ctx, &mcp.CallToolParams{Name: t.Name})
		})
	}
	for _, r := range sample(cat.Resources, 3) {
		s.finish(fmt.Sprintf("ReadResource(%s) after Close", short(r.URI)), func() {
			_, _ = s.source.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
		})
	}
	if w, ok := s.source.(mcp.Watcher); ok {
		s.stop(s.watch(w))
	}
}
