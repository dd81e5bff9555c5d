package server_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp/server"
)

// on returns the local address of a request.
func on(ip string) *net.TCPAddr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 8080} }

func TestGuardHosts(t *testing.T) {
	loopback, public := on("127.0.0.1"), on("192.0.2.7")
	named := &server.HTTPOptions{AllowedHosts: []string{"MCP.example.com", "other.example.com:8443", "[2001:db8::1]"}}
	all := &server.HTTPOptions{AllowedHosts: []string{"*"}}
	for _, c := range []struct {
		name string
		opts *server.HTTPOptions
		addr net.Addr
		host string
		ok   bool
	}{
		{"name", nil, loopback, "localhost", true},
		{"name in upper case", nil, loopback, "LOCALHOST:8080", true},
		{"name and port", nil, loopback, "localhost:8080", true},
		{"another port", nil, loopback, "localhost:1", true},
		{"ipv4", nil, loopback, "127.0.0.1:8080", true},
		{"ipv6", nil, loopback, "[::1]:8080", true},
		{"ipv6 without port", nil, on("::1"), "[::1]", true},
		{"ipv6 without brackets", nil, loopback, "::1", false},
		{"other loopback address", nil, loopback, "127.0.0.2", false},
		{"number for an address", nil, loopback, "2130706433", false},
		{"any address", nil, loopback, "0.0.0.0:8080", false},
		{"rebound name", nil, loopback, "evil.example.com", false},
		{"rebound name and port", nil, loopback, "evil.example.com:8080", false},
		{"rebound name over ipv6", nil, on("::1"), "evil.example.com", false},
		{"rebound name over mapped ipv4", nil, on("::ffff:127.0.0.1"), "evil.example.com", false},
		{"name below localhost", nil, loopback, "evil.localhost", false},
		{"name that begins alike", nil, loopback, "localhost.example.com", false},
		{"name that ends alike", nil, loopback, "notlocalhost", false},
		{"address that begins alike", nil, loopback, "127.0.0.1.example.com", false},
		{"final dot", nil, loopback, "localhost.", false},
		{"empty", nil, loopback, "", false},
		{"port alone", nil, loopback, ":8080", false},
		{"unknown local address", nil, nil, "evil.example.com", false},
		{"socket of another kind", nil, &net.UnixAddr{Name: "/run/s", Net: "unix"}, "evil.example.com", false},

		{"public address, any name", nil, public, "mcp.example.com", true},
		{"public address, no name", nil, public, "", true},
		{"public address over ipv6", nil, on("2001:db8::7"), "mcp.example.com", true},

		{"allowed", named, loopback, "mcp.example.com", true},
		{"allowed on any port", named, public, "mcp.example.com:9", true},
		{"allowed in upper case", named, public, "MCP.EXAMPLE.COM", true},
		{"allowed with its port", named, public, "other.example.com:8443", true},
		{"allowed with another port", named, public, "other.example.com:9", false},
		{"allowed without its port", named, public, "other.example.com", false},
		{"allowed ipv6", named, public, "[2001:db8::1]:8080", true},
		{"not allowed", named, public, "evil.example.com", false},
		{"not allowed on loopback", named, loopback, "evil.example.com", false},
		{"local name beside allowed ones", named, loopback, "localhost", true},
		{"below an allowed name", named, public, "x.mcp.example.com", false},

		{"all", all, loopback, "evil.example.com", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if ok := admitted(c.opts, c.addr, c.host); ok != c.ok {
				t.Errorf("Host %q is admitted: %v, want %v", c.host, ok, c.ok)
			}
		})
	}
}

func TestGuardOrigins(t *testing.T) {
	named := &server.HTTPOptions{AllowedOrigins: []string{"https://App.example.com/", "vscode-webview://panel"}}
	all := &server.HTTPOptions{AllowedOrigins: []string{"*"}}
	for _, c := range []struct {
		name    string
		opts    *server.HTTPOptions
		host    string
		origins []string
		ok      bool
	}{
		{"none", nil, "localhost", nil, true},
		{"local", nil, "localhost", []string{"http://localhost"}, true},
		{"local with port", nil, "localhost:8080", []string{"http://localhost:5173"}, true},
		{"local with tls", nil, "localhost", []string{"https://127.0.0.1:8443"}, true},
		{"local ipv6", nil, "localhost", []string{"http://[::1]:5173"}, true},
		{"local in upper case", nil, "localhost", []string{"HTTP://LOCALHOST:5173"}, true},
		{"foreign", nil, "localhost", []string{"https://evil.example.com"}, false},
		{"foreign that begins alike", nil, "localhost", []string{"http://localhost.example.com"}, false},
		{"foreign that ends alike", nil, "localhost", []string{"http://example-localhost"}, false},
		{"null", nil, "localhost", []string{"null"}, false},
		{"empty", nil, "localhost", []string{""}, false},
		{"no scheme", nil, "localhost", []string{"localhost"}, false},
		{"no scheme with port", nil, "localhost", []string{"localhost:5173"}, false},
		{"no host", nil, "localhost", []string{"http://"}, false},
		{"file", nil, "localhost", []string{"file://"}, false},
		{"file of a host", nil, "localhost", []string{"file://localhost"}, false},
		{"extension", nil, "localhost", []string{"chrome-extension://localhost"}, false},
		{"user", nil, "localhost", []string{"http://localhost@evil.example.com"}, false},
		{"user of a local name", nil, "localhost", []string{"http://evil.example.com@localhost"}, false},
		{"path", nil, "localhost", []string{"http://localhost/"}, false},
		{"query", nil, "localhost", []string{"http://localhost?"}, false},
		{"fragment", nil, "localhost", []string{"http://localhost#"}, false},
		{"bad port", nil, "localhost", []string{"http://localhost:x"}, false},
		{"bad ipv6", nil, "localhost", []string{"http://[::1"}, false},
		{"white space", nil, "localhost", []string{"http://local host"}, false},
		{"two in one", nil, "localhost", []string{"http://localhost http://evil.example.com"}, false},
		{"two", nil, "localhost", []string{"http://localhost", "http://localhost"}, false},
		{"own", nil, "mcp.example.com:8080", []string{"https://MCP.example.com:8080"}, true},
		{"own name, other port", nil, "mcp.example.com", []string{"https://mcp.example.com:8443"}, false},

		{"allowed", named, "localhost", []string{"https://app.example.com"}, true},
		{"allowed in upper case", named, "localhost", []string{"HTTPS://APP.EXAMPLE.COM"}, true},
		{"allowed, other scheme", named, "localhost", []string{"http://app.example.com"}, false},
		{"allowed, other port", named, "localhost", []string{"https://app.example.com:8443"}, false},
		{"below an allowed one", named, "localhost", []string{"https://x.app.example.com"}, false},
		{"allowed scheme of its own", named, "localhost", []string{"vscode-webview://panel"}, true},
		{"not allowed", named, "localhost", []string{"https://evil.example.com"}, false},
		{"local beside allowed ones", named, "localhost", []string{"http://localhost:5173"}, true},

		{"all", all, "localhost", []string{"https://evil.example.com"}, true},
		{"all, null", all, "localhost", []string{"null"}, true},
		{"all, rebound host", all, "evil.example.com", []string{"null"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := on("127.0.0.1")
			if strings.HasPrefix(c.host, "mcp.") {
				addr = on("192.0.2.7")
			}
			if ok := admitted(c.opts, addr, c.host, c.origins...); ok != c.ok {
				t.Errorf("Origin %q is admitted: %v, want %v", c.origins, ok, c.ok)
			}
		})
	}
}

// admitted reports whether a ping is accepted. It also verifies that pages next to the
// endpoint are guarded in the same way.
func admitted(opts *server.HTTPOptions, addr net.Addr, host string, origins ...string) bool {
	h := server.New(newDemo(), nil).HTTPHandler(opts)
	beside := h.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	status := func(handler http.Handler) int {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(pingRequest))
		r.Header = clientHeader(pingRequest)
		r.Host = host
		if origins != nil {
			r.Header["Origin"] = origins
		}
		if addr != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	code := status(h)
	if beside := status(beside); beside != code {
		return code != http.StatusOK // make the case fail: the two differ
	}
	return code == http.StatusOK
}
