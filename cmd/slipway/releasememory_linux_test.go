package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestReleaseMemory ensures that memory needed only at startup is released.
func TestReleaseMemory(t *testing.T) {
	before := residentFile(t)
	releaseMemory()
	if after := residentFile(t); after > before/2 {
		t.Errorf("%d of %d KiB of files are resident still, want less than half", after, before)
	}
}

func residentFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
