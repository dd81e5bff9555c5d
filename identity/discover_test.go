package identity_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
)

// Every document that is asked for is reported, with its answer, and no token is issued.
func TestDiscover(t *testing.T) {
	s := authtest.Start(http.NotFoundHandler())
	defer s.Close()
	resp, err := http.Post(s.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	var observed []identity.DiscoveryRequest
	d := identity.Discover(t.Context(), s.URL, &identity.DiscoverOptions{
		Challenge: resp.Header.Get("WWW-Authenticate"),
		Observe:   func(r identity.DiscoveryRequest) { observed = append(observed, r) },
	})
	if d.Err != nil || d.Issuer != s.Issuer || !d.Registers {
		t.Errorf("discovery = %+v", d)
	}
	documents := documentsOf(d)
	if first := slices.Index(documents, "protected resource (RFC 9728)"); first != 0 ||
		!slices.Contains(documents, "authorization server (RFC 8414)") {
		t.Errorf("documents = %q", documents)
	}
	if len(observed) != len(d.Requests) {
		t.Errorf("%d requests observed, of %d", len(observed), len(d.Requests))
	}
	if n := s.Count("register") + s.Count("token"); n != 0 {
		t.Errorf("%d requests beyond metadata", n)
	}

	s.Break(authtest.NoRegistration)
	if d := identity.Discover(t.Context(), s.URL, nil); d.Err != nil || d.Registers {
		t.Errorf("without registration: %+v", d)
	}
	s.Break(authtest.MetadataDown)
	d = identity.Discover(t.Context(), s.URL, nil)
	if d.Err == nil || d.Issuer != "" || d.Requests[1].Status != http.StatusServiceUnavailable {
		t.Errorf("metadata is down: %+v", d)
	}
	s.Break(authtest.CloudMetadata)
	if d := identity.Discover(t.Context(), s.URL, nil); d.Err == nil {
		t.Errorf("the metadata service of a cloud: %+v", d)
	}
}

// A server without metadata: all well-known addresses are asked, and named in order.
func TestDiscoverNothing(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	const cut = `Bearer realm="x", resource_metadata="http://192.0.2.1/meta…`
	d := identity.Discover(t.Context(), web.URL+"/mcp?key=hidden", &identity.DiscoverOptions{Challenge: cut})
	if d.Err == nil || d.Issuer != "" {
		t.Errorf("discovery = %+v", d)
	}
	want := []string{"protected resource (RFC 9728)", "protected resource (RFC 9728)",
		"authorization server (RFC 8414)", "authorization server (OpenID)"}
	if got := documentsOf(d); !slices.Equal(got, want) {
		t.Errorf("documents = %q, want %q", got, want)
	}
	for _, r := range d.Requests {
		if r.Status != http.StatusNotFound || strings.Contains(r.Answer(), "hidden") {
			t.Errorf("request = %s", r.Answer())
		}
	}
}

func documentsOf(d *identity.Discovery) (all []string) {
	for _, r := range d.Requests {
		all = append(all, r.Document)
	}
	return all
}
