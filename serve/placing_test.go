package serve_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/race"
)

const placedThere = `slipway_cluster_sessions_placed_total{at="other"}`

// TestPlacement guards sessions with a process each: they start where the fewest run, whichever replica the
// client reaches, and are refused with the limit and when to try again once none may start anywhere.
func TestPlacement(t *testing.T) {
	race.SkipSlow(t)
	e := cluster.NewMemory()
	p := newPrograms()
	var limits []*client.Processes
	var all []*replica
	for range 3 {
		limits = append(limits, &client.Processes{Max: 4})
		all = append(all, serveSomeProcesses(t, e, p, client.FailoverRestart, limits[len(limits)-1]))
	}
	entry := all[0]
	begin := func(n int) (status int, header map[string]string) {
		status, session, _ := entry.post(t, nil, initialize)
		header = map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
		if status != http.StatusOK {
			return status, nil
		}
		if status, _, answer := entry.post(t, header, callOf(n, "count")); status != http.StatusOK ||
			!strings.Contains(answer, "call 1 ") {
			t.Fatalf("session %d: %d %s", n, status, answer)
		}
		return status, header
	}
	var sessions []map[string]string
	before := 0.0
	waitFor(t, "a session at each replica, which knows the load of the others", func() bool {
		before = entry.metric(t, placedThere)
		sessions = nil
		for n := range all {
			_, header := begin(n)
			sessions = append(sessions, header)
		}
		spread := true
		for _, l := range limits {
			spread = spread && l.Running() == 1
		}
		if spread {
			return true
		}
		for _, header := range sessions {
			entry.delete(t, header)
		}
		waitFor(t, "end of the processes", func() bool {
			return limits[0].Running()+limits[1].Running()+limits[2].Running() == 0
		})
		return false
	})
	for n := len(all); n < 12; n++ {
		if n == 11 { // there is room at one replica, for a session
			for range 20 {
				if _, session, answer := entry.post(t, nil, `{"method":"initialize"}`); session != "" {
					t.Errorf("not a request, and a session began: %s", answer)
				}
			}
		}
		status, header := begin(n)
		if status != http.StatusOK {
			t.Fatalf("session %d: %d", n, status)
		}
		sessions = append(sessions, header)
		lowest, highest := 12, 0
		for _, l := range limits {
			lowest, highest = min(lowest, l.Running()), max(highest, l.Running())
		}
		if highest-lowest > 1 {
			t.Errorf("after session %d, replicas run between %d and %d processes", n, lowest, highest)
		}
	}
	if now, _ := p.running(); now != 12 || limits[0].Running() != 4 {
		t.Errorf("%d processes, %d of them at the replica that clients reach; want 12, 4", now, limits[0].Running())
	}
	if placed := entry.metric(t, placedThere) - before; placed != 8 {
		t.Errorf("%v sessions were placed at other replicas, want 8", placed)
	}
	refused := entry.metric(t, "slipway_sessions_refused_total")
	resp, err := http.Post(entry.url, "application/json", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(answer), "4 run already at each of 3 replicas, the limit of --max-processes") {
		t.Errorf("a session too many: %d %s", resp.StatusCode, answer)
	}
	if n := entry.metric(t, "slipway_sessions_refused_total") - refused; n != 1 {
		t.Errorf("%v sessions were refused, want 1", n)
	}
	entry.delete(t, sessions[5])
	waitFor(t, "room for a session", func() bool {
		status, _ := begin(12)
		return status == http.StatusOK
	})
	if now, _ := p.running(); now > 12 {
		t.Errorf("%d processes, want at most 12", now)
	}
}

// TestPlacementAtFull guards sessions that are placed at a replica which has become full since it was asked: they start
// at another one.
func TestPlacementAtFull(t *testing.T) {
	race.SkipSlow(t)
	e := cluster.NewMemory()
	p := newPrograms()
	var limits []*client.Processes
	var all []*replica
	for _, most := range []int{1, 2, 8} {
		limits = append(limits, &client.Processes{Max: most})
		all = append(all, serveSomeProcesses(t, e, p, client.FailoverRestart, limits[len(limits)-1]))
	}
	begin := func(r *replica) map[string]string {
		status, session, answer := r.post(t, nil, initialize)
		header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
		if status != http.StatusOK {
			t.Fatalf("a session did not begin: %d %s", status, answer)
		}
		if status, _, answer := r.post(t, header, callOf(1, "count")); status != http.StatusOK {
			t.Fatalf("its first call: %d %s", status, answer)
		}
		return header
	}
	const nextRound = 1100 * time.Millisecond
	time.Sleep(nextRound)
	entry, small := all[0], all[1]
	begin(entry)
	running := func() int { return limits[0].Running() + limits[1].Running() + limits[2].Running() }
	before := running()
	for range 3 {
		var begun []map[string]string
		for limits[1].Running() < 2 {
			begun = append(begun, begin(small))
		}
		for range 4 { // entry has asked before, and takes small for the least loaded
			begun = append(begun, begin(entry))
		}
		for _, header := range begun {
			entry.delete(t, header)
		}
		waitFor(t, "the end of their processes", func() bool { return running() == before })
		time.Sleep(nextRound)
	}
}

// TestPlacementAvoidsLeaving guards that no session starts at a replica that is about to stop, although it has the
// fewest processes.
func TestPlacementAvoidsLeaving(t *testing.T) {
	e := cluster.NewMemory()
	p := newPrograms()
	a := serveProcesses(t, e, p, client.FailoverRestart)
	b := serveProcesses(t, e, p, client.FailoverRestart)
	waitFor(t, "a session at the other replica, whose load is known", func() bool {
		startSession(t, a, e)
		return a.metric(t, placedThere) > 0
	})
	before := a.metric(t, placedThere)
	b.stop()
	startSession(t, a, e)
	if n := a.metric(t, `slipway_cluster_hops_total{outcome="refused"}`); n != 0 {
		t.Errorf("%v requests were sent to the replica that has left", n)
	}
	if n := a.metric(t, placedThere); n != before {
		t.Errorf("%v sessions were placed at the other replica, want %v", n, before)
	}
}
