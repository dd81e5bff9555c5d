package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"
)

// guard protects the server from web pages that a user happens to visit. It checks the
// Host header, against DNS names rebound to loopback, and the Origin header.
type guard struct {
	hosts   map[string]bool // lower case, with or without port
	origins map[string]bool // lower case
	// anyHost and anyOrigin accept everything, as options request with "*".
	anyHost    bool
	anyOrigin  bool
	checkHosts bool // not only on loopback
}

// newGuard returns a guard that also accepts the given hosts and origins; "*" accepts
// all.
func newGuard(hosts, origins []string) guard {
	g := guard{
		hosts:      make(map[string]bool),
		origins:    make(map[string]bool),
		checkHosts: len(hosts) > 0,
	}
	for _, h := range hosts {
		g.anyHost = g.anyHost || h == "*"
		g.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		g.anyOrigin = g.anyOrigin || o == "*"
		g.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	return g
}

// refuses returns the reason for rejecting the request, or "".
func (g *guard) refuses(r *http.Request) string {
	if !g.anyHost && !g.hostAllowed(r) {
		return "the Host " + quoted(r.Host) + " is not allowed here"
	}
	origins, ok := r.Header["Origin"]
	if !ok || g.anyOrigin {
		return ""
	}
	if len(origins) != 1 || !g.originAllowed(origins[0], r.Host) {
		return "the Origin " + quoted(strings.Join(origins, ", ")) + " is not allowed here"
	}
	return ""
}

// quoted quotes and shortens text from a client for an error message.
func quoted(s string) string {
	if len(s) > 100 {
		end := 100
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "..."
	}
	return `"` + strings.ToValidUTF8(s, "?") + `"`
}

// hostAllowed reports whether the Host may be used: a loopback name, a configured one,
// or any name on other addresses unless hosts are configured.
func (g *guard) hostAllowed(r *http.Request) bool {
	name := hostname(r.Host)
	if isLoopbackName(name) {
		return true
	}
	if g.checkHosts {
		host := strings.ToLower(r.Host)
		return g.hosts[host] || g.hosts[strings.ToLower(name)]
	}
	return !onLoopback(r)
}

// hostname returns a Host header without its port.
func hostname(hostport string) string {
	i := strings.LastIndexByte(hostport, ':')
	if i >= 0 && !strings.HasSuffix(hostport, "]") {
		return hostport[:i]
	}
	return hostport
}

// isLoopbackName reports whether a host name is this machine. The switch decides the usual
// spellings without folding case.
func isLoopbackName(name string) bool {
	switch name {
	case "127.0.0.1", "localhost", "[::1]":
		return true
	}
	return strings.EqualFold(name, "localhost")
}

// onLoopback reports whether the request arrived on a loopback address. If the address is
// not known, it returns true.
func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return true
	}
	ip, ok := netip.AddrFromSlice(tcp.IP)
	return !ok || ip.Unmap().IsLoopback()
}

// originAllowed reports whether pages of an origin may use the server: configured
// origins, loopback names, and the server's own origin.
func (g *guard) originAllowed(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(origin, u.Scheme+"://"+u.Host) {
		return false
	}
	if g.origins[strings.ToLower(origin)] {
		return true
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return isLoopbackName(hostname(u.Host)) || strings.EqualFold(u.Host, host)
}

// allowOrigin lets pages of an accepted origin read the response.
func allowOrigin(h http.Header, origin []string) {
	h["Access-Control-Allow-Origin"] = origin
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After, RateLimit, RateLimit-Policy")
}

// preflight answers the request by which a browser asks whether it may send another one
// (Fetch, "CORS-preflight request").
func preflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "POST, GET, DELETE, OPTIONS")
	// Tools choose the names of their Mcp-Param- headers, so a wildcard is needed. The
	// wildcard does not cover Authorization.
	h.Set("Access-Control-Allow-Headers", "*, Authorization")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
