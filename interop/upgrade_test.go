//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// stop stops a replica as an orchestrator does, and waits until it has ended.
func (r *replica) stop(t *testing.T) {
	t.Helper()
	_ = r.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.exited:
	case <-time.After(patience):
		t.Fatalf("the replica does not stop:\n%s", r.log)
	}
	if code := r.process.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the replica ended with %d:\n%s", code, r.log)
	}
}

// previousSlipway builds the commit before this one. It returns the program of this commit if that one
// is not here, as in a clone of depth 1, or may not share a cluster with it: replacing replicas by equal
// ones is then what can be tested.
func previousSlipway(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := exec.Command("git", "-C", "..", "rev-parse", "--verify", "--quiet", "HEAD^").Run(); err != nil {
		t.Log("there is no commit before this one in the clone")
		return slipway
	}
	archive := filepath.Join(dir, "previous.tar")
	for _, c := range [][]string{
		{"git", "-C", "..", "archive", "-o", archive, "HEAD^"},
		{"tar", "-x", "-f", archive, "-C", dir},
		{"go", "build", "-C", dir, "-trimpath", "-o", "slipway-previous", "./cmd/slipway"},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	program := filepath.Join(dir, "slipway-previous")
	if then, now := clusterFormat(t, program), clusterFormat(t, slipway); then != now {
		t.Logf("the previous commit has cluster format %q, this one %q", then, now)
		return slipway
	}
	return program
}

// clusterFormat returns the version of the cluster format of a program, or "" if it has none.
func clusterFormat(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(program, "version", "--json").Output()
	if err != nil {
		t.Fatalf("version of %s: %v", program, err)
	}
	var build struct{ Formats map[string][]string }
	if err := json.Unmarshal(out, &build); err != nil {
		t.Fatal(err)
	}
	return strings.Join(build.Formats["cluster"], " ")
}

// load is what clients did while replicas came and went.
type load struct {
	calls, sessions atomic.Int64
	clients         sync.WaitGroup
}

// run starts clients, without a session and with one, each of which calls a tool until ctx ends.
// A session that is not known any more begins again, as the specification says; any other answer
// but the right one is an error.
func (l *load) run(ctx context.Context, t *testing.T, endpoint string) {
	for i := range 6 {
		l.clients.Go(func() {
			s := &rawSession{endpoint: endpoint}
			l.begin(t, s)
			for n := i; ctx.Err() == nil; n++ {
				status, answer := s.post(t, statusCall(n, ""))
				if status == http.StatusNotFound {
					l.begin(t, s)
					continue
				}
				l.judge(t, "with a session", n, status, answer)
				time.Sleep(5 * time.Millisecond)
			}
		})
		l.clients.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				status, answer := postModern(t, endpoint, statusCall(n, modernMeta))
				l.judge(t, "2026-07-28", n, status, answer)
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	for _, kind := range sdks() {
		c := kind.connect(t, "http", target{endpoint: endpoint}, v0728)
		l.clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				got, err := c.call(context.WithoutCancel(ctx), "get_status", object{"code": 400 + n%5})
				if err != nil || !strings.Contains(fmt.Sprint(got), fmt.Sprint(400+n%5)) {
					t.Errorf("%s: %v %v", kind.name, got, err)
				}
				l.calls.Add(1)
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
}

func (l *load) begin(t *testing.T, s *rawSession) {
	l.sessions.Add(1)
	if status := s.start(t); status != http.StatusOK {
		t.Errorf("initialize: %d", status)
	}
}

func (l *load) judge(t *testing.T, client string, n, status int, answer string) {
	l.calls.Add(1)
	if status != http.StatusOK || !strings.Contains(answer, fmt.Sprintf(`"id":%d,`, n)) ||
		!strings.Contains(answer, fmt.Sprint(400+n%5)) {
		t.Errorf("%s: call %d got %d %s", client, n, status, answer)
	}
}

const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

func statusCall(n int, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call",`+
		`"params":{"name":"get_status","arguments":{"code":%d}%s}}`, n, 400+n%5, meta)
}

// postModern sends a tools/call of 2026-07-28.
func postModern(t *testing.T, endpoint, body string) (status int, answer string) {
	req, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	return sendModern(req, "get_status")
}

// sendModern sends a request for a tools/call of 2026-07-28.
func sendModern(req *http.Request, tool string) (status int, answer string) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", v0728)
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", tool)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// TestClusterUpgrade replaces the three replicas of the previous commit by those of this one, adds
// a fourth and removes two, while clients call. No call of a client that follows the specification
// fails, also while both versions serve.
func TestClusterUpgrade(t *testing.T) { onEngines(t, checkClusterUpgrade) }

func checkClusterUpgrade(t *testing.T, engine string) {
	previous := previousSlipway(t)
	args := []string{"--drain-delay", "1s", "../examples/http-reference"}
	b := newRotation(t)
	start := func(program string) *replica {
		r := startReplica(t, program, engine, args...)
		b.follow(t, r)
		return r
	}
	var old []*replica
	for range 3 {
		old = append(old, start(previous))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var l load
	l.run(ctx, t, b.url)
	pause := func() { time.Sleep(700 * time.Millisecond) }
	pause()
	var current []*replica
	for _, r := range old {
		current = append(current, start(slipway))
		pause() // both versions serve
		r.stop(t)
	}
	current = append(current, start(slipway))
	pause()
	for _, r := range current[:2] {
		r.stop(t)
	}
	pause()
	cancel()
	l.clients.Wait()
	failed := int64(0)
	for _, r := range slices.Concat(old, current) {
		failed += r.failed.Load()
	}
	t.Logf("%d calls, %d sessions, %d requests that a replica did not answer",
		l.calls.Load(), l.sessions.Load(), failed)
	if l.calls.Load() < 500 {
		t.Error("too little happened for this test to mean something")
	}
	if n := l.sessions.Load(); n != 6 {
		t.Errorf("%d sessions were begun, want one for each of 6 clients", n)
	}
}

// TestClusterUpgradeProcesses is TestClusterUpgrade for sessions that continue with a new process: those with a process
// each, and those of callers with one process each.
func TestClusterUpgradeProcesses(t *testing.T) {
	for _, isolate := range []string{"session", "principal"} {
		t.Run(isolate, func(t *testing.T) { checkUpgradeProcesses(t, isolate) })
	}
}

func checkUpgradeProcesses(t *testing.T, isolate string) {
	const sessions = 6
	file, mark := isolatedServer(t, "    isolate: "+isolate+"\n    failover: restart\n")
	previous, engine := previousSlipway(t), startNATS(t)
	b := newRotation(t)
	start := func(program string) *replica {
		r := startReplica(t, program, engine, "--drain-delay", "1s", file)
		b.follow(t, r)
		return r
	}
	var old []*replica
	for range 3 {
		old = append(old, start(previous))
	}
	stop := make(chan struct{})
	var calls atomic.Int64
	var clients sync.WaitGroup
	for _, s := range beginIsolated(t, &replica{endpoint: b.url}, sessions) {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s.mustGreet(t)
				calls.Add(1)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	var current []*replica
	for _, r := range old {
		current = append(current, start(slipway))
		time.Sleep(700 * time.Millisecond) // both versions serve
		r.stop(t)
	}
	time.Sleep(700 * time.Millisecond)
	close(stop)
	clients.Wait()
	t.Logf("%d calls, none failed", calls.Load())
	if calls.Load() < 100 {
		t.Error("too little happened for this test to mean something")
	}
	want := len(current) + sessions // one of each replica lists what the server offers
	if isolate == "principal" {
		want = len(current) + 1
	}
	mustRunProcesses(t, mark, "after the upgrade", want)
}
