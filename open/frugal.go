package open

import (
	"runtime/debug"

	"github.com/slipway-mcp/slipway/internal/frugal"
)

// buildGrowth is by how much the heap of a server grows during a build before garbage is collected: a
// server has other uses for memory, and a build is rare.
const buildGrowth = 28 << 20

// frugally calls build with little garbage, and returns memory to the system after that.
func frugally(build func() error) error {
	defer debug.FreeOSMemory()
	return frugal.Run(buildGrowth, build)
}
