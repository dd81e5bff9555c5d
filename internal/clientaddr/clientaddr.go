// Package clientaddr identifies the client of a connection, for per-client limits:
// [Network] for IP addresses, [Of] for any address, [Behind] for clients of a reverse proxy.
package clientaddr

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

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

// Behind returns the address of the client of a request as host:port, or remote unchanged.
// remote is the address that the connection came from, and forwarded the values of
// X-Forwarded-For. Each proxy appends the address that it received the request from, so the
// client is the last address that is not a proxy's; anything to the left of it may be
// invented. proxies are the networks of the proxies: if remote is in none of them, forwarded
// is ignored. The port is 0 if the header has none.
func Behind(proxies []netip.Prefix, remote string, forwarded []string) string {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil || !trusted(proxies, ap.Addr()) {
		return remote
	}
	client := remote
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for _, hop := range slices.Backward(hops) {
		addr, port, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			return client // only the proxies to the right of this entry are known
		}
		client = net.JoinHostPort(addr.String(), port)
		if !trusted(proxies, addr) {
			return client
		}
	}
	return client
}

func trusted(proxies []netip.Prefix, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseHop parses one entry of X-Forwarded-For, with or without a port.
func parseHop(hop string) (addr netip.Addr, port string, ok bool) {
	if ap, err := netip.ParseAddrPort(hop); err == nil {
		_, port, _ = net.SplitHostPort(hop)
		return ap.Addr().Unmap(), port, true
	}
	addr, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return addr.Unmap(), "0", err == nil
}
