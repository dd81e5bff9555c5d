package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// A context error only means that the request has timed out if the request's own context
// has ended: tools may set deadlines for parts of their work.
func TestWhoseDeadline(t *testing.T) {
	requests := []struct{ method, params string }{
		{"tools/call", askTool},
		{"resources/read", `"uri":"ask://it"`},
		{"prompts/get", askTool},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"ask://{v}"},"argument":{"name":"v","value":""}`},
	}
	// ends are reasons for the source's work to end.
	ends := []struct {
		name string
		work askFunc
		want [4]string // by request
	}{
		{"a deadline of the source", func(ctx context.Context, _ *mcp.Request) (string, error) {
			ctx, stop := context.WithTimeout(ctx, time.Second)
			defer stop()
			<-ctx.Done()
			return "", fmt.Errorf("ask the depot: %w", ctx.Err())
		}, [4]string{
			"error: ask the depot: context deadline exceeded",
			"-30002 the resource cannot be reached in time",
			"-32603 internal error",
			"-32603 internal error",
		}},
		{"a context that the source has cancelled", func(ctx context.Context, _ *mcp.Request) (string, error) {
			ctx, stop := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { stop(errors.New("enough")) })
			<-ctx.Done()
			return "", fmt.Errorf("first of three: %w", ctx.Err())
		}, [4]string{
			"error: first of three: context canceled",
			"-32603 internal error",
			"-32603 internal error",
			"-32603 internal error",
		}},
		{"the deadline of the request", func(ctx context.Context, _ *mcp.Request) (string, error) {
			ctx, stop := context.WithTimeout(ctx, time.Hour)
			defer stop()
			<-ctx.Done()
			return "", fmt.Errorf("ask the depot: %w", ctx.Err())
		}, [4]string{
			"-31001 the tool ran out of time",
			"-30004 reading the resource ran out of time",
			"-32603 the request ran out of time",
			"-32603 the request ran out of time",
		}},
	}
	for _, end := range ends {
		for i, request := range requests {
			for _, transport := range []string{httpTransport, stdioTransport} {
				for _, v := range []mcp.Version{mcp.Version20250618, mcp.Version20260728} {
					t.Run(end.name+"/"+request.method+"/"+transport+"/"+v.String(), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							server := mcpserver.New(newAsker(end.work), &mcpserver.Options{RequestTimeout: time.Minute})
							p := connect(t, transport, v, server, allCaps)
							p.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":"c1","method":%q,"params":{%s}}`, request.method, request.params))
							time.Sleep(2 * time.Minute)
							m := messages(t, p.received(), 1)[0]
							var got string
							if m.Error != nil {
								got = fmt.Sprint(m.Error.Code, " ", m.Error.Message)
							} else {
								got = textOf(t, m)
							}
							if !strings.HasPrefix(got, end.want[i]) {
								t.Errorf("answered %q, want %q", got, end.want[i])
							}
						})
					})
				}
			}
		}
	}
}
