package serve_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// startVerifying serves as a replica that verifies tokens.
func startVerifying(t *testing.T, e cluster.Engine, verifiers ...serve.Verifier) (r *replica, control *serve.Control,
	opts *serve.Options) {
	t.Helper()
	member, err := cluster.Join(t.Context(), e, &cluster.Options{Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	control = new(serve.Control)
	opts = &serve.Options{
		Server: server.Options{Replica: member.ID()},
		Live:   serve.Live{Cluster: member, Control: control},
		Auth:   &serve.Auth{Verifiers: verifiers},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve.Serve(ctx, ln, clusterSource(t, nil), opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = member.Leave(context.Background())
	})
	return &replica{url: "http://" + ln.Addr().String() + "/mcp"}, control, opts
}

// admits reports whether a replica accepts a token.
func (p *replica) admits(t *testing.T, token string) bool {
	t.Helper()
	status, _, answer := p.post(t, map[string]string{"Authorization": "Bearer " + token}, initialize)
	if status != http.StatusOK && status != http.StatusUnauthorized {
		t.Fatalf("status %d: %s", status, answer)
	}
	return status == http.StatusOK
}

// TestRevokedTokenInCluster guards revocation: a token that one replica finds revoked is refused by the
// others at once, although they remember for an hour that it is valid.
func TestRevokedTokenInCluster(t *testing.T) {
	e := cluster.NewMemory()
	i := &introspector{t: t, tokens: map[string]any{"opaque": activeAnswer(nil), "other": activeAnswer(nil)}}
	remember := func(d time.Duration) func(*serve.IntrospectionOptions) {
		return func(o *serve.IntrospectionOptions) { o.Remember = d }
	}
	first, _, _ := startVerifying(t, e, i.verifier(remember(time.Nanosecond)))
	second, control, opts := startVerifying(t, e, i.verifier(remember(time.Hour)))
	for _, token := range []string{"opaque", "other"} {
		if !first.admits(t, token) || !second.admits(t, token) {
			t.Fatalf("%s is not valid", token)
		}
	}
	asked := i.questions()
	i.set("opaque", claimSet{"active": false})
	if !second.admits(t, "opaque") {
		t.Error("a replica asks again although it remembers the answer")
	}
	if first.admits(t, "opaque") {
		t.Fatal("the token is not revoked")
	}
	awaitReplicas(t, "the other replica to refuse the token", func() bool { return !second.admits(t, "opaque") })
	if !second.admits(t, "other") {
		t.Error("another token is refused")
	}
	if n := i.questions() - asked; n != 2 {
		t.Errorf("%d questions, want one of each replica", n)
	}
	// The same with a verifier that a Control has put in place.
	next := *opts
	next.Auth = &serve.Auth{Verifiers: []serve.Verifier{i.verifier(remember(time.Nanosecond))}}
	if err := control.Apply(t.Context(), &next); err != nil {
		t.Fatal(err)
	}
	third, _, _ := startVerifying(t, e, i.verifier(remember(time.Hour)))
	if !second.admits(t, "other") || !third.admits(t, "other") {
		t.Fatal("the other token is not valid")
	}
	i.set("other", claimSet{"active": false})
	if second.admits(t, "other") {
		t.Fatal("the other token is not revoked")
	}
	awaitReplicas(t, "the third replica to refuse the token", func() bool { return !third.admits(t, "other") })
}

// TestWithdrawnKeyInCluster guards rotation: once a replica has seen that the issuer has withdrawn a key,
// all of them refuse its tokens, with one fetch each.
func TestWithdrawnKeyInCluster(t *testing.T) {
	race.SkipSlow(t)
	e := cluster.NewMemory()
	old, next := ecKey(t, "old"), ecKey(t, "next")
	i := newIssuer(old)
	var replicas []*replica
	for range 3 {
		r, _, _ := startVerifying(t, e, i.verifier(t, nil))
		replicas = append(replicas, r)
	}
	token := func(key jose.JSONWebKey) string { return signed(t, jose.ES256, key, goodClaims(nil)) }
	withdrawn := token(old)
	for _, r := range replicas {
		if !r.admits(t, withdrawn) {
			t.Fatal("the first key is not accepted")
		}
	}
	i.publish(next)
	if !replicas[2].admits(t, withdrawn) {
		t.Error("a replica fetches the keys although nothing says that they have changed")
	}
	if !replicas[0].admits(t, token(next)) {
		t.Fatal("the next key is not accepted")
	}
	awaitReplicas(t, "all replicas to refuse the key", func() bool {
		for _, r := range replicas {
			if r.admits(t, withdrawn) {
				return false
			}
		}
		return true
	})
	// A refused token makes each of them fetch the keys again.
	if n := i.fetched("/keys"); n > 9 {
		t.Errorf("%d fetches, want at most three of each replica", n)
	}
}
