package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// shared offers the same to all clients.
type shared struct{ mcp.Unimplemented }

var toEverybody = mcp.CacheHint{TTL: time.Minute, Public: true}

func (shared) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "shared", Version: "1"},
		Resources: []mcp.Resource{{URI: "a://b", Name: "b"}, {URI: "a://c", Name: "c"}},
		PageSize:  1,
		Cache:     toEverybody,
	}, nil
}

func (shared) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI == "a://c" {
		raw, err := mcp.ParseRaw([]byte(`{"contents":[{"uri":"a://c","text":""}]}`))
		return &mcp.ReadResourceResult{Raw: raw, Cache: toEverybody}, err
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "x"}}, Cache: toEverybody}, nil
}

func TestCacheScopeOfTheCaller(t *testing.T) {
	b := newBrowser(shared{}, nil)
	second := ""
	for _, ask := range []struct{ name, method, members string }{
		{"discover", "server/discover", ""},
		{"first page", "resources/list", ""},
		{"next page", "resources/list", "cursor"},
		{"read", "resources/read", `"uri":"a://b"`},
		{"raw", "resources/read", `"uri":"a://c"`},
	} {
		t.Run(ask.name, func(t *testing.T) {
			if ask.members == "cursor" {
				ask.members = second
			}
			for who, want := range map[string]string{"": "public", "ann": "private"} {
				b.principal = who
				got := b.post(t, modern(ask.method, ask.members))
				if !strings.Contains(got.result, `"cacheScope":"`+want+`"`) || !strings.Contains(got.result, `"ttlMs":60000`) {
					t.Errorf("as %q: %s, want it %s", who, got.body, want)
				}
				if _, rest, ok := strings.Cut(got.result, `"nextCursor":`); ok {
					second = `"cursor":` + rest[:strings.Index(rest, ",")]
				}
			}
		})
	}
}
