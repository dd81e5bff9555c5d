// Package race tells tests whether the race detector is on. It slows them down about ten
// times, allocates, and needs more memory per goroutine.
package race
