package clients_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/tabletest"
	"github.com/slipway-mcp/slipway/stax/clients"
)

func TestTable(t *testing.T) {
	files, err := filepath.Glob("table/*.json")
	if err != nil {
		t.Fatal(err)
	}
	tabletest.Check(t, "schema.json", files...)
	var ids []string
	for _, c := range clients.All() {
		ids = append(ids, c.ID)
	}
	if len(ids) != len(files) || !slices.IsSorted(ids) {
		t.Errorf("%d files, and the clients %v", len(files), ids)
	}
}
