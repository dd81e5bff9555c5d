package openapi_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/openapi"
)

func TestMain(m *testing.M) { ruletest.Main(m, openapi.Rules()) }
