package docs_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

func TestMain(m *testing.M) { ruletest.Main(m, docs.Rules()) }
