package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// ErrExposed is the error, wrapped, that [Run] returns for an address that others can
// reach without authentication.
var ErrExposed = errors.New("refused: other machines could reach it without authentication")

// listen opens the address in o. Names are resolved first, so that the address that was
// checked is the one listened on.
func listen(ctx context.Context, o Options) (net.Listener, error) {
	addr := o.Addr
	if !o.RemoteWithoutAuth && !o.authenticates() {
		ip, err := loopback(ctx, addr)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", addr, err)
		}
		addr = ip
	}
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("listen on %s: %w", o.Addr, err)
	}
	return ln, nil
}

// loopback returns addr with its host as an IP address, which must be reachable only from
// this machine.
func loopback(ctx context.Context, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		return "", ErrExposed // all addresses of the machine
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() {
			return "", ErrExposed
		}
	}
	if len(ips) == 0 {
		return "", errors.New("the name has no address")
	}
	return net.JoinHostPort(preferred(ips).String(), port), nil
}

// preferred returns the first IPv4 address, otherwise the first address. Clients that use
// "localhost" try both families; those that use 127.0.0.1 do not.
func preferred(ips []netip.Addr) netip.Addr {
	for _, ip := range ips {
		if ip.Unmap().Is4() {
			return ip.Unmap()
		}
	}
	return ips[0]
}

// infoOf returns the addresses at which a server that listens on addr can be reached from
// this machine.
func infoOf(addr net.Addr, secure bool) *Info {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	url := baseURL("", host, secure)
	return &Info{
		URL:       url,
		Endpoint:  url + EndpointPath,
		WebSocket: "ws" + strings.TrimPrefix(url, "http") + WebSocketPath,
		Health:    url + "/healthz",
	}
}

// onLoopback reports whether a listener can be reached only from this machine.
func onLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
