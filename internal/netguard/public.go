package netguard

import (
	"net/netip"
	"sync"
)

// network is one that is not public.
type network struct {
	prefix netip.Prefix
	kind   string
}

// reserved returns the networks that are not public (IANA special-purpose address
// registries), besides those that package netip knows.
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

// NotPublic says what an address belongs to that is not on the public internet,
// or returns "". Metadata services of clouds are at link-local and private ones.
func NotPublic(a netip.Addr) string {
	if bytes := a.As16(); a.Is6() && [12]byte(bytes[:12]) == [12]byte{0, 0x64, 0xff, 0x9b} {
		// What a network without IPv4 makes of an IPv4 address (RFC 6052): it is the
		// one inside that is reached.
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
