//go:build unix

package interop_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestClusterApprovals asks the user of a go-sdk client once for each consent, whichever of three replicas
// gets a call, also after the owner of the session was killed, until the operator revokes it.
func TestClusterApprovals(t *testing.T) { onEngines(t, checkClusterApprovals) }

const approvalPolicy = `permit (principal, action, resource);
@id("session") @approval("session")
forbid (principal, action == Action::"call", resource)
when { context.arguments has code && context.arguments.code == 404 };
@id("always") @approval("always")
forbid (principal, action == Action::"call", resource)
when { context.arguments has code && context.arguments.code == 418 };
`

func checkClusterApprovals(t *testing.T, engine string) {
	rules := filepath.Join(t.TempDir(), "policy.cedar")
	if err := os.WriteFile(rules, []byte(approvalPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MCP_SERVER_TOKEN", goodToken)
	authorized := &http.Client{Transport: bearer(goodToken)}
	c := startReplicas(t, engine, "--policy", rules, "../examples/http-reference")
	for _, version := range []string{v1125, v0728} {
		t.Run(version, func(t *testing.T) {
			var asked atomic.Int64
			user := dialGoSDK(t, &mcp.StreamableClientTransport{Endpoint: c.balancer.url, HTTPClient: authorized}, version,
				&mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}, nil
				}})
			defer user.close()
			calls := func(code int, want int64) {
				t.Helper()
				asked.Store(0)
				for range 9 {
					if _, err := user.call(limited(t), "get_status", object{"code": code}); err != nil {
						t.Fatalf("get_status %d: %v", code, err)
					}
				}
				if n := asked.Load(); n != want {
					t.Errorf("the user was asked %d times for %d, want %d", n, code, want)
				}
			}
			// After a revocation, replicas learn of it in any order: the user is asked once all the same.
			askedOnce := func(code int) {
				t.Helper()
				asked.Store(0)
				for deadline := time.Now().Add(patience); asked.Load() == 0; {
					if _, err := user.call(limited(t), "get_status", object{"code": code}); err != nil {
						t.Fatalf("get_status %d: %v", code, err)
					}
					if time.Now().After(deadline) {
						t.Fatalf("the user was not asked for %d", code)
					}
				}
				calls(code, 0)
			}
			askedOnce(404)
			askedOnce(418)
			calls(404, 0)
			out := mustRun(t, "cluster", "revoke-approvals", "token", "--cluster", engine)
			if !strings.Contains(out, "2 approvals of token revoked") {
				t.Errorf("revoke-approvals prints %q", out)
			}
			askedOnce(404)
			askedOnce(418)
			if version != v1125 {
				mustRun(t, "cluster", "revoke-approvals", "token", "--cluster", engine)
				return
			}
			owner := c.members[0]
			for _, r := range c.members {
				if r.metric(t, sessionsMetric) > 0 {
					owner = r
				}
			}
			c.balancer.remove(owner)
			_ = owner.process.Process.Kill()
			<-owner.exited
			time.Sleep(100 * time.Millisecond) // what is sent before the connections break gets 502
			calls(404, 0)
			calls(418, 0)
			mustRun(t, "cluster", "revoke-approvals", "token", "--cluster", engine)
		})
	}
}
