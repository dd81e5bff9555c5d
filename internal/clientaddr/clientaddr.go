// Package clientaddr names the client at the other end of a connection, for limits
// that apply to each client: [Network] for an address of IP, [Of] for any.
package clientaddr

import "net/netip"

// Network returns the network that remote, such as the RemoteAddr of a request,
// belongs to: an IPv4 address, or the first 64 bits of an IPv6 address, as one
// machine has all of those. ok is false for an address that is not of IP, such as
// that of a socket in the file system.
func Network(remote string) (addr netip.Addr, ok bool) {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}, false
	}
	addr = ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // fails for no address of 128 bits
		addr = network.Addr()
	}
	return addr, true
}

// Of returns [Network] as text, and an address that is not of IP as it is.
func Of(remote string) string {
	if addr, ok := Network(remote); ok {
		return addr.String()
	}
	return remote
}
