package identity

import (
	"net/http"
	"time"
)

// SetClock replaces the clock of a client.
func SetClock(c *Client, now func() time.Time) { c.now = now }

// SetVaultClock replaces the clock of a vault.
func SetVaultClock(v *Vault, now func() time.Time) { v.now = now }

// Challenge is what a WWW-Authenticate header demands.
type Challenge struct {
	Metadata, Code string
	Scopes         []string
	DPoP           bool
}

// ParseChallenge returns the demand of headers.
func ParseChallenge(values ...string) Challenge {
	d := demandOf(http.Header{"Www-Authenticate": values})
	return Challenge{
		Metadata: d.metadata,
		Code:     d.code,
		Scopes:   d.scopes,
		DPoP:     d.dpop,
	}
}

// Functions for tests.
var (
	ResourceAddresses = resourceAddresses
	CoversResource    = coversResource
)

// FetchClientDocumentBy is the function of that name with another transport.
var FetchClientDocumentBy = fetchClientDocument

// ForCaller returns a client for the logins of a caller.
func ForCaller(c *Client, caller Caller) *Client { return c.For(caller.key()) }
