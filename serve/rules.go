package serve

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// serverRules are the rules of a server: those of its Policy, if it has one, and those of its
// tool scopes, which a Control can replace. Both are decided together.
type serverRules struct {
	given *Policy                    // nil permits everything that no tool scope forbids
	tools atomic.Pointer[toolScopes] // nil without

	last atomic.Pointer[joinedRules]
	mu   sync.Mutex // held to replace last
}

var _ server.Gate = (*serverRules)(nil)

// joinedRules are the rules of a Policy with those of tool scopes.
type joinedRules struct {
	base    *policy.Set
	tools   *toolScopes
	changes uint64 // of tools, when decisions began to be remembered
	policy  *Policy
}

// unrestricted returns the rules of a server without a Policy. They are made on first use,
// so that programs without tool scopes start without them.
var unrestricted = sync.OnceValue(policy.Unrestricted)

// nowhere is the situation for the rules of tool scopes, which read none. It saves an
// allocation for each call.
var nowhere = &policy.Situation{}

// policy returns the rules in force, or nil if there are none.
func (r *serverRules) policy() *Policy {
	tools := r.tools.Load()
	if tools == nil {
		return r.given
	}
	base := unrestricted()
	if r.given != nil {
		base = r.given.current().Set()
	}
	changes := tools.changes.Load()
	last := r.last.Load()
	if last != nil && last.base == base && last.tools == tools && last.changes == changes {
		return last.policy
	}
	return r.join(base, tools, changes)
}

// join makes rules the ones in force.
func (r *serverRules) join(base *policy.Set, tools *toolScopes, changes uint64) *Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last.Load()
	known := last != nil && last.base == base && last.tools == tools
	if known && last.changes >= changes {
		return last.policy
	}
	next := &joinedRules{
		base:    base,
		tools:   tools,
		changes: changes,
	}
	set := tools.rules(base)
	if known {
		set = last.policy.engine.Set()
	}
	if r.given != nil {
		next.policy = r.given.with(set, tools)
	} else {
		next.policy = NewPolicy(set, nil).with(set, tools)
		next.policy.unrestricted = true
	}
	r.last.Store(next)
	return next.policy
}

// Enter implements [server.Gate].
func (r *serverRules) Enter(ctx context.Context, op server.Operation) error {
	return r.enterOf(ctx, callerOf(ctx), &op)
}

// enterOf is Enter for a request of a caller, which may be nil.
func (r *serverRules) enterOf(ctx context.Context, c *caller, op *server.Operation) error {
	tools := r.tools.Load()
	switch {
	case tools != nil:
		return r.enterScoped(ctx, c, op, tools)
	case r.given == nil:
		return nil
	}
	return r.given.enterOf(ctx, c, op)
}

// enterScoped is enterOf with tool scopes.
func (r *serverRules) enterScoped(ctx context.Context, c *caller, op *server.Operation, tools *toolScopes) error {
	if op.Catalog != nil {
		tools.see(op.Catalog)
		if op.Method == methodCall && tools.prove(op.Catalog) != nil {
			return deniedForScopes(ctx, *op, "the tool scopes are invalid, and the server stops", nil)
		}
	}
	p := r.policy()
	switch {
	case p == nil:
		return nil
	case !p.unrestricted:
		return p.enterOf(ctx, c, op)
	case op.Method != methodCall || op.Catalog == nil:
		return nil
	case !op.Follows && op.Catalog.Tool(op.Name) == nil:
		return nil // the server answers with the names that it has
	case !op.Follows && p.engine.Tool(c.principalOf(ctx), op.Catalog, op.Name, nowhere).Effect == policy.Allow:
		return nil
	}
	return p.enterOf(ctx, c, op)
}

// Leave implements [server.Gate].
func (*serverRules) Leave(context.Context, server.Operation) {}

// listed is [server.Options.Listed] of a server with a Policy.
func (r *serverRules) listed(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog {
	return r.policy().listed(ctx, whole)
}
