package mcpb

import (
	"os"
	"testing"
)

// BenchmarkVerifyCached compares the unpacked bundle that SLIPWAY_BENCH_BUNDLE names with
// its archive, as every start does.
func BenchmarkVerifyCached(b *testing.B) {
	name := os.Getenv("SLIPWAY_BENCH_BUNDLE")
	if name == "" {
		b.Skip("SLIPWAY_BENCH_BUNDLE names no bundle")
	}
	opts := &OpenOptions{CacheDir: b.TempDir()}
	for b.Loop() {
		c, err := openContent(b.Context(), name, opts)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.release(); err != nil {
			b.Fatal(err)
		}
	}
}
