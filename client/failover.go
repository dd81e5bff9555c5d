package client

import "github.com/slipway-mcp/slipway/mcp"

// Failover is what a server declares about the sessions of its clients when another replica of a
// cluster replaces this one. The zero value means [FailoverStateless] for a server of
// 2026-07-28 over HTTP, and otherwise [FailoverEnd]: a process may remember what it was called
// with, whatever its version.
type Failover string

// What a server can declare.
const (
	// FailoverEnd ends the sessions with their replica: the client initializes again.
	FailoverEnd Failover = "end"
	// FailoverRestart continues them with the process or connection of the other replica, which
	// begins with nothing: what the server kept for them is lost.
	FailoverRestart Failover = "restart"
	// FailoverStateless means that the server keeps nothing for a session, so that any replica can
	// serve each call.
	FailoverStateless Failover = "stateless"
)

// declare sets what a catalog of the server says about sessions. It must not be in use yet.
func (f Failover) declare(cat *mcp.Catalog) {
	if f == "" {
		return
	}
	cat.Stateless = f == FailoverStateless
	cat.Restartable = f == FailoverRestart
}

// Declare returns the catalog with what the server declares, for one that was not read from the
// server: cat itself if that is the same.
func (f Failover) Declare(cat *mcp.Catalog) *mcp.Catalog {
	if f == "" || cat.Stateless == (f == FailoverStateless) && cat.Restartable == (f == FailoverRestart) {
		return cat
	}
	cat = cat.Copy()
	f.declare(cat)
	return cat
}
