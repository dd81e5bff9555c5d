package zip

import (
	"strings"
	"testing"
)

// TestLongNamesInErrors guards that an entry with a long name does not fill a terminal.
func TestLongNamesInErrors(t *testing.T) {
	long := strings.Repeat("ä", 30_000)
	err := unsafef(RuleAmbiguous, long, "its own header names it %s", quoted(long+"x"))
	if n := len(err.Error()); n > 3*maxShownName {
		t.Errorf("the error has %d bytes, want at most %d", n, 3*maxShownName)
	}
	if got := quoted("short"); got != `"short"` {
		t.Errorf("quoted(short) = %s", got)
	}
}
