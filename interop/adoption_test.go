//go:build unix

package interop_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// markVariable is in the environment of the processes that a test counts.
const markVariable = "SLIPWAY_INTEROP_MARK"

// isolatedServer writes definitions of a go-sdk server with a process for each session, and returns their
// file and the mark of the processes.
func isolatedServer(t *testing.T, members string) (file, mark string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes are counted in /proc")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file = filepath.Join(dir, "servers.yaml")
	text := fmt.Sprintf("servers:\n  sdk:\n    command: %s\n    env: {%s: go-sdk, %s: %q}\n%s",
		self, serverVariable, markVariable, dir, members)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, markVariable + "=" + dir
}

// marked counts the processes with a mark, by their parent.
func marked(mark string) (byParent map[int]int, all int) {
	byParent = make(map[int]int)
	entries, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, entry := range entries {
		environ, err := os.ReadFile(entry)
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), mark) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(entry), "stat"))
		if err != nil {
			continue // it has just exited
		}
		var state string
		parent := 0
		_, _ = fmt.Sscan(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), &state, &parent)
		if state == "Z" {
			continue
		}
		byParent[parent]++
		all++
	}
	return byParent, all
}

// mustRunProcesses waits until as many processes with a mark run as wanted.
func mustRunProcesses(t *testing.T, mark, when string, want int) {
	t.Helper()
	byParent, all := marked(mark)
	for deadline := time.Now().Add(patience); all != want && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		byParent, all = marked(mark)
	}
	if all != want {
		t.Errorf("%s: %d processes run, by parent %v, want %d", when, all, byParent, want)
	}
}

// beginIsolated starts sessions at a replica, each with a process.
func beginIsolated(t *testing.T, r *replica, n int) (all []*rawSession) {
	t.Helper()
	for range n {
		s := &rawSession{endpoint: r.endpoint}
		if status := s.start(t); status != http.StatusOK {
			t.Fatalf("initialize: %d\n%s", status, r.log)
		}
		s.mustGreet(t)
		all = append(all, s)
	}
	return all
}

// greetings counts the calls of greet. The id of a request must not be used again in its session: one that was broken
// may still run.
var greetings atomic.Int64

func (s *rawSession) greet(t *testing.T) (status int, answer string) {
	return s.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"greet",`+
		`"arguments":{"name":"Ada"}}}`, 1000+greetings.Add(1)))
}

func (s *rawSession) mustGreet(t *testing.T) {
	t.Helper()
	if status, answer := s.greet(t); status != http.StatusOK || !strings.Contains(answer, "Hello, Ada") {
		t.Errorf("a call: %d %s", status, answer)
	}
}

// suspend stops a replica with SIGSTOP, and waits until it has stopped: it answers nothing any more.
func suspend(t *testing.T, r *replica) {
	t.Helper()
	pid := r.process.Process.Pid
	_ = r.process.Process.Signal(syscall.SIGSTOP)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if rest := stat[strings.LastIndexByte(string(stat), ')')+1:]; strings.HasPrefix(string(rest), " T") {
			return
		}
	}
	t.Fatal("the replica was not suspended")
}

// untilAdopted calls each session at a replica until it is answered there, and returns how long that took and
// how many calls were refused meanwhile. Calls that were in flight may be broken.
func untilAdopted(t *testing.T, all []*rawSession, at *replica) (longest time.Duration, refused, broken int64) {
	t.Helper()
	var mu sync.Mutex
	var waits, breaks atomic.Int64
	var clients sync.WaitGroup
	began := time.Now()
	for i, s := range all {
		clients.Go(func() {
			for {
				sent := time.Now()
				status, answer := s.at(at.endpoint).greet(t)
				if took := time.Since(sent); took > 3*time.Second {
					t.Errorf("session %d: a call took %v", i, took)
				}
				switch {
				case status == http.StatusOK && strings.Contains(answer, "Hello, Ada"):
					mu.Lock()
					longest = max(longest, time.Since(began))
					mu.Unlock()
					return
				case status == http.StatusServiceUnavailable:
					waits.Add(1)
				case status == http.StatusBadGateway:
					breaks.Add(1)
				default:
					t.Errorf("session %d: %d %s", i, status, answer)
					return
				}
				if time.Since(began) > patience {
					t.Errorf("session %d was not adopted: %d %s", i, status, answer)
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	clients.Wait()
	return longest, waits.Load(), breaks.Load()
}

// TestClusterProcesses kills, suspends and stops the replicas of sessions with a process each. Another one
// starts a process for each session, and in the end each has one: no process is left, and none runs twice.
func TestClusterProcesses(t *testing.T) { onEngines(t, checkClusterProcesses) }

func checkClusterProcesses(t *testing.T, engine string) {
	const sessions = 9
	file, mark := isolatedServer(t, "    isolate: session\n    failover: restart\n")
	c := startReplicas(t, engine, file)
	killed, suspended, other := c.members[0], c.members[1], c.members[2]
	time.Sleep(4500 * time.Millisecond) // a replica takes over once it has been a member for a lease
	all := beginIsolated(t, killed, sessions)
	for _, s := range all {
		s.at(other.endpoint).mustGreet(t) // forwarded
	}
	// One process of each replica lists what the server offers.
	mustRunProcesses(t, mark, "at the beginning", sessions+3)
	of := func(r *replica) int {
		byParent, _ := marked(mark)
		return byParent[r.process.Process.Pid] - 1
	}
	t.Logf("processes of sessions: %d, %d, %d", of(killed), of(suspended), of(other))
	for _, r := range c.members {
		if n := of(r); n < sessions/3 || n > sessions/3+1 {
			t.Errorf("a replica runs %d processes for %d sessions of three replicas", n, sessions)
		}
	}

	pid := killed.process.Process.Pid
	lost := of(killed)
	_ = killed.process.Process.Kill()
	<-killed.exited
	mustRunProcesses(t, mark, "after kill -9", sessions+2-lost)
	longest, refused, broken := untilAdopted(t, all, other)
	if refused == 0 {
		t.Error("no call waited for the lease of the replica that was killed")
	}
	t.Logf("kill -9: all sessions answered after %v; %d calls refused, %d broken", longest, refused, broken)
	mustRunProcesses(t, mark, "after the takeover", sessions+2)
	if byParent, _ := marked(mark); byParent[pid] > 0 {
		t.Errorf("%d processes of the replica that was killed run", byParent[pid])
	}

	lost = of(suspended)
	suspend(t, suspended)
	longest, refused, broken = untilAdopted(t, all, other)
	t.Logf("SIGSTOP: all sessions answered after %v; %d calls refused, %d broken", longest, refused, broken)
	mustRunProcesses(t, mark, "while a replica is suspended", sessions+2+lost)
	_ = suspended.process.Process.Signal(syscall.SIGCONT)
	mustRunProcesses(t, mark, "once it is back", sessions+2)
	if byParent, _ := marked(mark); byParent[suspended.process.Process.Pid] != 1 {
		t.Errorf("processes by parent: %v, want one at the replica that is back", byParent)
	}

	stop := make(chan struct{})
	var calls atomic.Int64
	var clients sync.WaitGroup
	for _, s := range all {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s.at(suspended.endpoint).mustGreet(t)
				calls.Add(1)
			}
		})
	}
	other.stop(t)
	before := calls.Load()
	for deadline := time.Now().Add(patience); calls.Load() < before+100 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	clients.Wait()
	t.Logf("SIGTERM: %d calls, none failed", calls.Load())
	mustRunProcesses(t, mark, "after the handover", sessions+1)
	for _, s := range all {
		req, _ := http.NewRequest(http.MethodDelete, suspended.endpoint, nil)
		s.headers(req)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	mustRunProcesses(t, mark, "after the sessions", 1)
	suspended.stop(t)
	mustRunProcesses(t, mark, "after the cluster", 0)
}

// TestClusterPlacement starts sessions with a process each at one of three replicas, many at a time. Each replica
// runs as many, as many as it may, and the next session is refused with the limit.
func TestClusterPlacement(t *testing.T) { onEngines(t, checkClusterPlacement) }

func checkClusterPlacement(t *testing.T, engine string) {
	const limit = 6
	file, mark := isolatedServer(t, "    isolate: session\n    failover: restart\n")
	c := startReplicas(t, engine, "--max-processes", fmt.Sprint(limit), file)
	time.Sleep(2500 * time.Millisecond) // each knows the load of the others
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			for range limit - 1 {
				s := &rawSession{endpoint: c.balancer.url}
				if status := s.start(t); status != http.StatusOK {
					t.Errorf("initialize: %d", status)
					return
				}
				s.mustGreet(t)
			}
		})
	}
	clients.Wait()
	byParent, _ := marked(mark)
	t.Logf("%d sessions, three at a time: processes by parent %v, with one each that lists", 3*(limit-1), byParent)
	for _, r := range c.members {
		if n := byParent[r.process.Process.Pid] - 1; n < limit-3 || n > limit {
			t.Errorf("a replica runs %d processes, want %d or nearly", n, limit-1)
		}
	}
	time.Sleep(1500 * time.Millisecond)
	for range 3 {
		s := &rawSession{endpoint: c.members[0].endpoint}
		if status := s.start(t); status != http.StatusOK {
			t.Errorf("initialize: %d", status)
		}
		s.mustGreet(t)
	}
	mustRunProcesses(t, mark, "with all that may run", 3*limit+3)
	time.Sleep(1500 * time.Millisecond)
	for _, r := range c.members {
		s := &rawSession{endpoint: r.endpoint}
		status, answer := s.post(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+
			`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, "--max-processes") {
			t.Errorf("a session too many: %d %s", status, answer)
		}
	}
}
