package netguard

import "net"

// Resolve makes the guard's connections ask that resolver for names.
func (g *Guard) Resolve(r *net.Resolver) *Guard {
	g.resolver = r
	return g
}
