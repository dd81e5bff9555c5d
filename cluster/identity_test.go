package cluster_test

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// TestAddressOfAnotherProcess guards a replica that was killed and whose machine has started another
// one at the same address: as no request was sent, the error is that of a dial that failed, so
// the request is served elsewhere instead of being answered with "it may have run".
func TestAddressOfAnotherProcess(t *testing.T) {
	e := cluster.NewMemory()
	opts := &cluster.Options{Lease: time.Minute}
	a, err := cluster.Join(t.Context(), e, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Leave(t.Context())
	killed, err := cluster.Join(t.Context(), e, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer killed.Leave(t.Context())
	peer := a.Find(t.Context(), killed.ID())
	if peer == nil {
		t.Fatal("the other replica is unknown")
	}
	_ = killed.Listener().Close()
	started, err := cluster.Join(t.Context(), e, &cluster.Options{
		Lease:  time.Minute,
		Listen: killed.Addr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer started.Leave(t.Context())
	go func() { _ = http.Serve(started.Listener(), http.NotFoundHandler()) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+peer.Addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := peer.Transport().RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("another process has answered")
	}
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("error %v (%T), want one of a dial", err, err)
	}
	if !errors.Is(err, cluster.ErrReplaced) {
		t.Errorf("error %v, want %v", err, cluster.ErrReplaced)
	}
}
