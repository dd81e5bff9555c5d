package open

import (
	"os"
	"runtime/debug"
	"sync"
)

// frugalPercent is the heap growth, in percent, after which garbage is collected during a build:
// a server has other uses for memory, and a build is rare.
const frugalPercent = 50

// builds counts the builds of this process that are running. The garbage collector is one for
// all of them.
var builds struct {
	mu      sync.Mutex // guards what follows
	running int
	percent int // before the first of them
}

// frugally calls build with less memory for more work of the garbage collector, and returns
// memory to the system after that. GOGC, if it is set, decides instead.
func frugally(build func() error) error {
	if os.Getenv("GOGC") != "" {
		return build()
	}
	builds.mu.Lock()
	if builds.running++; builds.running == 1 {
		builds.percent = debug.SetGCPercent(frugalPercent)
	}
	builds.mu.Unlock()
	defer func() {
		builds.mu.Lock()
		defer builds.mu.Unlock()
		if builds.running--; builds.running == 0 {
			debug.SetGCPercent(builds.percent)
			debug.FreeOSMemory()
		}
	}()
	return build()
}
