package router

import (
	"github.com/slipway-mcp/slipway/mcp"
)

// Notify tells the clients that have subscribed to a resource that its contents
// are different now.
func (r *Router) Notify(uri string) { r.watchers.Tell(mcp.Change{URI: uri}) }

// Refresh tells all clients that what a [Filter] lets them see may have changed.
func (r *Router) Refresh() {
	r.watchers.Tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
}

// Watch implements [mcp.Watcher].
func (r *Router) Watch(changed func(mcp.Change)) (stop func()) { return r.watchers.Watch(changed) }
