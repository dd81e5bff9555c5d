// Package clientaddr identifies the client of a connection, for per-client limits:
// [Network] for IP addresses, [Of] for any address.
package clientaddr

import "net/netip"

// Network returns the network of remote, such as the RemoteAddr of a request: an IPv4
// address, or the first 64 bits of an IPv6 address, since one machine has all addresses
// with that prefix. ok is false if remote is not an IP address, such as that of a Unix
// socket.
func Network(remote string) (addr netip.Addr, ok bool) {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}, false
	}
	addr = ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // cannot fail for a 128-bit address
		addr = network.Addr()
	}
	return addr, true
}

// Of returns [Network] as text, and any other address unchanged.
func Of(remote string) string {
	if addr, ok := Network(remote); ok {
		return addr.String()
	}
	return remote
}
