package serve

import (
	"bytes"
	"os"
	"strconv"
)

// usage returns how many files are open, and how much memory is resident; 0 for
// what is not known.
func usage() (descriptors int, memory int64) {
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		descriptors = len(entries) - 1 // one is that of reading
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			memory = pages * int64(os.Getpagesize())
		}
	}
	return descriptors, memory
}
