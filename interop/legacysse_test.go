package interop_test

import (
	"strings"
	"testing"
)

// legacySSE returns the URL of a target's HTTP+SSE transport of 2024-11-05.
func (s target) legacySSE() string { return strings.TrimSuffix(s.endpoint, "/mcp") + "/sse" }

// TestTypeScriptLegacySSE reads the whole example site over the HTTP+SSE transport of the
// TypeScript SDK.
func TestTypeScriptLegacySSE(t *testing.T) {
	tools := nodeTools(t)
	s, wrong := referenceSite(t)
	to := serve(t, "--legacy-sse", s.dir)
	tools.carryOut(t,
		plan{Client: "sdk-v1", Version: v1125, Endpoint: to.legacySSE(), Site: s.plan(), Wrong: wrong.plan()})
}

// TestTypeScriptLegacySSECancel is TestCancel over HTTP+SSE.
func TestTypeScriptLegacySSECancel(t *testing.T) {
	tools := nodeTools(t)
	host := startStuckHost(t)
	to := serve(t, "--legacy-sse", host.URL+"/")
	tools.carryOut(t, plan{Client: "sdk-v1", Version: v1125, Endpoint: to.legacySSE()})
	await(t, host.dropped, "the host was not notified of the cancellation")
}
