package sitebuild_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild"
)

// TestMain verifies the rules of mapping files. Those of the inputs are verified in the
// packages that declare them.
func TestMain(m *testing.M) {
	ruletest.Main(m, slices.DeleteFunc(sitebuild.Rules(), func(r check.Rule) bool {
		return !strings.HasPrefix(r.ID, "mapping/")
	}))
}
