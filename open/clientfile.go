package open

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// sharedForm is a client whose config file has the most common form: {"mcpServers":
// {...}}.
const sharedForm = "claude-code"

// clientFile reads a client's config file as definitions. It returns nil if the file has
// no servers of that form. Values that look like secrets are kept separately, for
// [defined.resolver].
func clientFile(arg string) *defined {
	client, _ := clients.ByID(sharedForm)
	if client == nil {
		return nil
	}
	imported, report, err := clients.Import(client, arg)
	if err != nil || len(imported.Config.Servers) == 0 {
		return nil
	}
	text, err := json.Marshal(&imported.Config)
	if err != nil {
		return nil
	}
	doc, _ := stax.Parse(arg, text, &stax.ParseOptions{Format: stax.JSON})
	d := &defined{merged: stax.Merge(doc), wrong: make(map[string]error), values: imported.Values}
	for _, f := range report.Findings() {
		if f.Rule == "stax/not-imported" { // secrets in the file are normal for the client
			d.skipped = append(d.skipped, errors.New(f.String()))
		}
	}
	return d
}

// resolver returns r with the secrets in the file itself as the first store.
func (d *defined) resolver(r *stax.Resolver) *stax.Resolver {
	if len(d.values) == 0 {
		return r
	}
	copied := *r
	copied.Stores = append([]stax.SecretStore{inFile(d.values)}, storesOf(r)...)
	return &copied
}

// inFile holds the secrets in a definitions file.
type inFile map[string]stax.Secret

var _ stax.SecretStore = inFile(nil)

// Lookup implements [stax.SecretStore].
func (s inFile) Lookup(_ context.Context, key string) (stax.Secret, bool, error) {
	secret, ok := s[key]
	return secret, ok, nil
}

// String implements [stax.SecretStore].
func (s inFile) String() string { return fmt.Sprintf("the file itself (%d)", len(s)) }

// storesOf returns the secret stores of a resolver: the environment by default.
func storesOf(r *stax.Resolver) []stax.SecretStore {
	if r.Stores != nil {
		return r.Stores
	}
	environment, err := stax.ParseSecretStore("env")
	if err != nil {
		return nil // cannot happen: env is a known store
	}
	return []stax.SecretStore{environment}
}
