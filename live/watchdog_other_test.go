//go:build !linux

package live_test

const cpuTimeIsKnown = false
