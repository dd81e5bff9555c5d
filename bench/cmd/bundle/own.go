package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// watchOwn monitors the private resident memory of a process: without the pages of
// program files, which the system shares and can drop at any time. The returned function
// stops the monitoring and returns the peak in bytes, or 0 if the system does not report
// it.
func watchOwn(pid int) (most func() int64) {
	stop, result := make(chan struct{}), make(chan int64, 1)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		high := int64(0)
		for {
			high = max(high, ownMemory(pid))
			select {
			case <-stop:
				result <- high
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-result
	}
}

// ownMemory returns the figure reported by Linux, and 0 on other systems.
func ownMemory(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}
