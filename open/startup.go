package open

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// startGrace is how long servers in the background are waited for all the same, so
// that those that are quick are there with the first answer. An endpoint must answer
// within 500 milliseconds, including the start of the process.
const startGrace = 300 * time.Millisecond

// startup is the time in which a Source is served although some of its servers are
// still starting. Everything is answered with what is there. Only requests for lists
// wait, as many clients ask for them once and ignore list_changed, and requests for
// what is not there yet. The zero value is a startup that has ended.
type startup struct {
	limit  time.Time     // when requests stop waiting
	joined bool          // it is one of several sources: what it lacks, another may have
	alone  bool          // it is the only server: without a limit everything waits that depends on it
	over   chan struct{} // closed when nothing is waited for any more
	once   sync.Once
	began  atomic.Bool
	grown  atomic.Pointer[grown]
}

// grown is a catalog and its copy that declares what may join.
type grown struct{ of, shown *mcp.Catalog }

// begin has lists wait for at most patience from now on. Call it once.
func (s *startup) begin(patience time.Duration) {
	s.limit, s.over = time.Now().Add(patience), make(chan struct{})
	s.began.Store(true)
}

// end has nothing wait any more.
func (s *startup) end() {
	if s.began.Load() {
		s.once.Do(func() { close(s.over) })
	}
}

// catalog returns what load returns, for a request that waits: when everything that
// starts has started, or could not be.
func (s *startup) catalog(
	ctx context.Context, server *mcp.Implementation, load func(context.Context) (*mcp.Catalog, error),
) (*mcp.Catalog, error) {
	cat, err := load(ctx)
	if err != nil || !s.began.Load() {
		return cat, err
	}
	if s.running() && s.waits(mcp.RequestFrom(ctx), cat) {
		s.await(ctx)
		if cat, err = load(ctx); err != nil {
			return nil, err
		}
	}
	return s.show(cat, server), nil
}

func (s *startup) running() bool {
	select {
	case <-s.over:
		return false
	default:
		return s.alone || time.Now().Before(s.limit)
	}
}

func (s *startup) await(ctx context.Context) {
	var limit <-chan time.Time // nil: none
	if !s.alone {
		timer := time.NewTimer(time.Until(s.limit))
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-s.over:
	case <-limit:
	case <-ctx.Done():
	}
}

// introduces reports whether a request asks what the server is.
func introduces(req *mcp.Request) bool {
	method := req.Method()
	return method == "initialize" || method == "server/discover"
}

// atOnce are the methods that do not depend on what a server offers.
var atOnce = []string{"", "initialize", "server/discover", "ping", "logging/setLevel", "subscriptions/listen"}

// waits reports whether a request is for a list, or for something that cat does not
// have.
func (s *startup) waits(req *mcp.Request, cat *mcp.Catalog) bool {
	if s.alone {
		return !slices.Contains(atOnce, req.Method())
	}
	if strings.HasSuffix(req.Method(), "/list") {
		return true
	}
	return !s.joined && lacks(req, cat)
}

// lacks reports whether a request is for a tool, prompt or resource that cat does not
// have.
func lacks(req *mcp.Request, cat *mcp.Catalog) bool {
	member := func(name string) string {
		text, _ := jsonscan.Unquote(jsonscan.Member(req.Params(), name))
		return text
	}
	switch req.Method() {
	case "tools/call":
		return cat.Tool(member("name")) == nil
	case "prompts/get":
		return cat.Prompt(member("name")) == nil
	case "resources/read", "resources/subscribe":
		uri := member("uri")
		return !slices.ContainsFunc(cat.Resources, func(r mcp.Resource) bool { return r.URI == uri })
	}
	return false
}

// show returns a catalog that also declares what servers may bring that join later. A
// session that began early would otherwise not ask for it.
// server, if not nil, is what they are together.
func (s *startup) show(cat *mcp.Catalog, server *mcp.Implementation) *mcp.Catalog {
	if g := s.grown.Load(); g != nil && g.of == cat {
		return g.shown
	}
	shown := cat.Copy()
	shown.Growing, shown.Completions, shown.Logging, shown.Subscribe = true, true, true, true
	if server != nil {
		shown.Server = *server
	}
	s.grown.Store(&grown{cat, shown})
	return shown
}
