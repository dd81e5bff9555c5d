package lazyregexp_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	digits := lazyregexp.New(`^[0-9]+$`)
	if !digits().MatchString("42") || digits().MatchString("x") {
		t.Error("the expression does not match as written")
	}
	if first := digits(); digits() != first {
		t.Error("the expression is compiled twice")
	}
}

func TestInvalidFailsAtOnceInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepted an invalid expression")
		}
	}()
	lazyregexp.New(`(`)
}
