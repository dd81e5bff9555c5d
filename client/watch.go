package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Watch calls changed for changes of resources and lists, which the server announces or
// which are found after a restart.
func (s *Source) Watch(changed func(mcp.Change)) (stop func()) {
	return s.watchers.Watch(changed)
}

// show sets the catalog of the source, and announces the difference.
func (s *Source) show(cat *mcp.Catalog) {
	old := s.catalog.Load()
	if old != nil && old.Version() == cat.Version() {
		return
	}
	params, _ := headersOf(cat)
	s.headers.Store(&params)
	s.catalog.Store(cat)
	s.reportMissing(cat, old)
	if old != nil {
		s.report(Event{What: EventChanged})
	}
	if old != nil || s.opts.Optional {
		s.watchers.Tell(mcp.Change{
			Tools:     true,
			Resources: true,
			Prompts:   true,
		})
	}
}

// reportMissing reports the lists that a catalog lacks, unless old, the previous one, lacked them
// too. The text of the error may differ each time.
func (s *Source) reportMissing(cat, old *mcp.Catalog) {
	for _, m := range cat.Missing {
		if m.Entry == 0 && (old == nil || !lacks(old, m.Source, m.List)) {
			s.report(Event{
				What: EventWarning,
				Err:  fmt.Errorf("%s; the server is used without this list", m.Why),
			})
		}
	}
}

// goWork runs f, whose ctx is cancelled when the session is lost. It returns false if the
// session is already lost.
func (ses *session) goWork(f func(ctx context.Context)) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.end != nil {
		return false
	}
	ses.handlers.Go(func() { f(ses.quit) })
	return true
}

// listenForQuestions opens the stream on which a server at a URL, up to 2025-11-25, asks
// questions that do not name their call. Some servers drop a question while it is closed, so
// it is opened before the first request that a server may ask about.
func (ses *session) listenForQuestions() {
	for _, kind := range []string{"elicitation", "sampling", "roots"} {
		if ses.http != nil && jsonscan.Member(ses.terms.Capabilities, kind) != nil {
			ses.http.listen(ses.refresh)
		}
	}
}

// listen opens what is needed to receive change notifications.
func (ses *session) listen() {
	lists := ses.declares("tools", "listChanged") ||
		ses.declares("resources", "listChanged") ||
		ses.declares("prompts", "listChanged")
	if !lists && !ses.declares("resources", "subscribe") {
		return
	}
	if ses.http != nil && !ses.version.Modern() {
		ses.http.listen(ses.refresh)
	}
	e, ok := ses.src.transport.(*Endpoint)
	if ses.version.Modern() && !(ok && e.NoListen) {
		ses.goWork(ses.subscribe)
	}
	if !ses.version.Modern() && len(ses.src.Subscribed()) > 0 {
		ses.goWork(ses.resume)
	}
}

// listenCall is call for a request that has no answer in normal operation.
func (ses *session) listenCall(ctx context.Context, c *call) ([]byte, error) {
	if err := ses.track(c); err != nil {
		return nil, err
	}
	defer ses.untrack(c)
	return ses.link.exchange(ctx, c)
}

// Subscribe subscribes to changes of a resource, and renews the subscription after each
// restart of the server. Subscribing twice has no additional effect. The error is an
// [*mcp.Error]: that of the server, [mcp.CodeMethodNotFound] if the server of version
// 2026-07-28 does not declare subscriptions, or [mcp.CodeResourceUnavailable].
func (s *Source) Subscribe(ctx context.Context, uri string) error {
	ses, err := s.acquire(ctx)
	if err != nil {
		return s.unavailable(ctx, mcp.CodeResourceUnavailable, err)
	}
	if s.isWatched(uri) {
		ses.unwatch(ctx, s.noteWatched(ctx, uri))
		return nil
	}
	if !ses.version.Modern() {
		if _, err := ses.request(ctx, "resources/subscribe", uriParams(uri)); err != nil {
			return s.unavailable(ctx, mcp.CodeResourceUnavailable, err)
		}
	} else if !ses.declares("resources", "subscribe") {
		// Such a server acknowledges a subscription without this resource, or gets none.
		return mcp.Errorf(mcp.CodeMethodNotFound, "the server does not declare resources.subscribe")
	}
	ses.unwatch(ctx, s.noteWatched(ctx, uri))
	ses.resubscribe()
	return nil
}

func uriParams(uri string) []byte {
	return append(jsonscan.AppendQuote([]byte(`{"uri":`), uri), '}')
}

// isWatched reports whether a client watches the resource.
func (s *Source) isWatched(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched.has(uri)
}

// noteWatched records that the client of the request watches a resource, and returns
// those that are no longer watched to make room.
func (s *Source) noteWatched(ctx context.Context, uri string) (gone []string) {
	req := mcp.RequestFrom(ctx)
	client := req.Client()
	share := req.Share(maxWatched)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched.add(uri, client, share)
}

// unwatch cancels subscriptions of a server whose resources have no watcher left.
func (ses *session) unwatch(ctx context.Context, uris []string) {
	if ses.version.Modern() && len(uris) > 0 {
		ses.resubscribe()
		return
	}
	for _, uri := range uris {
		// The resource may no longer exist.
		_, _ = ses.request(ctx, "resources/unsubscribe", uriParams(uri))
		// By a client that came in between.
		if ses.src.isWatched(uri) {
			_, _ = ses.request(ctx, "resources/subscribe", uriParams(uri))
		}
	}
}

// Subscribed returns the URIs of the watched resources, sorted.
func (s *Source) Subscribed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched.uris()
}

// resubscribe renews a subscription of 2026-07-28, which contains all resources.
func (ses *session) resubscribe() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	select {
	case ses.more <- struct{}{}: // a nil channel has no receiver
	default:
	}
}

// resume renews the subscriptions of earlier sessions.
func (ses *session) resume(ctx context.Context) {
	for _, uri := range ses.src.Subscribed() {
		params := append(jsonscan.AppendQuote([]byte(`{"uri":`), uri), '}')
		// The resource may no longer exist.
		_, _ = ses.request(ctx, "resources/subscribe", params)
		// It may have changed in the meantime.
		ses.src.watchers.Tell(mcp.Change{URI: uri})
	}
}

// filter returns the params of a subscription of 2026-07-28.
func (ses *session) filter() []byte {
	f := map[string]any{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
	if uris := ses.src.Subscribed(); len(uris) > 0 {
		f["resourceSubscriptions"] = uris
	}
	// Strings can always be encoded.
	encoded, _ := mcp.Marshal(map[string]any{"notifications": f})
	return encoded
}

// subscribe keeps a subscription of 2026-07-28 open.
func (ses *session) subscribe(ctx context.Context) {
	more := make(chan struct{}, 1)
	ses.mu.Lock()
	ses.more = more
	ses.mu.Unlock()
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		err := ses.listenOn(ctx, more)
		var e *mcp.Error
		refused := errors.As(err, &e)
		if ctx.Err() != nil || refused && lacksSubscriptions(e.Code) {
			return
		}
		if failures++; time.Since(began) > ses.src.opts.Timeouts.Reset {
			failures = 1
		}
		if !sleep(ctx, backoff(failures)) {
			return
		}
		if !refused { // otherwise listenOn does so once the server accepts
			ses.refresh() // lists may have changed in the meantime
		}
	}
}

// lacksSubscriptions reports whether the code of the answer to subscriptions/listen means that the server has no
// subscriptions. Others may be about the moment: the server is busy, or about to be replaced by another instance.
func lacksSubscriptions(code mcp.Code) bool {
	switch code {
	case mcp.CodeMethodNotFound, mcp.CodeInvalidParams, mcp.CodeInvalidRequest, mcp.CodeHeaderMismatch,
		mcp.CodeMissingClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}

// subscription is a long-lived request for notifications.
type subscription struct {
	// call is the subscriptions/listen request, which stays open.
	call   *call
	cancel context.CancelFunc
	ended  chan error // of capacity 1
}

// beginListening sends a subscriptions/listen request, and returns without waiting for its
// answer.
func (ses *session) beginListening(ctx context.Context) *subscription {
	c := newCall("subscriptions/listen")
	c.stands = &stands{open: make(chan struct{})}
	c.params = ses.params(ses.filter(), nil)
	mine, cancel := context.WithCancel(ctx)
	s := &subscription{c, cancel, make(chan error, 1)}
	if !ses.goWork(func(context.Context) {
		_, err := ses.listenCall(mine, c)
		cancel()
		s.ended <- err
	}) {
		cancel()
		s.ended <- errClosed
	}
	return s
}

// listenOn keeps a subscription open until it ends. When resources are added, it makes a
// new one, and cancels the previous one once the new one is acknowledged: a change in
// between is reported twice rather than not at all.
func (ses *session) listenOn(ctx context.Context, more <-chan struct{}) error {
	s := ses.beginListening(ctx)
	stands := s.call.stands.open
	for {
		select {
		case err := <-s.ended:
			return err
		case <-stands:
			stands = nil
			ses.refresh() // the lists may have changed since they were read at the start
			continue
		case <-more:
		}
		next := ses.beginListening(ctx)
		patience := time.NewTimer(ses.src.opts.Timeouts.Ping)
		select {
		case <-next.call.stands.open:
		case <-patience.C: // it does not acknowledge
		case err := <-next.ended:
			next.ended <- err // for the next iteration
		}
		patience.Stop()
		s.cancel()
		<-s.ended
		s = next
		ses.refresh() // the cancelled one may have missed a change
	}
}
