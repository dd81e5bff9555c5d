package cataloglint_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

func TestMain(m *testing.M) { ruletest.Main(m, cataloglint.Rules()) }
