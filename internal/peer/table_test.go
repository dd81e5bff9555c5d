package peer_test

import (
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/internal/peer"
)

func TestTable(t *testing.T) {
	var table peer.Table[string]
	if table.Len() != 0 || table.Assigned(1) || table.Get(1) != "" {
		t.Errorf("the zero value holds %d requests", table.Len())
	}
	for i, name := range []string{"a", "b", "c"} {
		if id := table.Add(name); id != uint64(i+1) {
			t.Errorf("Add(%s) = %d, want %d", name, id, i+1)
		}
	}
	if got, ok := table.Take(2); !ok || got != "b" {
		t.Errorf("Take(2) = %q, %t", got, ok)
	}
	if _, ok := table.Take(2); ok || !table.Assigned(2) || table.Assigned(0) || table.Assigned(4) {
		t.Error("an id that was taken is assigned, but waits no more")
	}
	if got := slices.Sorted(table.All()); !slices.Equal(got, []string{"a", "c"}) || table.Get(3) != "c" {
		t.Errorf("All = %q", got)
	}
	if got := slices.Sorted(slices.Values(table.Drain())); !slices.Equal(got, []string{"a", "c"}) || table.Len() != 0 {
		t.Errorf("Drain = %q, %d left", got, table.Len())
	}
	if id := table.Add("d"); id != 4 {
		t.Errorf("Add after Drain = %d, want 4: ids are not reused", id)
	}
}
