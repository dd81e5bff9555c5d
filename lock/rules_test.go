package lock_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/lock"
)

func TestMain(m *testing.M) { ruletest.Main(m, lock.Rules()) }
