package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/nats"
	"github.com/slipway-mcp/slipway/internal/test/cutengine"
	"github.com/slipway-mcp/slipway/internal/test/natstest"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/serve"
)

// approvalReplica is a replica that asks users before calls.
type approvalReplica struct{ handler http.Handler }

func startApprovalReplica(t *testing.T, e cluster.Engine) *approvalReplica {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, &cluster.Options{Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	shared, err := serve.ShareApprovals(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := serve.OpenStateKeys("", r.Keys()...)
	if err != nil {
		t.Fatal(err)
	}
	o := &serve.Options{Auth: companyTokens(t)}
	o.StateKeys = keys
	o.Policy = policyOf(t, approvalRules+`permit (principal == User::"eve", action, resource);`,
		&serve.PolicyOptions{Approvals: shared})
	return &approvalReplica{serve.NewHandler(company{servers: []string{"a", "b", "c"}}, o)}
}

// call calls a tool with 2026-07-28 and returns the answer.
func (r *approvalReplica) call(caller, tool, more string) string {
	req := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
		`"params":{"name":"`+tool+`","arguments":{}`+more+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`))
	req.Host = "localhost"
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
		"Mcp-Name": tool, "Authorization": "Bearer token-of-" + caller + "-0000",
	} {
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w.Body.String()
}

// consent calls a tool here, and answers the question about it at another replica.
func (r *approvalReplica) consent(t *testing.T, other *approvalReplica, tool string) {
	t.Helper()
	var asked struct{ Result struct{ RequestState string } }
	text := r.call("ann", tool, "")
	if json.Unmarshal([]byte(text), &asked) != nil || asked.Result.RequestState == "" {
		t.Fatalf("the call of %s does not ask: %s", tool, text)
	}
	state, _ := json.Marshal(asked.Result.RequestState)
	got := other.call("ann", tool, fmt.Sprintf(`,"requestState":%s,"inputResponses":{"slipway-approval":`+
		`{"action":"accept","content":{"allow":true}}}`, state))
	if !strings.Contains(got, "ran "+tool) {
		t.Fatalf("the call of %s with the consent: %s", tool, got)
	}
}

// TestSharedApprovals guards consents in a cluster: what a user allows at one replica is allowed at all of
// them at once, and survives the loss of the engine's data; a revocation ends it everywhere.
func TestSharedApprovals(t *testing.T) {
	race.SkipSlow(t)
	memory := cluster.NewMemory()
	t.Run("memory", func(t *testing.T) { checkSharedApprovals(t, memory, memory.Lose) })
	t.Run("nats", func(t *testing.T) {
		e, err := nats.Open("nats://"+natstest.Start(t).Addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		checkSharedApprovals(t, e, nil)
	})
}

func checkSharedApprovals(t *testing.T, engine cluster.Engine, lose func()) {
	e := &cutengine.Engine{Engine: engine}
	a, b := startApprovalReplica(t, e), startApprovalReplica(t, e)
	ran := func(r *approvalReplica, caller, tool string) bool {
		return strings.Contains(r.call(caller, tool, ""), "ran "+tool)
	}
	for _, tool := range []string{"b_run", "c_run"} { // for a time, and always
		a.consent(t, b, tool)
		if !ran(a, "ann", tool) || !ran(b, "ann", tool) {
			t.Errorf("the user is asked again for %s", tool)
		}
	}
	a.consent(t, b, "a_run")
	if ran(a, "ann", "a_run") {
		t.Error("the consent to one call lets another one pass")
	}
	all, err := engine.List(t.Context(), "approval")
	if err != nil || len(all) != 3 { // with the marker
		t.Fatalf("the engine has %d records, %v", len(all), err)
	}
	for _, r := range all {
		if strings.Contains(r.Key+string(r.Value), "ann") {
			t.Errorf("the engine has the name of a user: %s %s", r.Key, r.Value)
		}
	}
	if n, err := serve.RevokeApprovals(t.Context(), e, "eve"); n != 0 || err != nil {
		t.Errorf("RevokeApprovals of another user = %d, %v", n, err)
	}
	if lose != nil {
		lose()
		awaitReplicas(t, "the replicas to store the consents again", func() bool {
			for _, r := range []*approvalReplica{a, b} {
				if got := r.call("ann", "c_run", ""); !strings.Contains(got, "ran c_run") {
					t.Fatalf("after the engine has lost its data: %s", got)
				}
			}
			all, err := engine.List(t.Context(), "approval")
			return err == nil && len(all) == 3
		})
	}
	n, err := serve.RevokeApprovals(t.Context(), e, "ann")
	if n != 2 || err != nil {
		t.Errorf("RevokeApprovals = %d, %v, want 2", n, err)
	}
	awaitReplicas(t, "the replicas to ask again", func() bool {
		return !ran(a, "ann", "c_run") && !ran(b, "ann", "c_run") && !ran(a, "ann", "b_run") && !ran(b, "ann", "b_run")
	})
	e.Cut.Store(true)
	a.consent(t, a, "c_run")
	if !ran(a, "ann", "c_run") || ran(b, "ann", "c_run") {
		t.Error("while the engine is down, a consent is valid at the replica that asked")
	}
	e.Cut.Store(false)
	awaitReplicas(t, "the consent to reach the other replica", func() bool { return ran(b, "ann", "c_run") })
}

// awaitReplicas waits for what replicas do within a few seconds.
func awaitReplicas(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited ten seconds for %s", what)
		}
	}
}
