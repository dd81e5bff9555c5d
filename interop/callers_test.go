//go:build unix

package interop_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestClusterCallers serves a server with a process for each caller at three replicas: a caller has one in the whole
// cluster, whatever it sends where, also after its replica was killed, suspended or stopped.
func TestClusterCallers(t *testing.T) { onEngines(t, checkClusterCallers) }

func checkClusterCallers(t *testing.T, engine string) {
	file, mark := isolatedServer(t, "    isolate: principal\n    failover: restart\n")
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("ann "+tokenOf("ann")+"\nbob "+tokenOf("bob")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startReplicas(t, engine, "--auth-token-file", tokens, file)
	time.Sleep(4500 * time.Millisecond) // a replica takes over once it has been a member for a lease
	var first sync.WaitGroup
	for _, r := range c.members {
		for range 3 { // all at once
			first.Go(func() { mustGreetModern(t, r, "ann") })
		}
	}
	first.Wait()
	var ann []*rawSession
	for i, r := range c.members {
		s := &rawSession{endpoint: r.endpoint, token: tokenOf("ann")}
		if status := s.start(t); status != http.StatusOK {
			t.Fatalf("initialize: %d\n%s", status, r.log)
		}
		s.at(c.members[(i+1)%3].endpoint).mustGreet(t)
		ann = append(ann, s)
		mustGreetModern(t, r, "bob")
	}
	// One process of each replica lists what the server offers.
	mustRunProcesses(t, mark, "of two callers", 3+2)
	homes := func() (all []*replica, others []*replica) {
		byParent, _ := marked(mark)
		for _, r := range c.members {
			switch n := byParent[r.process.Process.Pid]; {
			case n > 1:
				all = append(all, r)
			case n == 1:
				others = append(others, r)
			}
		}
		return all, others
	}
	all, others := homes()
	if len(all) != 2 {
		t.Errorf("two callers have their processes at %d replicas, want 2", len(all))
	}
	killed, other := all[0], others[0]
	_ = killed.process.Process.Kill()
	<-killed.exited
	longest, refused, broken := untilAdopted(t, ann, other)
	t.Logf("kill -9: all sessions answered after %v; %d calls refused, %d broken", longest, refused, broken)
	untilGreeted(t, other, "bob")
	mustRunProcesses(t, mark, "after kill -9", 2+2)

	var suspended *replica
	for _, r := range c.members {
		if r != killed && r != other {
			suspended = r
		}
	}
	_, before := marked(mark)
	byParent, _ := marked(mark)
	lost := byParent[suspended.process.Process.Pid] - 1
	suspend(t, suspended)
	longest, refused, broken = untilAdopted(t, ann, other)
	t.Logf("SIGSTOP: all sessions answered after %v; %d calls refused, %d broken", longest, refused, broken)
	untilGreeted(t, other, "bob")
	mustRunProcesses(t, mark, "while a replica is suspended", before+lost)
	_ = suspended.process.Process.Signal(syscall.SIGCONT)
	mustRunProcesses(t, mark, "once it is back", before)
	if byParent, _ := marked(mark); byParent[suspended.process.Process.Pid] != 1 {
		t.Errorf("processes by parent: %v, want one at the replica that is back", byParent)
	}

	stop := make(chan struct{})
	var calls atomic.Int64
	var clients sync.WaitGroup
	call := func(do func()) {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				do()
				calls.Add(1)
			}
		})
	}
	for _, s := range ann {
		call(func() { s.at(suspended.endpoint).mustGreet(t) })
	}
	call(func() { mustGreetModern(t, suspended, "bob") })
	other.stop(t)
	after := calls.Load()
	for deadline := time.Now().Add(patience); calls.Load() < after+100 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	clients.Wait()
	if t.Failed() {
		t.Log(suspended.log)
	}
	t.Logf("SIGTERM: %d calls", calls.Load())
	mustRunProcesses(t, mark, "after the handover", 1+2)
	suspended.stop(t)
	mustRunProcesses(t, mark, "after the cluster", 0)
}

func tokenOf(caller string) string { return "token-of-" + caller + "-0000000000" }

// greetModern calls a tool as a client of 2026-07-28.
func greetModern(t *testing.T, r *replica, caller string) (status int, answer string) {
	req, err := http.NewRequest(http.MethodPost, r.endpoint, strings.NewReader(`{"jsonrpc":"2.0","id":7,`+
		`"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}`+modernMeta+`}}`))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	req.Header.Set("Authorization", "Bearer "+tokenOf(caller))
	return sendModern(req, "greet")
}

func mustGreetModern(t *testing.T, r *replica, caller string) {
	t.Helper()
	if status, answer := greetModern(t, r, caller); status != http.StatusOK || !strings.Contains(answer, "Hello, Ada") {
		t.Errorf("a call of %s: %d %s", caller, status, answer)
	}
}

// untilGreeted calls a tool until it is answered. Until the lease of a lost replica has ended, calls are refused.
func untilGreeted(t *testing.T, r *replica, caller string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		status, answer := greetModern(t, r, caller)
		switch {
		case status == http.StatusOK && strings.Contains(answer, "Hello, Ada"):
			return
		case status != http.StatusServiceUnavailable && status != http.StatusBadGateway, time.Now().After(deadline):
			t.Fatalf("a call of %s: %d %s", caller, status, answer)
		}
	}
}
