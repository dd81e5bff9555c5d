package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
)

const cpuTimeIsKnown = true

// TestStoppedProcess ensures that a process stopped by a signal is not reported as ready,
// and is replaced. A call that it has not read is answered by its replacement.
func TestStoppedProcess(t *testing.T) {
	for _, role := range []string{"server", "wrapper"} {
		t.Run(role, func(t *testing.T) {
			leaks(t)
			c := command(t, role)
			c.StopTimeout = 100 * time.Millisecond
			src := open(t, c, &client.Options{Timeouts: client.Timeouts{Hang: 2 * time.Second, Ping: 300 * time.Millisecond}})
			pid := pidOf(t, src)
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			for range 100 { // Linux reports it immediately
				if st := src.State(); st.PID == src.State().PID && st.Starts == 1 && st.Phase == client.Ready {
					time.Sleep(time.Millisecond) // until the signal is delivered
					continue
				}
				break
			}
			if st := src.State(); st.Starts == 1 && st.Phase == client.Ready {
				t.Errorf("State of a stopped process = %+v", st)
			}
			until(t, "all threads are stopped", nil, nil, func() bool { return threadsStopped(pid) }) // one may still read
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					// A launcher's child may outlive it for a moment, during which it is
					// unknown what it has read.
					_, err := call(t, src, "echo", `{"text":"hi"}`)
					if err != nil && (role == "server" || !strings.Contains(err.Error(), "stopped by a signal")) {
						t.Errorf("a call to a stopped process ends with %v", err)
					}
				})
			}
			all.Wait()
			until(t, "the process is replaced", nil, nil, func() bool {
				st := src.State()
				return st.Starts == 2 && st.Phase == client.Ready
			})
			if now := pidOf(t, src); now == pid {
				t.Error("the stopped process is there still")
			}
		})
	}
}

// threadsStopped reports whether each thread of a process is stopped by a signal.
func threadsStopped(pid int) bool {
	states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(states) == 0 {
		return false
	}
	for _, file := range states {
		text, _ := os.ReadFile(file)
		if _, rest, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return true
}
