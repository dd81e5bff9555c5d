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

// startGrace is how long Open waits for servers in the background, so that fast ones are
// included in the first answer. An endpoint must answer within 500 milliseconds,
// including the start of the process.
const startGrace = 300 * time.Millisecond

// startup is the phase in which a Source is served while some of its servers are still
// starting. Requests are answered with the servers available, except for two kinds, which
// wait: requests for lists, as many clients fetch them once and ignore list_changed, and
// requests for items that are still missing. The zero value is a startup that has ended.
type startup struct {
	limit  time.Time     // when requests stop waiting
	joined bool          // one of several sources: another one may have a missing item
	alone  bool          // the only server: all requests that depend on it wait, without a limit
	over   chan struct{} // closed when the wait is over
	once   sync.Once
	began  atomic.Bool
	grown  atomic.Pointer[grown]
}

// grown is a catalog with its copy that declares additional capabilities.
type grown struct{ of, shown *mcp.Catalog }

// begin starts the phase, in which lists wait for at most patience. Call it once.
func (s *startup) begin(patience time.Duration) {
	s.limit, s.over = time.Now().Add(patience), make(chan struct{})
	s.began.Store(true)
}

// end releases all waiting requests.
func (s *startup) end() {
	if s.began.Load() {
		s.once.Do(func() { close(s.over) })
	}
}

// catalog returns the result of load. For a request that waits, it first waits until all
// servers have started or failed.
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
	var limit <-chan time.Time // nil: no limit
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

// introduces reports whether a request asks for the server's identity.
func introduces(req *mcp.Request) bool {
	method := req.Method()
	return method == "initialize" || method == "server/discover"
}

// atOnce lists the methods that do not depend on a server's catalog.
var atOnce = []string{"", "initialize", "server/discover", "ping", "logging/setLevel", "subscriptions/listen"}

// waits reports whether a request is for a list, or for an item that cat lacks.
func (s *startup) waits(req *mcp.Request, cat *mcp.Catalog) bool {
	if s.alone {
		return !slices.Contains(atOnce, req.Method())
	}
	if strings.HasSuffix(req.Method(), "/list") {
		return true
	}
	return !s.joined && lacks(req, cat)
}

// lacks reports whether a request is for a tool, prompt or resource that cat lacks.
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

// show returns a catalog that also declares the capabilities of servers that may join
// later, as a session that began early would otherwise not use them. server, if not nil,
// is the identity of all servers together.
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
