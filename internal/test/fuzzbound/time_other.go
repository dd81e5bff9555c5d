//go:build !unix

package fuzzbound

import "time"

// start is the origin of the times, which are monotonic.
var start = time.Now()

// cpuTime returns the elapsed time, an upper bound of the CPU time of one thread.
func cpuTime() time.Duration { return time.Since(start) }
