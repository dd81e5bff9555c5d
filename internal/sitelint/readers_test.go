package sitelint_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/tabletest"
)

func TestTable(t *testing.T) { tabletest.Check(t, "readers.schema.json", "readers.json") }
