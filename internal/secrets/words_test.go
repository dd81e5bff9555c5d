package secrets_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/tabletest"
)

func TestWords(t *testing.T) { tabletest.Check(t, "words.schema.json", "words.json") }
