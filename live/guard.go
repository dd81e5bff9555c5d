package live

import (
	"fmt"
	"net/netip"
	"syscall"
)

// guard refuses connections to addresses that are not public. It is asked when a
// connection is made, so it sees what a name has resolved to, after redirects too.
type guard struct{ allow []netip.Prefix }

// BlockedError is why [Endpoint.PublicOnly] has refused an address.
type BlockedError struct {
	Address netip.Addr
	Kind    string // such as "a private network"
}

// Error implements the error interface.
func (e *BlockedError) Error() string {
	return fmt.Sprintf("the address %s is refused: it belongs to %s", e.Address, e.Kind)
}

func (g *guard) control(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return permanent{fmt.Errorf("the address of %s %s cannot be judged", network, address)}
	}
	addr := at.Addr().WithZone("").Unmap()
	for _, p := range g.allow {
		if p.Contains(addr) {
			return nil
		}
	}
	if kind := notPublic(addr); kind != "" {
		return permanent{&BlockedError{Address: addr, Kind: kind}}
	}
	return nil
}

// reserved are the networks that are not public (IANA special-purpose address
// registries), besides those that package netip knows.
var reserved = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a provider's own network"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved addresses"},
	{netip.MustParsePrefix("192.0.2.0/24"), "addresses for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "reserved addresses"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a test network"},
	{netip.MustParsePrefix("198.51.100.0/24"), "addresses for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "addresses for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved addresses"},
	{netip.MustParsePrefix("64:ff9b::/96"), "translated addresses"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "translated addresses"},
	{netip.MustParsePrefix("100::/64"), "reserved addresses"},
	{netip.MustParsePrefix("2001::/23"), "reserved addresses"},
	{netip.MustParsePrefix("2001:db8::/32"), "addresses for documentation"},
	{netip.MustParsePrefix("2002::/16"), "translated addresses"},
	{netip.MustParsePrefix("3fff::/20"), "addresses for documentation"},
	{netip.MustParsePrefix("fec0::/10"), "a private network"},
	{netip.MustParsePrefix("::/96"), "translated addresses"},
}

// notPublic says what an address belongs to that is not on the public internet,
// or returns "". Metadata services of clouds are at link-local and private ones.
func notPublic(a netip.Addr) string {
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
	for _, r := range reserved {
		if r.prefix.Contains(a) {
			return r.kind
		}
	}
	return ""
}
