package netguard_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/netguard"
)

func TestNotPublic(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1":       "this machine",
		"127.8.9.10":      "this machine",
		"::1":             "this machine",
		"0.0.0.0":         "this machine",
		"::":              "this machine",
		"10.1.2.3":        "private",
		"192.168.0.1":     "private",
		"172.16.0.1":      "private",
		"fd00::1":         "private",
		"fd00:ec2::254":   "private",
		"169.254.169.254": "link-local", "fe80::1": "link-local", "168.63.129.16": "metadata", "192.0.0.192": "reserved",
		"100.64.0.1": "provider", "100.100.100.200": "provider",
		"::ffff:127.0.0.1": "this machine", "::ffff:10.0.0.1": "private", "::ffff:169.254.169.254": "link-local",
		"64:ff9b::7f00:1": "this machine", "64:ff9b::a00:1": "private", "64:ff9b::5db8:d822": "",
		"64:ff9b:1::1": "translated", "::7f00:1": "translated", "2002:7f00:1::": "translated", "2001:0:1::": "reserved",
		"224.0.0.1": "multicast", "ff02::1": "multicast", "255.255.255.255": "reserved", "198.18.0.1": "test network",
		"93.184.216.34": "", "2606:2800:220:1::1": "", "::ffff:93.184.216.34": "",
	} {
		var blocked *netguard.BlockedError
		got := ""
		if err := (&netguard.Guard{}).Judge(netip.MustParseAddr(address)); errors.As(err, &blocked) {
			got = blocked.Kind
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s belongs to %q, want %q", address, got, want)
		}
	}
}

func TestParseNetwork(t *testing.T) {
	for _, tt := range []struct{ word, allows, refuses string }{
		{"10.1.0.0/16", "10.1.2.3", "10.2.0.1"},
		{"10.1.2.3/16", "10.1.9.9", "10.2.0.1"},
		{"192.168.7.7", "192.168.7.7", "192.168.7.8"},
		{"::ffff:192.168.7.7", "192.168.7.7", "192.168.7.8"},
		{"::ffff:10.1.0.0/112", "10.1.2.3", "10.2.0.1"},
		{"fd12::/16", "fd12::9", "fd13::9"},
		{"private", "172.16.0.1", "127.0.0.1"},
		{"private", "fd00::1", "169.254.169.254"},
		{"loopback", "127.0.0.2", "10.0.0.1"},
		{"loopback", "::1", "fd00::1"},
		{"any", "169.254.169.254", ""},
		{"any", "::1", ""},
	} {
		allow, err := netguard.ParseNetwork(tt.word)
		if err != nil {
			t.Errorf("ParseNetwork(%q): %v", tt.word, err)
			continue
		}
		g := &netguard.Guard{Allow: allow}
		if err := g.Judge(netip.MustParseAddr(tt.allows)); err != nil {
			t.Errorf("with %s, %s: %v", tt.word, tt.allows, err)
		}
		if tt.refuses != "" && g.Judge(netip.MustParseAddr(tt.refuses)) == nil {
			t.Errorf("with %s, %s is allowed", tt.word, tt.refuses)
		}
	}
	for _, word := range []string{"", "intern", "10.0.0.0/99", "::ffff:0.0.0.0/8", "example.com"} {
		if got, err := netguard.ParseNetwork(word); err == nil {
			t.Errorf("ParseNetwork(%q) = %v, want an error", word, got)
		}
	}
}

func TestNamesLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"http://localhost:1/mcp": true, "https://LOCALHOST": true, "http://127.0.0.1": true,
		"http://[::1]:9": true, "http://[::ffff:127.0.0.1]/": false, "http://127.9.9.9:80": false, "http://127.0.0.2": false,
		"http://localhost.example.com": false, "http://localhost@example.com/": false, "http://127.0.0.1.example.com": false,
		"http://0.0.0.0/": false, "http://10.0.0.1": false, "http://127.1/": false, "http://2130706433/": false, "%": false,
	} {
		if got := netguard.NamesLoopback(address); got != want {
			t.Errorf("NamesLoopback(%q) = %v, want %v", address, got, want)
		}
	}
}

func TestIsLoopbackHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "127.evil.example": false, "127.0.0.1.example.com": false, "localhost.example.com": false, "127.1": false,
		"10.0.0.1": false, "0.0.0.0": false, "a.localhost": false, "[::1]": false,
	} {
		if got := netguard.IsLoopbackHost(host); got != want {
			t.Errorf("IsLoopbackHost(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestIsPrivateHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.2": true, "::1": true, "10.0.0.1": true, "192.168.1.10": true, "fe80::1%eth0": true,
		"::ffff:10.0.0.1": true, "0.0.0.0": true, "router": true, "mcp.corp.internal": true, "NAS.local.": true,
		"x.home.arpa": true, "93.184.215.14": false, "2606:4700::1111": false, "api.example.com": false,
		"local.example": false, "home.arpa.example": false,
	} {
		if got := netguard.IsPrivateHost(host); got != want {
			t.Errorf("IsPrivateHost(%q) = %t", host, got)
		}
	}
}

// resolver answers every query with one address, as the owner of a domain may.
func resolver(t *testing.T, answer netip.Addr) *net.Resolver {
	t.Helper()
	dns, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dns.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := dns.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = dns.WriteTo(reply(buf[:n], answer), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", dns.LocalAddr().String())
	}}
}

// reply answers a query (RFC 1035) if it is for the address family of answer.
func reply(question []byte, answer netip.Addr) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5 // the root, type and class
	kind := binary.BigEndian.Uint16(question[end-4:])
	out := append([]byte(nil), question[:end]...)
	out[2], out[3] = 0x81, 0x80
	clear(out[6:12])
	if want := map[bool]uint16{true: 1, false: 28}[answer.Is4()]; kind == want {
		out[7] = 1
		out = append(out, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(answer.BitLen()/8))
		out = append(out, answer.AsSlice()...)
	}
	return out
}

// get requests a URL through the guard, without a proxy unless it has one.
func get(t *testing.T, g *netguard.Guard, address string) (*http.Response, error) {
	t.Helper()
	if g.Proxy == nil {
		g.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	client := &http.Client{Transport: g.Transport(&http.Transport{})}
	t.Cleanup(client.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return resp, err
}

func TestTransport(t *testing.T) {
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}))
	defer here.Close()
	port := here.URL[strings.LastIndexByte(here.URL, ':'):]
	v4 := netip.MustParseAddr("127.0.0.1")
	only := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for _, tt := range []struct {
		name    string
		guard   *netguard.Guard
		address string
		blocked string
	}{
		{"an address of this machine", &netguard.Guard{}, here.URL, "127.0.0.1"},
		{"one that is allowed", &netguard.Guard{Allow: only}, here.URL, ""},
		{"IPv4 within IPv6", &netguard.Guard{}, "http://[::ffff:127.0.0.1]" + port, "127.0.0.1"},
		{"IPv4 within IPv6 that is allowed", &netguard.Guard{Allow: only}, "http://[::ffff:127.0.0.1]" + port, ""},
		{
			"a name that resolves to this machine",
			(&netguard.Guard{}).Resolve(resolver(t, v4)),
			"http://public.example" + port,
			"127.0.0.1",
		},
		{
			"such a name where this machine is allowed",
			(&netguard.Guard{Allow: only}).Resolve(resolver(t, v4)),
			"http://public.example" + port,
			"",
		},
		{
			"a name that resolves to a metadata service",
			(&netguard.Guard{Allow: only}).Resolve(resolver(t, netip.MustParseAddr("169.254.169.254"))),
			"http://public.example",
			"169.254.169.254",
		},
		{
			"a name that resolves to IPv6",
			(&netguard.Guard{Allow: only}).Resolve(resolver(t, netip.MustParseAddr("fd00::1"))),
			"http://public.example",
			"fd00::1",
		},
		{"a redirect", &netguard.Guard{Allow: only}, here.URL + "?to=http://169.254.169.254/latest", "169.254.169.254"},
		{
			"a redirect to another of this machine",
			&netguard.Guard{Allow: only},
			here.URL + "?to=http://127.0.0.2/",
			"127.0.0.2",
		},
		{"a redirect that is allowed", &netguard.Guard{Allow: only}, here.URL + "?to=" + here.URL, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := get(t, tt.guard, tt.address)
			var blocked *netguard.BlockedError
			switch {
			case tt.blocked == "" && err != nil:
				t.Errorf("GET %s: %v", tt.address, err)
			case tt.blocked != "" && !errors.As(err, &blocked):
				t.Errorf("GET %s: %v, want a BlockedError", tt.address, err)
			case tt.blocked != "" && blocked.Address.String() != tt.blocked:
				t.Errorf("GET %s: %v, want %s refused", tt.address, err, tt.blocked)
			}
		})
	}
}

func TestProxy(t *testing.T) {
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Host }))
	defer proxy.Close()
	by := func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	if _, err := get(t, &netguard.Guard{Proxy: by}, "http://public.example/"); err != nil || <-asked != "public.example" {
		t.Errorf("a name was not sent to the proxy: %v", err)
	}
	for _, address := range []string{
		"http://10.0.0.1/",
		"http://[fe80::1]/",
		"http://localhost/",
		"http://a.localhost/",
		"http://127.0.0.1/",
		"http://[::ffff:10.0.0.1]/",
	} {
		_, err := get(t, &netguard.Guard{Proxy: by}, address)
		var blocked *netguard.BlockedError
		if !errors.As(err, &blocked) {
			t.Errorf("GET %s through a proxy: %v, want a BlockedError", address, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the proxy was asked for %s", <-asked)
	}
}
