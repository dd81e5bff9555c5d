package clients_test

import (
	"path/filepath"
	"testing"

	"github.com/slipway-mcp/slipway/stax/clients"
)

// BenchmarkPlan plans fifteen clients, starting from the text of the definitions.
func BenchmarkPlan(b *testing.B) {
	place := clients.Place{
		OS:        "linux",
		Home:      b.TempDir(),
		Dir:       b.TempDir(),
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	state, err := clients.OpenState(filepath.Join(b.TempDir(), "none"))
	if err != nil {
		b.Fatal(err)
	}
	var fifteen []clients.Client
	for _, c := range clients.All() {
		if len(c.Files.Project) > 0 && len(fifteen) < 15 {
			fifteen = append(fifteen, c)
		}
	}
	for b.Loop() {
		plan, _, err := clients.NewPlan(merged(b), state, &clients.PlanOptions{Place: place, Clients: fifteen})
		if err != nil || len(plan.Files) != 15 {
			b.Fatal(plan, err)
		}
	}
}
