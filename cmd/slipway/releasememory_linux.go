package main

import (
	"bufio"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// releaseMemoryLater releases memory that only the startup needs: soon, before clients
// connect, and again when upstream servers have started. Each package of the program
// starts with a few instructions of its own, and for each of them the system maps 64 KiB
// of the file: 12 MB that count as resident and are never used again. Pages that are
// still needed are reloaded from the file cache on access.
func releaseMemoryLater() {
	for _, later := range []time.Duration{50 * time.Millisecond, time.Second} {
		time.AfterFunc(later, releaseMemory)
	}
}

// releaseMemory drops the pages of the program's file from this process's memory. It skips all
// mappings with a modified page, such as one changed by relocation.
func releaseMemory() {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var ours string // device and inode of the program
	var from, to uint64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		begin, end, ok := strings.Cut(fields[0], "-")
		if ok && len(fields) >= 5 {
			from, to = hex(begin), hex(end)
			file := fields[3] + " " + fields[4]
			here := uint64(reflect.ValueOf(releaseMemory).Pointer())
			if from <= here && here < to {
				ours = file
			}
			if strings.Contains(fields[1], "w") || ours == "" || file != ours {
				from = to
			}
		} else if fields[0] == "Anonymous:" && fields[1] == "0" && from < to {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(from), uintptr(to-from), syscall.MADV_DONTNEED)
		}
	}
}

// hex parses a number of smaps. It returns 0 on error, an address that no part of a
// program has.
func hex(digits string) uint64 {
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0
	}
	return n
}
