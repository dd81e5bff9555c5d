package serve_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// lateEngine answers the first writes of sessions with an error, and carries them out later: before the next
// write, or with carryOut. A NATS server does that when it is cut off for less than an election.
type lateEngine struct {
	cluster.Engine

	mu    sync.Mutex
	late  func()
	tried chan struct{} // closed once a write is late
}

func (e *lateEngine) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if strings.HasPrefix(key, "session/") {
		e.mu.Lock()
		select {
		case <-e.tried:
			e.mu.Unlock()
		default:
			e.late = func() { _, _ = e.Engine.Create(context.WithoutCancel(ctx), key, value, ttl) }
			close(e.tried)
			e.mu.Unlock()
			return 0, errors.New("no answer")
		}
		e.carryOut()
	}
	return e.Engine.Create(ctx, key, value, ttl)
}

func (e *lateEngine) carryOut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.late != nil {
		e.late()
		e.late = nil
	}
}

// TestEndOfSessionWithLateWrite guards acknowledged ends of sessions: a write that the engine carries out
// after the end does not make another replica continue the session.
func TestEndOfSessionWithLateWrite(t *testing.T) {
	e := &lateEngine{Engine: cluster.NewMemory(), tried: make(chan struct{})}
	src := newStateless()
	owner, other := startReplica(t, e, src), startReplica(t, e, src)
	_, session, _ := owner.post(t, nil, initialize)
	<-e.tried
	header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
	awaitReplicas(t, "the end of the session", func() bool {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, owner.url, nil)
		for name, value := range header {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusNoContent
	})
	e.carryOut()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`
	for _, r := range []*replica{owner, other} {
		if status, _, answer := r.post(t, header, call); status != http.StatusNotFound {
			t.Errorf("a call of the session that has ended: %d %s", status, answer)
		}
	}
}
