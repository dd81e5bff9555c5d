package fleet

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

// startup is the phase in which a Source is served while some of its servers are still
// starting. Requests are answered with the servers available, except for two kinds, which
// wait: requests for lists, as many clients fetch them once and ignore list_changed, and
// requests for items that are still missing. The zero value is a startup that has ended.
type startup struct {
	joined bool // one of several sources: another one may have a missing item
	alone  bool // the only server: all requests that depend on it wait, without a limit

	limit    time.Time     // when requests stop waiting
	over     chan struct{} // closed when the wait is over
	closing  sync.Once
	begun    atomic.Bool
	extended atomic.Pointer[extendedCatalog]
}

// extendedCatalog is a catalog with its copy that declares additional capabilities.
type extendedCatalog struct{ original, extended *mcp.Catalog }

// beginPhase starts the phase, in which lists wait for at most wait. Call it once.
func (s *startup) beginPhase(wait time.Duration) {
	s.limit = time.Now().Add(wait)
	s.over = make(chan struct{})
	s.begun.Store(true)
}

// endPhase releases all waiting requests.
func (s *startup) endPhase() {
	if s.begun.Load() {
		s.closing.Do(func() { close(s.over) })
	}
}

// catalog returns the result of load. For a request that waits, it first waits until all
// servers have started or failed.
func (s *startup) catalog(
	ctx context.Context, server *mcp.Implementation, load func(context.Context) (*mcp.Catalog, error),
) (*mcp.Catalog, error) {
	cat, err := load(ctx)
	if err != nil || !s.begun.Load() {
		return cat, err
	}
	if s.isRunning() && s.mustWait(mcp.RequestFrom(ctx), cat) {
		s.await(ctx)
		if cat, err = load(ctx); err != nil {
			return nil, err
		}
	}
	return s.extend(cat, server), nil
}

// isRunning reports whether requests should still wait for servers.
func (s *startup) isRunning() bool {
	select {
	case <-s.over:
		return false
	default:
		return s.alone || time.Now().Before(s.limit)
	}
}

// await waits until the servers have started, the time limit has passed, or ctx ends.
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

// immediateMethods lists the methods that do not depend on a server's catalog.
var immediateMethods = []string{"", "initialize", "server/discover", "ping", "logging/setLevel", "subscriptions/listen"}

// mustWait reports whether a request is for a list, or for an item that cat lacks.
func (s *startup) mustWait(req *mcp.Request, cat *mcp.Catalog) bool {
	if s.alone {
		return !slices.Contains(immediateMethods, req.Method())
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
		return !slices.ContainsFunc(cat.Resources, func(r mcp.Resource) bool {
			return r.URI == uri
		})
	}
	return false
}

// extend returns a catalog that also declares the capabilities of servers that may join
// later, as a session that began early would otherwise not use them. server, if not nil,
// is the identity of all servers together.
func (s *startup) extend(cat *mcp.Catalog, server *mcp.Implementation) *mcp.Catalog {
	e := s.extended.Load()
	if e != nil && e.original == cat {
		return e.extended
	}
	extended := cat.Copy()
	extended.Growing = true
	extended.Completions = true
	extended.Logging = true
	extended.Subscribe = true
	if server != nil {
		extended.Server = *server
	}
	s.extended.Store(&extendedCatalog{cat, extended})
	return extended
}
