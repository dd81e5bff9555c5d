package serve

import (
	"bytes"
	"os"
	"strconv"
)

// usage returns the number of open files and the resident memory; 0 means unknown.
func usage() (descriptors int, memory int64) {
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		descriptors = len(entries) - 1 // without the one for reading this folder
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			memory = pages * int64(os.Getpagesize())
		}
	}
	return descriptors, memory
}
