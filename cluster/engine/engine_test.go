package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/cluster/engine"
)

// TestOpen guards that the scheme chooses the engine, and that a wrong URL gives an error and no engine.
func TestOpen(t *testing.T) {
	for urls, want := range map[string][]string{
		"nats://a,nats://b:7000":          {"a:4222", "b:7000"},
		"tls://a:1":                       {"a:1"},
		"redis://user@a/2":                {"a:6379"},
		"rediss://[::1]:7000?name=system": {"[::1]:7000"},
	} {
		e, err := engine.Open(urls, nil)
		if err != nil {
			t.Errorf("%s: %v", urls, err)
			continue
		}
		if got := e.Hosts(); !slices.Equal(got, want) {
			t.Errorf("%s: servers at %q, want %q", urls, got, want)
		}
		e.Close()
	}
	for urls, want := range map[string]string{
		"":                   "want nats://",
		"etcd://a":           "want nats://",
		"nats://":            "nats://HOST:PORT",
		"nats://ann:word@a":  "password",
		"redis://ann:word@a": "password",
		"redis://a?nmae=x":   "the only parameter is name",
	} {
		e, err := engine.Open(urls, &engine.Options{})
		if e != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "word@") {
			t.Errorf("%q: engine %v, error %v, want one about %q", urls, e, err, want)
		}
	}
}
