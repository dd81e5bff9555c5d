package table_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/table"
)

func TestMain(m *testing.M) { ruletest.Main(m, table.Rules()) }
