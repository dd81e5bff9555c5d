package netguard

import (
	"net/netip"
	"sync"
)

// network is a network that is not public.
type network struct {
	prefix netip.Prefix
	kind   string
}

// reserved returns the networks that are not public (IANA special-purpose address
// registries) and that package netip does not cover.
var reserved = sync.OnceValue(func() []network {
	return []network{
		{netip.MustParsePrefix("0.0.0.0/8"), "this machine"},
		{netip.MustParsePrefix("100.64.0.0/10"), "a provider's own network"},
		{netip.MustParsePrefix("168.63.129.16/32"), "a metadata service"},
		{netip.MustParsePrefix("192.0.0.0/24"), "reserved addresses"},
		{netip.MustParsePrefix("192.0.2.0/24"), "addresses for documentation"},
		{netip.MustParsePrefix("192.88.99.0/24"), "reserved addresses"},
		{netip.MustParsePrefix("198.18.0.0/15"), "a test network"},
		{netip.MustParsePrefix("198.51.100.0/24"), "addresses for documentation"},
		{netip.MustParsePrefix("203.0.113.0/24"), "addresses for documentation"},
		{netip.MustParsePrefix("240.0.0.0/4"), "reserved addresses"},
		{netip.MustParsePrefix("64:ff9b:1::/48"), "translated addresses"},
		{netip.MustParsePrefix("100::/64"), "reserved addresses"},
		{netip.MustParsePrefix("2001::/23"), "reserved addresses"},
		{netip.MustParsePrefix("2001:db8::/32"), "addresses for documentation"},
		{netip.MustParsePrefix("2002::/16"), "translated addresses"},
		{netip.MustParsePrefix("3fff::/20"), "addresses for documentation"},
		{netip.MustParsePrefix("fec0::/10"), "a private network"},
		{netip.MustParsePrefix("::/96"), "translated addresses"},
	}
})

// NotPublic returns the kind of network of an address that is not on the public internet,
// or "". Metadata services of clouds have link-local and private addresses.
func NotPublic(a netip.Addr) string {
	bytes := a.As16()
	if a.Is6() && [12]byte(bytes[:12]) == [12]byte{0, 0x64, 0xff, 0x9b} {
		// NAT64 (RFC 6052): the connection reaches the embedded IPv4 address.
		return NotPublic(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	switch {
	case a.IsLoopback(), a.IsUnspecified():
		return "this machine"
	case a.IsPrivate():
		return "a private network"
	case a.IsLinkLocalUnicast():
		return "a link-local network, where metadata services are"
	case a.IsMulticast(), a.IsInterfaceLocalMulticast():
		return "multicast"
	}
	for _, r := range reserved() {
		if r.prefix.Contains(a) {
			return r.kind
		}
	}
	return ""
}
