package open

import (
	"os"
	"runtime/debug"
)

const (
	// usualPercent is Go's default of the heap growth after which garbage is collected, and
	// frugalPercent what a build uses: a server has other uses for memory, and a build is rare.
	// With 10,000 pages, 36 needs 20 MB less than 51, for a tenth more work. It
	// is not a round number, so that no program chooses it.
	usualPercent  = 100
	frugalPercent = 36
)

// frugally calls build with less memory for more work of the garbage collector, and returns
// memory to the system after that. A program that sets GOGC, or another percentage by
// [debug.SetGCPercent], is left alone, also if it does so during the build. Of several builds at
// a time, the first to end also ends the saving of the others.
func frugally(build func() error) error {
	if os.Getenv("GOGC") != "" {
		return build()
	}
	switch before := debug.SetGCPercent(frugalPercent); before {
	case usualPercent, frugalPercent:
		defer debug.FreeOSMemory()
		defer func() {
			if now := debug.SetGCPercent(usualPercent); now != frugalPercent {
				debug.SetGCPercent(now)
			}
		}()
	default:
		debug.SetGCPercent(before)
	}
	return build()
}
