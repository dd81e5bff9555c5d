package open

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// sharedForm is the client whose configuration has the form that most have:
// {"mcpServers": {...}}.
const sharedForm = "claude-code"

// clientFile reads the configuration of a client as definitions. It returns nil if
// the file has no servers of that form. Values that look like secrets are kept
// apart, for [defined.resolver].
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
		if f.Rule == "stax/not-imported" { // that it holds secrets is the client's way
			d.skipped = append(d.skipped, errors.New(f.String()))
		}
	}
	return d
}

// resolver returns r with the secrets that stand in the file itself asked first.
func (d *defined) resolver(r *stax.Resolver) *stax.Resolver {
	if len(d.values) == 0 {
		return r
	}
	copied := *r
	copied.Sources = append([]stax.Source{inFile(d.values)}, sourcesOf(r)...)
	return &copied
}

// inFile is the secrets that stand in a file of definitions.
type inFile map[string]stax.Secret

var _ stax.Source = inFile(nil)

// Lookup implements [stax.Source].
func (s inFile) Lookup(_ context.Context, key string) (stax.Secret, bool, error) {
	secret, ok := s[key]
	return secret, ok, nil
}

// String implements [stax.Source].
func (s inFile) String() string { return fmt.Sprintf("the file itself (%d)", len(s)) }

// sourcesOf returns the sources of a resolver: the environment by default.
func sourcesOf(r *stax.Resolver) []stax.Source {
	if r.Sources != nil {
		return r.Sources
	}
	environment, err := stax.ParseSource("env")
	if err != nil {
		return nil // there is such a source
	}
	return []stax.Source{environment}
}
