package router

import (
	"github.com/slipway-mcp/slipway/mcp"
)

// Notify notifies the clients subscribed to a resource that its contents have changed.
func (r *Router) Notify(uri string) { r.watchers.Tell(mcp.Change{URI: uri}) }

// Refresh notifies all clients that their lists may have changed, for example because a
// [Filter] now decides differently.
func (r *Router) Refresh() {
	r.watchers.Tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
}

// Watch implements [mcp.Watcher].
func (r *Router) Watch(changed func(mcp.Change)) (stop func()) { return r.watchers.Watch(changed) }
