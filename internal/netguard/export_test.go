package netguard

import "net"

// Resolve makes the guard's connections use that resolver.
func (g *Guard) Resolve(r *net.Resolver) *Guard {
	g.resolver = r
	return g
}
