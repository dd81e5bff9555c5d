//go:build linux && figures

package interop_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClusterFigures measures what docs/cluster-tests.md says of a cluster, in real processes. CPU is
// that of the replicas alone, so that the load of the machine matters little.
func TestClusterFigures(t *testing.T) {
	t.Run("hop", measureHop)
	t.Run("failover", func(t *testing.T) {
		p99, longest := measureFailover(t, startNATS(t))
		figure(t, "failover p99", fmt.Sprint(p99.Round(time.Millisecond)), "1 s", p99 < time.Second)
		figure(t, "longest call", fmt.Sprint(longest.Round(time.Millisecond)), "3 s", longest < 3*time.Second)
	})
	t.Run("sessions", measureSessions)
}

// figure prints a row of the table.
func figure(t *testing.T, name, got, goal string, reached bool) {
	t.Helper()
	fmt.Printf("| %s | %s | %s |\n", name, got, goal)
	if !reached {
		t.Errorf("%s is %s, want at most %s", name, got, goal)
	}
}

// cpu returns the CPU time that a replica has used.
func (r *replica) cpu(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// resident returns the resident memory of a replica in bytes.
func (r *replica) resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kilobytes << 10
}

// measureHop compares calls at the owner of a session with calls that another replica forwards to it.
func measureHop(t *testing.T) {
	const calls, callers = 20_000, 8
	c := startReplicas(t, startNATS(t), "../examples/http-reference")
	owner, other := c.members[0], c.members[1]
	s := &rawSession{endpoint: owner.endpoint}
	if status := s.start(t); status != http.StatusOK {
		t.Fatalf("initialize: %d", status)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	run := func(at *replica) (each time.Duration) {
		before := owner.cpu(t) + other.cpu(t)
		var next atomic.Int64
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for next.Add(1) <= calls {
					req, _ := http.NewRequest(http.MethodPost, at.endpoint, strings.NewReader(statusCall(1, "")))
					s.headers(req)
					resp, err := client.Do(req)
					if err != nil || resp.StatusCode != http.StatusOK {
						t.Errorf("call: %v %v", resp, err)
						return
					}
					buf := make([]byte, 4<<10)
					for err == nil {
						_, err = resp.Body.Read(buf)
					}
					_ = resp.Body.Close()
				}
			})
		}
		group.Wait()
		return (owner.cpu(t) + other.cpu(t) - before) / calls
	}
	run(owner) // warm up
	run(other)
	local, hop := run(owner), run(other)
	ratio := float64(hop) / float64(local)
	figure(t, "CPU of a call at the owner of its session", fmt.Sprint(local.Round(time.Microsecond)), "", true)
	figure(t, "CPU of a call through another replica, both replicas", fmt.Sprint(hop.Round(time.Microsecond)), "", true)
	figure(t, "the second as a multiple of the first", fmt.Sprintf("%.2f", ratio), "2.2", ratio <= 2.2)
	average := (float64(local) + 2*float64(hop)) / 3
	figure(t, "throughput of three replicas, estimated from CPU: sessions, any replica",
		fmt.Sprintf("%.1f times one", 3*float64(local)/average), "", true)
}

// measureSessions begins 100,000 sessions at three replicas, and lets them idle.
func measureSessions(t *testing.T) {
	const sessions, callers = 100_000, 12
	// One principal may have a quarter of the sessions of a replica.
	var tokens strings.Builder
	for i := range callers {
		fmt.Fprintf(&tokens, "user%d %s-%d\n", i, goodToken, i)
	}
	tokens.WriteString("operator " + goodToken + "\n") // reads the metrics
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startReplicas(t, startNATS(t), "--auth-token-file", file, "../examples/http-reference")
	total := func() (sum int64) {
		for _, r := range c.members {
			sum += r.resident(t)
		}
		return sum
	}
	empty := total()
	var next atomic.Int64
	var group sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	for i := range callers {
		group.Go(func() {
			for n := next.Add(1); n <= sessions; n = next.Add(1) {
				req, _ := http.NewRequest(http.MethodPost, c.members[n%3].endpoint, strings.NewReader(
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
						`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`))
				(&rawSession{}).headers(req)
				req.Header.Set("Authorization", fmt.Sprintf("Bearer %s-%d", goodToken, i))
				resp, err := client.Do(req)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("initialize: %v %v", resp, err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	group.Wait()
	begun := 0.0
	for _, r := range c.members {
		begun += r.metric(t, sessionsMetric)
	}
	if begun != sessions {
		t.Errorf("%v sessions, want %d", begun, sessions)
	}
	time.Sleep(20 * time.Second) // until the heap of the replicas has shrunk
	full := total()
	figure(t, "resident memory of three replicas without sessions", fmt.Sprintf("%d MB", empty>>20), "", true)
	figure(t, "resident memory with 100,000 idle sessions", fmt.Sprintf("%d MB", full>>20), "200 MB", full < 200<<20)
}
