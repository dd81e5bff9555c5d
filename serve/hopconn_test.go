package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/serve"
)

// TestHopConnectionsKept guards connections between replicas: they outlive those of clients, as a request on one that
// the owner closes at that moment would fail with "it may have run".
func TestHopConnectionsKept(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	var dials atomic.Int64
	as := &cluster.Options{System: cluster.System{
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	src := newStateless()
	opts := func() *serve.Options {
		return &serve.Options{Connections: serve.Connections{IdleTimeout: 20 * time.Millisecond}}
	}
	owner := startWithOptions(t, e, src, opts(), 4*time.Second)
	other := startJoined(t, e, src, opts(), as)
	header := startSession(t, owner, e)
	header["Connection"] = "close" // that of the client could end at the moment of the next call
	other.mustCall(t, header, 1)
	before := dials.Load()
	for i := range 5 {
		<-time.After(60 * time.Millisecond) // longer than the connection of a client may be idle
		other.mustCall(t, header, i)
	}
	// On a busy machine, a call that takes long has the owner probed, over a connection that is kept, too.
	if n := dials.Load() - before; n > 1 {
		t.Errorf("%d connections for calls after the first, want none but that of a probe", n)
	}
}

// TestHopOfManyFields guards requests with many header fields: a hop makes no difference.
func TestHopOfManyFields(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	src := newStateless()
	owner, other := startReplica(t, e, src), startReplica(t, e, src)
	header := startSession(t, owner, e)
	for i := range 2000 {
		header[fmt.Sprint("X-Field-", i)] = "v"
	}
	for _, p := range []*replica{owner, other} {
		if status, _, answer := p.post(t, header, callOf(1, "echo")); status != http.StatusOK ||
			!strings.Contains(answer, `{\"n\":1}`) {
			t.Errorf("2,000 fields: %d %.200s", status, answer)
		}
	}
}

// A head that the entry replica accepts also passes the hop, where each of its fields is a byte longer.
func TestFullHeadHops(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	src := newStateless()
	const limit = 58 << 10
	opts := func() *serve.Options { return &serve.Options{Connections: serve.Connections{MaxHeader: limit}} }
	first := startWithOptions(t, e, src, opts(), steadyLease)
	second := startWithOptions(t, e, src, opts(), steadyLease)
	header := startSession(t, first, e)
	body := callOf(7, "echo")
	var head strings.Builder
	fmt.Fprintf(&head, "POST /mcp HTTP/1.1\r\nHost:127.0.0.1\r\nConnection:close\r\nContent-Length:%d\r\n"+
		"Content-Type:application/json\r\nAccept:application/json,text/event-stream\r\n", len(body))
	for name, value := range header {
		fmt.Fprintf(&head, "%s:%s\r\n", name, value)
	}
	const field = "x:y\r\n"
	head.WriteString(strings.Repeat(field, (limit-head.Len())/len(field)))
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(second.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, head.String()+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") ||
		!strings.Contains(string(answer), `{\"n\":7}`) {
		t.Errorf("%v %.300s", err, answer)
	}
	if n := second.metric(t, `slipway_cluster_hops_total{outcome="answered"}`); n != 1 {
		t.Errorf("%v hops, want 1", n)
	}
}
