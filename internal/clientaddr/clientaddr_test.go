package clientaddr_test

import (
	"net/netip"
	"testing"

	"github.com/slipway-mcp/slipway/internal/clientaddr"
)

func TestOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:4711":               "192.0.2.7",
		"[::ffff:192.0.2.7]:4711":      "192.0.2.7",
		"[2001:db8:1:2:aaaa::1]:1":     "2001:db8:1:2::",
		"[2001:db8:1:2:bbbb::9]:65535": "2001:db8:1:2::",
		"[fe80::1%eth0]:80":            "fe80::",
		"@":                            "@",
		"":                             "",
	} {
		if got := clientaddr.Of(remote); got != want {
			t.Errorf("Of(%q) = %q, want %q", remote, got, want)
		}
	}
}

func TestBehind(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, tt := range map[string]struct {
		remote    string
		forwarded []string
		want      string
	}{
		"untrusted":             {"192.0.2.7:1", []string{"198.51.100.1"}, "192.0.2.7:1"},
		"one proxy":             {"10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1:0"},
		"with a port":           {"10.0.0.1:1", []string{"198.51.100.1:99"}, "198.51.100.1:99"},
		"IPv6":                  {"[fd00::1]:1", []string{"[2001:db8::1]:99"}, "[2001:db8::1]:99"},
		"IPv6 without a port":   {"[fd00::1]:1", []string{"2001:db8::1"}, "[2001:db8::1]:0"},
		"mapped proxy":          {"[::ffff:10.0.0.1]:1", []string{"198.51.100.1"}, "198.51.100.1:0"},
		"forged entry":          {"10.0.0.1:1", []string{"127.0.0.1, 198.51.100.1"}, "198.51.100.1:0"},
		"two proxies":           {"10.0.0.1:1", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1:0"},
		"several headers":       {"10.0.0.1:1", []string{"203.0.113.9", "198.51.100.1"}, "198.51.100.1:0"},
		"no header":             {"10.0.0.1:1", nil, "10.0.0.1:1"},
		"not an address":        {"10.0.0.1:1", []string{"198.51.100.1, unknown"}, "10.0.0.1:1"},
		"not an address before": {"10.0.0.1:1", []string{"unknown, 10.0.0.2"}, "10.0.0.2:0"},
		"Unix socket":           {"@", []string{"198.51.100.1"}, "@"},
	} {
		if got := clientaddr.Behind(proxies, tt.remote, tt.forwarded); got != tt.want {
			t.Errorf("%s: Behind(%q, %q) = %q, want %q", name, tt.remote, tt.forwarded, got, tt.want)
		}
	}
}
