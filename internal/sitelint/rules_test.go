package sitelint_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitelint"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

func TestMain(m *testing.M) { ruletest.Main(m, sitelint.Rules()) }
