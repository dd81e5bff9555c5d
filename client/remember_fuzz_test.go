package client_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// FuzzDecodeCatalog ensures that a decoded catalog survives encoding and decoding
// unchanged.
func FuzzDecodeCatalog(f *testing.F) {
	f.Add(
		`{"format":1,"server":{"name":"a","version":"1"},"tools":[{"name":"t","inputSchema":{"type":"object"}}],` +
			`"resources":[{"uri":"x:\u2028"}]}`)
	f.Add(`{"format":1,"tools":[{"name":"t"},{"name":"t"}]}`)
	f.Add(
		`{"format":1,"prompts":[{"name":"p","arguments":[]}],"resourceTemplates":[{"uriTemplate":"x:{y}"}],` +
			`"extensions":{"a/b":{}}}`)
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		cat, err := client.DecodeCatalog([]byte(text))
		if err != nil {
			return
		}
		encoded, err := client.EncodeCatalog(cat)
		if err != nil {
			t.Fatal(err)
		}
		again, err := client.DecodeCatalog(encoded)
		if err != nil || again.Version() != cat.Version() {
			t.Errorf("%q became %s: %v", text, encoded, err)
		}
	})
}
