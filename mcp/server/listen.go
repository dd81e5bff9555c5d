package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// subscription is one subscriptions/listen request (2026-07-28): the changes its client
// wants to be notified of, and the request's id, which is included in every message.
type subscription struct {
	id []byte // raw
	// filter is what the client asked to be notified of; news are changes that it has not
	// been sent.
	filter listenFilter
	uris   map[string]struct{}
	news   pending

	store TaskStore
	tasks map[string]struct{} // by id; those the client may see
	// mayFollow reports whether the client may still see a task; nil without tasks.
	mayFollow func(*TaskRecord) bool

	acknowledged atomic.Bool // used by a pipe, on which other messages are written concurrently

	kept kept
	mu   sync.Mutex
	// gone reports that the subscription has ended; close must not be called again.
	gone  bool
	close func() // ends it; set by the surface
}

// giveUp implements keeper.
func (sub *subscription) giveUp() {
	sub.mu.Lock()
	sub.gone = true
	end := sub.close
	sub.mu.Unlock()
	if end != nil {
		end()
	}
}

func (sub *subscription) isGone() bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.gone
}

// onGiveUp registers end to be called when the subscription is given up, or immediately
// if that has already happened.
func (sub *subscription) onGiveUp(end func()) {
	sub.mu.Lock()
	sub.close = end
	gone := sub.gone
	sub.mu.Unlock()
	if gone {
		end()
	}
}

// listenFilter is the notifications member of subscriptions/listen.
type listenFilter struct {
	Tools     bool         `json:"toolsListChanged,omitempty"`
	Prompts   bool         `json:"promptsListChanged,omitempty"`
	Resources bool         `json:"resourcesListChanged,omitempty"`
	URIs      distinctList `json:"resourceSubscriptions,omitempty"`
	TaskIDs   distinctList `json:"taskIds,omitempty"`
}

// distinctList is an array of strings without repetitions. Decoding fails if it has more than
// maxSubscribedURIs elements, before they are kept.
type distinctList []string

var errTooManyElements = errors.New("too many elements")

// UnmarshalJSON implements [json.Unmarshaler].
func (l *distinctList) UnmarshalJSON(raw []byte) error {
	*l = nil
	if string(raw) == "null" {
		return nil
	}
	if raw[0] != '[' {
		return errNotStrings
	}
	n := 0
	seen := make(map[string]struct{})
	_, err := jsonscan.Array(raw, 0, 0, func(i int) (int, error) {
		if n++; n > maxSubscribedURIs {
			return i, errTooManyElements
		}
		end, err := jsonscan.Value(raw, i)
		if err != nil {
			return end, err
		}
		element, ok := jsonscan.Unquote(raw[i:end])
		if !ok {
			return end, errNotStrings
		}
		if _, repeated := seen[element]; !repeated {
			seen[element] = struct{}{}
			*l = append(*l, element)
		}
		return end, nil
	})
	return err
}

var errNotStrings = errors.New("not an array of strings")

// listenSurface is a surface that can keep a subscription open.
type listenSurface interface {
	// listen serves sub after its acknowledgment, until the client cancels it or the server
	// stops. If possible, it returns without waiting for that.
	listen(rc *request, sub *subscription) error
}

// maxSubscribedURIs limits the number of URIs, and of tasks, in one subscription.
const maxSubscribedURIs = 10_000

// listen serves subscriptions/listen: it books what the client asks for, and leaves the
// open stream to the surface.
func (s *Server) listen(rc *request, cat *mcp.Catalog, _ *answer) error {
	surface, ok := rc.stream.(listenSurface)
	if !ok {
		return mcp.Errorf(mcp.CodeInvalidRequest, "subscriptions/listen needs a client that accepts text/event-stream")
	}
	asked := *rc.listens
	rc.listens = nil
	if len(asked.TaskIDs) > 0 && !rc.knowsTasks() {
		return rc.missingTasks()
	}
	sub := &subscription{
		id:     bytes.Clone(rc.msg.id),
		filter: s.supported(asked, cat),
		store:  s.tasks.store,
	}
	sub.watchTasks(s, rc, asked.TaskIDs)
	sub.uris = make(map[string]struct{}, len(sub.filter.URIs))
	for _, uri := range sub.filter.URIs {
		sub.uris[uri] = struct{}{}
	}
	// Booked first, so that what does not fit costs no other server a subscription.
	if !s.ledger.book(&sub.kept, rc.Client(), keptSubscription, sub.entries(),
		sub.size(), sub) {
		return errBudget
	}
	open := false
	defer func() { // even after a panic of the source
		if !open {
			s.ledger.release(&sub.kept)
		}
	}()
	if w, ok := s.source.(mcp.Subscriber); ok {
		entries, size := sub.entries(), sub.size()
		sub.subscribe(rc, w)
		s.ledger.shrink(&sub.kept, entries-sub.entries(), size-sub.size())
	}
	if err := surface.listen(rc, sub); err != nil {
		return err
	}
	open = true
	rc.outcome = OutcomeStream
	return nil
}

const methodListen = "subscriptions/listen"

// readListen reads the filter of subscriptions/listen, once for the gate and for listen: the gate
// must decide about the same URIs.
func (rc *request) readListen() error {
	raw, ok := rc.param("notifications")
	if !ok || !jsonscan.IsObject(raw) {
		return invalidParams("params.notifications is required and must be an object")
	}
	asked := new(listenFilter)
	switch err := json.Unmarshal(raw, asked); {
	case errors.Is(err, errTooManyElements):
		return invalidParams("params.notifications: want at most %d elements of resourceSubscriptions, and of taskIds",
			maxSubscribedURIs)
	case err != nil:
		return invalidParams("params.notifications: want booleans, and an array of strings for resourceSubscriptions")
	}
	if err := checkListenSizes(rc.msg.id, asked.URIs); err != nil {
		return err
	}
	rc.listens = asked
	return nil
}

// checkListenSizes rejects a subscription with an id or URI that is too long to be kept.
func checkListenSizes(id []byte, uris []string) error {
	if len(id) > maxURI {
		return invalidRequest("the id of subscriptions/listen has %d bytes, want at most %d", len(id), maxURI)
	}
	for _, uri := range uris {
		if len(uri) > maxURI {
			return invalidParams("params.notifications.resourceSubscriptions: a URI has %d bytes, want at most %d",
				len(uri), maxURI)
		}
	}
	return nil
}

// entries returns how many subscriptions it counts as.
func (sub *subscription) entries() int {
	return max(1, len(sub.uris)+len(sub.tasks))
}

// size returns the number of bytes it keeps, in addition to its stream.
func (sub *subscription) size() int64 {
	n := costSubscription * sub.entries()
	for uri := range sub.uris {
		n += len(uri)
	}
	return int64(n + 2*len(sub.id))
}

// subscriber makes a subscription a listener. signal wakes the writer.
type subscriber struct {
	// sub is the subscription, and signal wakes the pipe that writes its messages.
	sub    *subscription
	signal func()
}

// deliver implements listener.
func (s *subscriber) deliver(c change) {
	if s.sub.wants(c) {
		s.signal()
	}
}

var errEnding = mcp.Errorf(mcp.CodeInternalError, "the server is shutting down")

// supported returns the part of a filter for which this server can send notifications.
func (s *Server) supported(f listenFilter, cat *mcp.Catalog) listenFilter {
	if !s.hub.watched() {
		return listenFilter{}
	}
	f.TaskIDs = nil
	f.Tools = f.Tools && hasTools(cat)
	f.Prompts = f.Prompts && hasPrompts(cat)
	f.Resources = f.Resources && hasResources(cat)
	if !hasSubscribe(cat) {
		f.URIs = nil
	}
	return f
}

// watchTasks subscribes to those of the tasks that the client may see.
func (sub *subscription) watchTasks(s *Server, rc *request, ids []string) {
	if len(ids) == 0 {
		return
	}
	sub.tasks = make(map[string]struct{})
	ctx := rc.parent // rc itself would keep the request in memory
	if rc.header != nil {
		ctx = context.WithoutCancel(ctx) // over HTTP/1.1, it ends with the handler, before the stream
	}
	transport := rc.transport
	sub.mayFollow = func(record *TaskRecord) bool {
		return s.checkTask(ctx, record, transport) == nil
	}
	for _, id := range ids {
		record, ok, err := sub.store.GetTask(rc, id)
		if err == nil && ok &&
			record.Principal == principalID(mcp.PrincipalFrom(rc)) && s.checkTask(rc, &record, transport) == nil {
			sub.tasks[id] = struct{}{}
			sub.filter.TaskIDs = append(sub.filter.TaskIDs, id)
		}
	}
}

// subscribe subscribes to the URIs of the filter, and removes those that the source refuses: they
// are neither kept nor acknowledged.
func (sub *subscription) subscribe(ctx context.Context, w mcp.Subscriber) {
	asked := sub.filter.URIs
	sub.filter.URIs = nil
	for _, uri := range asked {
		if sub.isGone() || w.Subscribe(ctx, uri) != nil {
			delete(sub.uris, uri)
			continue
		}
		sub.filter.URIs = append(sub.filter.URIs, uri)
	}
}

// wants adds the subscribed part of a change to the news, and reports whether there is
// any.
func (sub *subscription) wants(c change) bool {
	c.Tools = c.Tools && sub.filter.Tools
	c.Prompts = c.Prompts && sub.filter.Prompts
	c.Resources = c.Resources && sub.filter.Resources
	if _, ok := sub.tasks[c.id]; !ok {
		c.id = ""
	}
	news := sub.news.merge(c, func(uri string) bool {
		_, ok := sub.uris[uri]
		return ok
	})
	return c.everything && sub.news.mergeAll(maps.Keys(sub.uris)) || news
}

// acknowledgment returns the first message of a subscription.
func (sub *subscription) acknowledgment() []byte {
	filter, _ := mcp.Marshal(sub.filter)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",`+
		`"params":{"_meta":{%q:%s},"notifications":%s}}`,
		metaSubscriptionID, sub.id, filter)
}

const metaSubscriptionID = "io.modelcontextprotocol/subscriptionId"

// end returns the last message, which is the result of the request.
func (sub *subscription) end() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","_meta":{%q:%s}}}`,
		sub.id, metaSubscriptionID, sub.id)
}

// messages returns the notifications that are due.
func (sub *subscription) messages() (all [][]byte) {
	meta := fmt.Sprintf(`"_meta":{%q:%s}`, metaSubscriptionID, sub.id)
	lists, uris, ids := sub.news.take()
	for _, id := range ids {
		record, ok, err := sub.store.GetTask(context.Background(), id)
		if err != nil || !ok || !sub.mayFollow(&record) {
			continue
		}
		msg := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/tasks","params":{%s,`, meta)
		all = append(all, append(record.appendMembers(msg, true), '}', '}'))
	}
	return append(all, lists.messages(uris, meta)...)
}

// messages encodes changes of lists and resources. params are members included in every
// notification, or empty.
func (lists listChanges) messages(uris []string, params string) (all [][]byte) {
	for _, list := range []struct {
		changed bool
		name    string
	}{{lists.Tools, "tools"}, {lists.Resources, "resources"}, {lists.Prompts, "prompts"}} {
		if !list.changed {
			continue
		}
		msg := fmt.Appendf(nil,
			`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"`, list.name)
		if params != "" {
			msg = append(append(append(msg, `,"params":{`...), params...), '}')
		}
		all = append(all, append(msg, '}'))
	}
	for _, uri := range uris {
		msg := []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`)
		if params != "" {
			msg = append(append(msg, params...), ',')
		}
		msg = jsonscan.AppendQuote(append(msg, `"uri":`...), uri)
		all = append(all, append(msg, '}', '}'))
	}
	return all
}

// resources/subscribe and resources/unsubscribe, for sessions.

// subscribe serves resources/subscribe, which versions before 2026-07-28 have.
func (s *Server) subscribe(rc *request, _ *mcp.Catalog, a *answer) error {
	uri, ok := jsonscan.Unquote(rc.msg.uri)
	if !ok || uri == "" {
		return invalidParams("params.uri is required and must be a string")
	}
	if rc.session == nil {
		return mcp.Errorf(mcp.CodeInvalidRequest, "resources/subscribe needs a session")
	}
	if len(uri) > maxURI {
		return invalidParams("params.uri has %d bytes, want at most %d", len(uri), maxURI)
	}
	if rc.session.guest {
		return errGuest
	}
	if w, ok := s.source.(mcp.Subscriber); ok {
		if err := w.Subscribe(rc, uri); err != nil {
			return err
		}
	}
	before := rc.session.isSubscribed(uri)
	if !rc.session.subscribe(s.ledger, rc.Client(), uri) {
		return errBudget
	}
	s.hub.addSession(rc.session) // at once: a session that ends while its record is written is removed again
	if err := s.sessionChanged(rc); err != nil {
		if !before {
			rc.session.unsubscribe(s.ledger, uri)
		}
		return err
	}
	a.encoded(rc, []byte(`{}`))
	return nil
}

// unsubscribe serves resources/unsubscribe. Without a subscription it succeeds as well.
func (s *Server) unsubscribe(rc *request, _ *mcp.Catalog, a *answer) error {
	uri, ok := jsonscan.Unquote(rc.msg.uri)
	if !ok {
		return invalidParams("params.uri is required and must be a string")
	}
	if rc.session != nil {
		rc.session.unsubscribe(s.ledger, uri)
		if err := s.sessionChanged(rc); err != nil {
			return err // the client subscribed to more than it wants, until it tries again
		}
	}
	a.encoded(rc, []byte(`{}`))
	return nil
}

// subscribedURI is a resource that a session is subscribed to.
type subscribedURI struct {
	session *session
	uri     string
	kept    kept
}

// giveUp implements keeper.
func (u *subscribedURI) giveUp() {
	s := u.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.ensureOutgoing().subscribed; all[u.uri] == u {
		delete(all, u.uri)
	}
}

// subscribe subscribes to uri, and reports whether the session is subscribed to it now.
func (s *session) subscribe(l *ledger, client, uri string) bool {
	s.mu.Lock()
	o := s.ensureOutgoing()
	if _, ok := o.subscribed[uri]; ok || s.over {
		s.mu.Unlock()
		return ok
	}
	if o.subscribed == nil {
		o.subscribed = make(map[string]*subscribedURI)
	}
	u := &subscribedURI{
		session: s,
		uri:     uri,
	}
	o.subscribed[uri] = u
	s.mu.Unlock()
	if !l.book(&u.kept, client, keptSubscription, 1, int64(costSubscription+len(uri)), u) {
		u.giveUp()
		return false
	}
	s.mu.Lock()
	over := o.subscribed[uri] != u // the session has ended, or unsubscribed, in between
	s.mu.Unlock()
	if over {
		l.release(&u.kept)
	}
	return !over
}

// unsubscribe removes a subscription and releases its place in the ledger.
func (s *session) unsubscribe(l *ledger, uri string) {
	s.mu.Lock()
	subscribed := s.ensureOutgoing().subscribed
	u := subscribed[uri]
	delete(subscribed, uri)
	s.mu.Unlock()
	if u != nil {
		l.release(&u.kept)
	}
}

func (s *session) isSubscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ensureOutgoing().subscribed[uri]
	return ok
}

// deliver implements listener.
func (s *session) deliver(c change) {
	c.id = "" // tasks belong to 2026-07-28
	s.note(c)
}

// MaxElicitationID is the maximum length in bytes of the id of an elicitation whose completion
// is reported with [mcp.Session.ElicitationComplete]. Longer ids are dropped, as they are kept
// until the client reads.
const MaxElicitationID = 1 << 10

// ElicitationComplete notifies the client that the user has completed the elicitation of
// mode "url" with that id, so that the client can continue. Over HTTP this requires a GET
// stream. The notification only exists in 2025-11-25; nothing is sent to clients of other
// versions, nor for an id over [MaxElicitationID].
func (s *session) ElicitationComplete(id string) {
	if s != nil && len(id) <= MaxElicitationID && s.Version() == mcp.Version20251125 {
		s.note(change{id: id})
	}
}

// note records a change, and signals the writer if the client must be notified of it.
func (s *session) note(c change) {
	s.mu.Lock()
	o := s.ensureOutgoing()
	initialized := s.initialized
	s.mu.Unlock()
	if !initialized {
		return
	}
	news := o.news.merge(c, s.isSubscribed)
	if c.everything {
		s.mu.Lock()
		uris := slices.Collect(maps.Keys(o.subscribed))
		s.mu.Unlock()
		news = o.news.mergeAll(slices.Values(uris)) || news
	}
	if !news {
		return
	}
	s.mu.Lock()
	notify := o.onNews
	s.mu.Unlock()
	if notify != nil {
		notify()
	}
}

// messages returns the notifications that are due.
func (s *session) messages() [][]byte {
	s.mu.Lock()
	news := &s.ensureOutgoing().news
	s.mu.Unlock()
	lists, uris, ids := news.take()
	all := lists.messages(uris, "")
	for _, id := range ids {
		msg := []byte(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":`)
		all = append(all, append(jsonscan.AppendQuote(msg, id), '}', '}'))
	}
	return all
}

// setOnNews sets the function that wakes the writer of the connection.
func (s *session) setOnNews(notify func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ensureOutgoing().onNews = notify
}
