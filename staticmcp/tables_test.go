package staticmcp_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/tabletest"
)

func TestTables(t *testing.T) {
	for _, name := range []string{"hosts", "readers"} {
		tabletest.Check(t, name+".schema.json", name+".json")
	}
}
