//go:build !unix

package fuzzbound

import "time"

var start = time.Now()

// cpuTime returns the time that has passed: an upper bound.
func cpuTime() time.Duration { return time.Since(start) }
