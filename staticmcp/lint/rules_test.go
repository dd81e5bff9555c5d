package lint_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/staticmcp/lint"
)

func TestMain(m *testing.M) { ruletest.Main(m, lint.Rules()) }
