package main

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestIdleIsolatedProcessesStop ensures that the process of a session, or of a principal,
// stops when it is idle. The next call of the same session starts another one.
func TestIdleIsolatedProcessesStop(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("starts processes")
	case runtime.GOOS == "windows":
		t.Skip("a process cannot be asked whether it exists")
	}
	for _, by := range []string{"session", "principal"} {
		t.Run(by, func(t *testing.T) {
			s := startIsolatedCommand(t, "asking", "[]", "{by: "+by+", idleMs: 100}")
			session := s.begin("ann")
			pids := make(map[int]bool)
			for range 2 {
				pid := s.pid("ann", session)
				if pids[pid] {
					t.Fatalf("process %d serves the call after its end", pid)
				}
				pids[pid] = true
				awaitExit(t, pid)
			}
			s.pid("bob", s.begin("bob"))
		})
	}
}

// awaitExit waits until a process has exited and been reaped.
func awaitExit(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	for late := time.Now().Add(patience); p.Signal(syscall.Signal(0)) == nil; {
		if time.Now().After(late) {
			t.Fatalf("the idle process %d is not stopped", pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// pid calls the tool that returns the process id.
func (s *isolatedServer) pid(who, session string) int {
	s.t.Helper()
	got, _ := s.post(who, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pid"}}`)
	m := regexp.MustCompile(`"text":"(\d+)"`).FindStringSubmatch(got)
	if m == nil {
		s.t.Fatalf("the call of %s: %s", who, strings.TrimSpace(got))
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}
