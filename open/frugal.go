package open

import "github.com/slipway-mcp/slipway/internal/frugal"

// buildGrowth is by how much the heap of a server grows during a build before garbage is collected: a
// server has other uses for memory, and a build is rare.
const buildGrowth = 28 << 20

// frugally calls build with little garbage, and returns memory to the system after that. A program that uses this
// library and sets the percentage of the garbage collector is left alone.
func frugally(build func() error) error {
	defer frugal.Free()
	return frugal.Run(buildGrowth, build)
}
