package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// keyed is a server that offers a tool named after the key of the request.
type keyed struct{ mcp.Unimplemented }

func (keyed) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "keyed",
			Version: "1",
		},
		Tools: []mcp.Tool{{
			Name:        "key_" + mcp.RequestFrom(ctx).Header().Get("X-Key"),
			InputSchema: []byte(`{"type":"object"}`),
		}},
		Cache: mcp.CacheHint{Public: true},
	}, nil
}

func (keyed) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{
		Content: []mcp.Content{mcp.Text("key " + mcp.RequestFrom(ctx).Header().Get("X-Key"))},
	}, nil
}

// TestIsolateTransports gives each principal a transport with a key of its own. Principals
// whose names are equal do not share it.
func TestIsolateTransports(t *testing.T) {
	web := httptest.NewServer(server.New(keyed{}, nil).HTTPHandler(nil))
	t.Cleanup(web.Close)
	src, err := client.Open(t.Context(), &client.Endpoint{URL: web.URL + "/mcp"}, &client.Options{
		Lazy: true,
		Previous: client.Previous{Catalog: &mcp.Catalog{Server: mcp.Implementation{
			Name:    "unknown",
			Version: "0",
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	i := client.Isolate(src, &client.IsolateOptions{
		Transport: func(ctx context.Context) (client.Transport, error) {
			p := mcp.PrincipalFrom(ctx)
			if p.Subject == "refused" {
				return nil, mcp.Errorf(mcp.CodeToolDenied, "refused")
			}
			return &client.Endpoint{
				URL:    web.URL + "/mcp",
				Header: http.Header{"X-Key": {p.Issuer + "-" + p.Subject}},
			}, nil
		},
	})
	t.Cleanup(func() { _ = i.Close() })
	principals := []*mcp.Principal{
		{Name: "a#b#c", Issuer: "a", Subject: "b#c"},
		{Name: "a#b#c", Issuer: "a#b", Subject: "c"},
		{Name: "a#b#c"},
	}
	var all sync.WaitGroup
	for _, p := range principals {
		all.Go(func() {
			ctx := mcp.WithPrincipal(t.Context(), p)
			if cat := i.Known(ctx); cat != nil {
				t.Errorf("the catalog is known before the first connection: %v", cat.Tools)
			}
			if err := i.Prepare(ctx, false); err != nil {
				t.Error(err)
				return
			}
			own := "key_" + p.Issuer + "-" + p.Subject
			for range 20 {
				cat, err := i.Catalog(ctx)
				if err != nil || len(cat.Tools) != 1 || cat.Tools[0].Name != own || !cat.PerCaller || cat.Cache.Public {
					t.Errorf("Catalog = %+v, %v, want the tool %s for its caller alone", cat, err, own)
					return
				}
				result, err := i.CallTool(ctx, &mcp.CallToolParams{Name: own})
				if err != nil || !strings.Contains(string(result.Raw.Bytes()), "key "+p.Issuer+"-"+p.Subject+`"`) {
					t.Errorf("CallTool = %v, %v, want the key of %s", result, err, own)
					return
				}
			}
		})
	}
	all.Wait()
	if cat, err := i.Catalog(t.Context()); err != nil || len(cat.Tools) != 0 {
		t.Errorf("Catalog without a caller = %v, %v, want no tools", cat, err)
	}
	if _, err := i.CallTool(t.Context(), &mcp.CallToolParams{Name: "key_a-b#c"}); err == nil {
		t.Error("a request without a caller reaches the server")
	}
	if err := i.Prepare(mcp.WithPrincipal(t.Context(), &mcp.Principal{Subject: "refused"}), true); err == nil {
		t.Error("a caller without a transport is served")
	}
	if n := src.State().Starts; n != 0 {
		t.Errorf("the source itself was started %d times", n)
	}
	first := mcp.WithPrincipal(t.Context(), principals[0])
	i.Stop(func(p *mcp.Principal) bool { return p == principals[0] })
	if cat := i.Known(first); cat != nil {
		t.Errorf("Known after Stop = %v, want nothing", cat.Tools)
	}
	if i.Known(mcp.WithPrincipal(t.Context(), principals[1])) == nil {
		t.Error("Stop ended the connection of another principal")
	}
}

// TestEqualCatalogsAreOne lets callers with equal catalogs share what is computed from them.
func TestEqualCatalogsAreOne(t *testing.T) {
	web := httptest.NewServer(server.New(keyed{}, nil).HTTPHandler(nil))
	t.Cleanup(web.Close)
	src, err := client.Open(t.Context(), &client.Endpoint{URL: web.URL + "/mcp"}, &client.Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	i := client.Isolate(src, &client.IsolateOptions{
		Transport: func(ctx context.Context) (client.Transport, error) {
			p := mcp.PrincipalFrom(ctx)
			return &client.Endpoint{
				URL:    web.URL + "/mcp",
				Header: http.Header{"X-Key": {p.Issuer}},
			}, nil
		},
	})
	t.Cleanup(func() { _ = i.Close() })
	catalog := func(issuer, subject string) *mcp.Catalog {
		t.Helper()
		ctx := mcp.WithPrincipal(t.Context(), &mcp.Principal{
			Issuer:  issuer,
			Subject: subject,
		})
		if err := i.Prepare(ctx, false); err != nil {
			t.Fatal(err)
		}
		return i.Known(ctx)
	}
	alice := catalog("a", "alice")
	if bob := catalog("a", "bob"); bob != alice {
		t.Error("callers with equal catalogs get two of them")
	}
	if carol := catalog("b", "carol"); carol == alice || carol.Tools[0].Name != "key_b" {
		t.Errorf("a caller with another catalog gets %v", carol.Tools)
	}
}
