package registry

import (
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
)

// Rules returns the rules for conversions from and to the format of the registry.
func Rules() []stax.Rule {
	return []stax.Rule{
		{ID: "stax/not-added", Severity: check.Warning, About: "a definition has a place for what a `server.json` asks for"},
		{
			ID:       "stax/secret-shared",
			Severity: check.Warning,
			About:    "a server that is added names no secret that is there for another",
		},
		{ID: "stax/not-exported", Severity: check.Warning, About: "a `server.json` has a place for what a definition says"},
	}
}
