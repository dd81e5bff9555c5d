//go:build !linux

package main

// releaseMemoryLater does nothing: it is only implemented on Linux.
func releaseMemoryLater() {}
