package apps_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

func TestMain(m *testing.M) { ruletest.Main(m, apps.Rules()) }
