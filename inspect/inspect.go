package inspect

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcp"
)

// Options configure [Handler]. Nil and the zero value mean the defaults.
type Options struct {
	// By is the program, such as "slipway 1.0".
	By string
	// Token, if not empty, must be sent with every request of the API as a bearer token.
	// Without it, anyone who reaches the handler may call every tool: put it behind an
	// authentication of your own.
	Token string
	// Hosts are the host names, without ports, that requests may name; nil means any if
	// there is no Token, and localhost and loopback addresses otherwise. Other requests
	// fail with status 421, so that no page of another site reaches the handler through
	// its own name.
	Hosts []string
	// Base is the path at which the handler is mounted, for example /inspect/; "" means /.
	Base string
	// Environment is searched for secrets, as NAME=value. Their values are redacted in messages,
	// errors and stderr lines, in addition to credentials in known formats. Definitions, questions
	// and completions are shown as the server sent them.
	Environment []string
	// MaxFrames and MaxBytes limit the messages to keep; 0 means 100,000 and 64 MiB. The
	// bodies of larger messages are in files, which are removed by Close.
	MaxFrames, MaxBytes int
	// Calls is the file of saved calls, or "" for none. It need not exist.
	Calls string
	// Roots are the folders to answer roots/list with, until the page sets others.
	Roots []mcp.Root
	// ConnectTimeout is how long connecting to a source may take; 0 means 60 seconds.
	ConnectTimeout time.Duration
}

// Inspector serves the page and its API. It is safe for concurrent use.
type Inspector struct {
	// opts are complete, and page has the files of the page.
	opts    Options
	started time.Time
	guard   *guard
	page    *pageFiles
	mux     *http.ServeMux

	// store keeps the frames, feed fills it, and hub sends them to the pages.
	store *store
	feed  *feed
	hub   *hub
	// calls, asks and saved are the calls of the page, the questions to its user, and the
	// file of saved calls.
	calls *callList
	asks  *askList
	saved *savedCalls
	apps  *apps.Host
	// completions has the running completions, by source and field.
	completions sync.Map

	// opening guards opened, the memory of the recordings that the page has opened, which maxOpened
	// limits. An upload may take uploadPatience.
	opening        sync.Mutex
	opened         int
	maxOpened      int
	uploadPatience time.Duration

	mu sync.Mutex
	// targets are the sources; the ID of one is its index plus 1. They are only added.
	targets []*target

	// quit ends with the Inspector, and work waits for the goroutines that then end.
	quit context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

var _ http.Handler = (*Inspector)(nil)

// Handler returns a handler for the page of some sources, which it begins to open. The
// caller must close it; that closes the sources as well. opts may be nil.
func Handler(sources []*Source, opts *Options) *Inspector {
	in := &Inspector{
		started: time.Now(),
		asks:    newAskList(),
		calls:   newCallList(),

		maxOpened:      maxRecording,
		uploadPatience: time.Minute,
	}
	if opts != nil {
		in.opts = *opts
	}
	in.opts.ConnectTimeout = cmp.Or(in.opts.ConnectTimeout, time.Minute)
	in.quit, in.stop = context.WithCancel(context.Background())
	in.guard = newGuard(&in.opts)
	in.page = newPageFiles()
	in.store = newStore(in.opts.MaxFrames, in.opts.MaxBytes)
	in.hub = newHub(in.store)
	redactor, _ := mcplog.NewRedactor(in.opts.Environment, nil) // only a path can be invalid
	in.feed = newFeed(in, redactor)
	in.saved = &savedCalls{file: in.opts.Calls}
	in.apps = in.newAppHost()
	in.mux = in.handler()
	for _, src := range sources {
		in.addSource(src)
	}
	return in
}

// Close ends all streams and closes the sources.
func (in *Inspector) Close() error {
	in.stop()
	for _, t := range in.all() {
		t.close()
	}
	in.work.Wait()
	in.feed.close()
	in.store.close()
	return nil
}

// Owns reports whether a request is for the user interface of a tool, which the page shows in
// a frame at an origin of its own: proxy-ID.localhost, app-ID.localhost, or /.mcp-app/ID
// where these names do not resolve. If the handler is mounted at a path, other requests do
// not get there: pass these to it as they are, and before authentication, since frames of
// another origin send no credentials. They reach no API, and each ID is random and closed
// with its frame. The names resolve to the machine of the browser, so a page on another
// machine shows user interfaces only through a tunnel to the same port.
func (in *Inspector) Owns(r *http.Request) bool { return in.apps.Owns(r) }

// ServeHTTP serves the page and the API.
func (in *Inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if in.Owns(r) {
		in.apps.ServeHTTP(w, r)
		return
	}
	in.guard.setHeaders(w.Header(), r.Host)
	if fail := in.guard.check(r); fail != nil {
		writeFailure(w, fail)
		return
	}
	in.mux.ServeHTTP(w, r)
}

// addSource lists a source and starts to connect it. Its label and argument are redacted first,
// since they may be URLs with secrets.
func (in *Inspector) addSource(src *Source) *target {
	in.mu.Lock()
	shown := *src
	shown.Label = in.clean(src.Label)
	shown.Argument = slices.Clone(src.Argument)
	for i, word := range shown.Argument {
		shown.Argument[i] = in.clean(word)
	}
	t := newTarget(in, len(in.targets)+1, &shown)
	in.targets = append(in.targets, t)
	in.mu.Unlock()
	t.connect(wanted{})
	return t
}

// all returns the sources.
func (in *Inspector) all() []*target {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]*target(nil), in.targets...)
}

// target returns the source with that number.
func (in *Inspector) target(id int) (*target, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if id < 1 || id > len(in.targets) {
		return nil, notFound("there is no source %d", id)
	}
	return in.targets[id-1], nil
}

// publish sends a line to the open pages.
func (in *Inspector) publish(kind string, value any) { in.hub.publish(kind, value) }

// publishStates sends the states that have changed.
func (in *Inspector) publishStates() {
	for _, t := range in.all() {
		if t.dirty.Swap(false) {
			in.publish("state", t.state())
		}
	}
}

// clean redacts the secrets in a text for the page.
func (in *Inspector) clean(text string) string { return in.feed.redactor.Clean(text) }
