package stax_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

func TestVariablesGivenTwice(t *testing.T) {
	const secrets = "secrets: [{key: R, exposeAs: {env: OTHER}}, {key: S, exposeAs: {env: OTHER}}, {key: F, " +
		"exposeAs: {env: F, file: OTHER}}, T]\n"
	tests := map[string]struct{ server, pointer string }{
		"a static one": {"{command: x, env: {OTHER: y}, secrets: [R]}", "/servers/s/env/OTHER"},
		"two secrets":  {"{command: x, secrets: [R, S]}", "/servers/s/secrets/1"},
		"a file":       {"{command: x, secrets: [R, F]}", "/servers/s/secrets/1"},
		"a bearer token": {
			"{url: 'https://x.example', transport: http, headers: {authorization: 'Bearer ${X}'}, secrets: [T]}",
			"/servers/s/headers/authorization",
		},
		"once":           {"{command: x, env: {R: y2}, secrets: [T]}", ""},
		"another header": {"{url: 'https://x.example', transport: http, headers: {x-team: a}, secrets: [T]}", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, _ := stax.Parse("x.yaml", []byte("servers:\n  s: "+test.server+"\n"+secrets), nil)
			got := ""
			for _, f := range ruletest.Findings(stax.Merge(d).Check()) {
				if f.Rule.ID == "stax/secret-shadowed" {
					got += f.Pointer
				}
			}
			if got != test.pointer {
				t.Errorf("got %q, want %q", got, test.pointer)
			}
		})
	}
}
