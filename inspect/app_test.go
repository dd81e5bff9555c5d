package inspect

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newAppSource returns the source of a user interface, in an Inspector that ends with the test.
func newAppSource(t *testing.T) *appSource {
	in := Handler(nil, nil)
	t.Cleanup(func() { _ = in.Close() })
	return &appSource{t: &target{
		in: in,
		id: 1,
	}}
}

// A request of a user interface ends like a call of the page, so it cannot occupy a connection for good.
func TestAppRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAppSource(t)
		began := time.Now()
		err := a.made(t.Context(), "tools/call", "hang", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if err == nil || !strings.Contains(err.Error(), "tools/call: no answer within 1m0s") {
			t.Errorf("a call without an answer: %v", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}

// The time of a request does not run while the user of the page is asked for it.
func TestAppRequestAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAppSource(t)
		time.AfterFunc(time.Hour, func() {
			a.t.in.asks.take(1).answer <- questionAnswer{result: []byte(`{}`)}
		})
		began := time.Now()
		err := a.made(t.Context(), "tools/call", "ask", func(ctx context.Context) error {
			if _, err := a.t.in.ask(ctx, a.t, "elicitation/create", nil); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); took != time.Hour+time.Minute {
			t.Errorf("it ended after %v: %v", took, err)
		}
	})
}

// The user interfaces of servers on this machine and in its network keep the origins there.
func TestAppOfPrivateServer(t *testing.T) {
	for address, want := range map[string]bool{
		"http://localhost:3000/mcp":     false,
		"http://127.0.0.2:3000":         false,
		"http://[::1]:3000":             false,
		"http://192.168.1.10:3000/mcp":  false,
		"https://mcp.corp.internal/mcp": false,
		"https://mcp.example.com/mcp":   true,
		"https://93.184.215.14":         true,
		"http://%zz":                    true,
	} {
		if got := isRemote(address); got != want {
			t.Errorf("isRemote(%q) = %t", address, got)
		}
	}
}
