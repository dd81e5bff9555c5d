//go:build unix

package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A replicas is a cluster of three slipway processes on an engine, behind a load balancer.
type replicas struct {
	balancer *rotation
	members  []*replica
}

// replica is one of them.
type replica struct {
	endpoint string
	process  *exec.Cmd
	log      *lockedBuffer
	proxy    *httputil.ReverseProxy // to the replica
	served   atomic.Int64           // requests that a load balancer sent to it
	failed   atomic.Int64           // requests that it did not answer
	exited   chan struct{}          // closed once the process has ended
}

// startReplica starts a program as a replica of the cluster on an engine. It is killed when the
// test ends.
func startReplica(t *testing.T, program, engine string, args ...string) *replica {
	t.Helper()
	r := &replica{
		process: exec.Command(program, append([]string{"serve", "--addr", "127.0.0.1:0", "--cluster", engine}, args...)...),
		log:     new(lockedBuffer),
		exited:  make(chan struct{}),
	}
	stderr, err := r.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.process.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		<-read
		_ = r.process.Wait()
		close(r.exited)
	}()
	t.Cleanup(func() {
		_ = r.process.Process.Signal(syscall.SIGCONT)
		_ = r.process.Process.Kill()
		<-r.exited
	})
	found := make(chan string, 1)
	go func() {
		findEndpoint(io.TeeReader(stderr, r.log), found)
		close(read)
	}()
	select {
	case r.endpoint = <-found:
	case <-time.After(patience):
		t.Fatalf("the replica did not start:\n%s", r.log)
	}
	base, _ := url.Parse(strings.TrimSuffix(r.endpoint, "/mcp"))
	r.proxy = &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 100},
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		ErrorHandler: func(w http.ResponseWriter, request *http.Request, err error) {
			if cause := context.Cause(request.Context()); cause != nil && !errors.Is(cause, errDown) {
				return // the client has gone
			}
			r.failed.Add(1)
			t.Logf("%s: %v", request.Header.Get("Mcp-Method"), err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	return r
}

// startReplicas starts a cluster on the engine at a URL, which serves source until the test ends.
func startReplicas(t *testing.T, engine string, source ...string) *replicas {
	t.Helper()
	c := &replicas{balancer: newRotation(t)}
	for range 3 {
		r := startReplica(t, slipway, engine, source...)
		c.members = append(c.members, r)
		c.balancer.add(r)
	}
	return c
}

// startRedis starts a Redis server and returns its URL.
func startRedis(t *testing.T) string {
	return "redis://" + startEngine(t, "redis-server", "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
}

// startNATS starts a NATS server, which is built from its Go module, and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	program, err := exec.Command("go", "tool", "-n", "nats-server").Output()
	if err != nil {
		t.Fatalf("nats-server was not built: %v", err)
	}
	return "nats://" + startEngine(t, strings.TrimSpace(string(program)),
		"--jetstream", "--store_dir", t.TempDir(), "--addr", "127.0.0.1")
}

// startEngine starts a program with a port and other arguments, and returns its address.
func startEngine(t *testing.T, program string, args ...string) string {
	t.Helper()
	addr := freeAddress(t)
	_, port, _ := net.SplitHostPort(addr)
	runProgram(t, exec.Command(program, append(args, "--port", port)...))
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return addr
		}
	}
	t.Fatalf("%s did not start", program)
	return ""
}

// onEngines runs a test on each engine.
func onEngines(t *testing.T, test func(t *testing.T, engine string)) {
	t.Run("nats", func(t *testing.T) { test(t, startNATS(t)) })
	t.Run("redis", func(t *testing.T) { test(t, startRedis(t)) })
}

// mustSpread fails if a replica served nothing.
func (c *replicas) mustSpread(t *testing.T) {
	t.Helper()
	for i, r := range c.members {
		if r.served.Load() == 0 {
			t.Errorf("replica %d served nothing", i)
		}
	}
}

// TestClusterClients lets every client read a whole site from three replicas, with every
// version and no sticky sessions.
func TestClusterClients(t *testing.T) { onEngines(t, checkClusterClients) }

func checkClusterClients(t *testing.T, engine string) {
	s, wrong := referenceSite(t)
	c := startReplicas(t, engine, s.dir)
	for _, kind := range sdks() {
		for _, version := range versions() {
			t.Run(kind.name+"/"+version, func(t *testing.T) {
				client := kind.connect(t, "http", target{endpoint: c.balancer.url}, version)
				checkSite(t, client, version, s, wrong)
			})
		}
	}
	t.Run("typescript", func(t *testing.T) {
		tools := nodeTools(t)
		for _, ts := range tsClients() {
			t.Run(ts.name, func(t *testing.T) {
				tools.carryOut(t, plan{
					Client:   ts.client,
					Mode:     ts.mode,
					Version:  ts.version,
					Endpoint: c.balancer.url,
					Site:     s.plan(),
					Wrong:    wrong.plan(),
					Completion: object{
						"ref":      object{"type": "ref/prompt", "name": "choose_method"},
						"argument": object{"name": "task", "value": "re"},
						"values":   []string{"read", "remove", "replace"},
					},
				})
			})
		}
	})
	c.mustSpread(t)
}

// TestClusterQuestions lets a go-sdk server behind each replica ask a go-sdk client and report
// progress: the answer to a question arrives at another replica than the call.
func TestClusterQuestions(t *testing.T) { onEngines(t, checkClusterQuestions) }

func checkClusterQuestions(t *testing.T, engine string) {
	b := stdioServer(t, "go-sdk")
	c := startReplicas(t, engine, append(b.before, b.after...)...)
	for _, version := range []string{v0618, v1125} {
		t.Run(version, func(t *testing.T) {
			askAndProgress(t, c.balancer.url, version, 4)
		})
	}
	t.Run("resume", func(t *testing.T) { checkResume(t, c) })
}

// checkResume reads a stream at one replica and the rest of it again at another.
func checkResume(t *testing.T, c *replicas) {
	s := &rawSession{endpoint: c.members[0].endpoint}
	if status := s.start(t); status != http.StatusOK {
		t.Fatalf("initialize: %d", status)
	}
	_, body := s.at(c.members[1].endpoint).post(t, `{"jsonrpc":"2.0","id":5,"method":"tools/call",`+
		`"params":{"name":"steps","arguments":{},"_meta":{"progressToken":"p"}}}`)
	first := ""
	events := 0
	for line := range strings.Lines(body) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			if first == "" {
				first = strings.TrimSpace(id)
			}
			events++
		}
	}
	if events < 4 {
		t.Fatalf("%d events with an id, want three steps and the answer:\n%s", events, body)
	}
	req, err := http.NewRequestWithContext(limited(t), http.MethodGet, c.members[2].endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.headers(req)
	req.Header.Set("Last-Event-ID", first)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var rest strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"result"`) {
		fmt.Fprintln(&rest, lines.Text())
	}
	if n := strings.Count(rest.String(), "notifications/progress"); resp.StatusCode != http.StatusOK || n < 2 ||
		!strings.Contains(lines.Text(), `"id":5`) {
		t.Errorf("resumed at another replica: %d, %d steps, then %q", resp.StatusCode, n, lines.Text())
	}
}

// rawSession is a session of 2025-06-18 without a library.
type rawSession struct{ endpoint, id, token string }

func (s *rawSession) at(endpoint string) *rawSession { return &rawSession{endpoint, s.id, s.token} }

func (s *rawSession) headers(req *http.Request) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if req.Method == http.MethodGet {
		req.Header.Set("Accept", "text/event-stream")
	}
	req.Header.Set("Mcp-Protocol-Version", v0618)
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	if s.id != "" {
		req.Header.Set("Mcp-Session-Id", s.id)
	}
}

// post sends a message, and returns status 0 if there is no answer.
func (s *rawSession) post(t *testing.T, body string) (status int, answer string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	s.headers(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		s.id = id
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func (s *rawSession) start(t *testing.T) (status int) {
	s.id = ""
	status, _ = s.post(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
		`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if status == http.StatusOK {
		s.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return status
}

// TestClusterFailover suspends one replica and kills another while both get calls. Every call
// ends within three seconds, no answer is wrong, and 99 of 100 interruptions last less than
// a second, including the new session.
func TestClusterFailover(t *testing.T) { onEngines(t, checkClusterFailover) }

func checkClusterFailover(t *testing.T, engine string) {
	p99, longest := measureFailover(t, engine)
	if p99 > time.Second {
		t.Errorf("failover p99 %v, want at most 1s", p99)
	}
	if longest > 3*time.Second {
		t.Errorf("longest call %v, want at most 3s", longest)
	}
}

// measureFailover returns how long interruptions last, and the longest call.
func measureFailover(t *testing.T, engine string) (p99, longest time.Duration) {
	c := startReplicas(t, engine, "../examples/http-reference")
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var gaps []time.Duration
	calls := 0
	var clients sync.WaitGroup
	for i := range 12 {
		clients.Go(func() {
			s := &rawSession{endpoint: c.balancer.url}
			for s.start(t) != http.StatusOK && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			var broken time.Time
			for n := i; ctx.Err() == nil; n += 12 {
				code := 400 + n%5
				began := time.Now()
				status, answer := s.post(t, fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_status","arguments":{"code":%d}}}`, n, code))
				took := time.Since(began)
				mu.Lock()
				calls++
				longest = max(longest, took)
				mu.Unlock()
				switch {
				case status == http.StatusOK:
					if !json.Valid([]byte(answer)) || !strings.Contains(answer, fmt.Sprintf(`"id":%d,`, n)) ||
						!strings.Contains(answer, fmt.Sprint(code)) {
						t.Errorf("wrong answer to %d: %s", n, answer)
					}
					if !broken.IsZero() {
						mu.Lock()
						gaps = append(gaps, time.Since(broken))
						mu.Unlock()
						broken = time.Time{}
					}
				default:
					if broken.IsZero() {
						broken = began
					}
					s.start(t)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	// The replica gets requests until the load balancer checks it again.
	fault := func(r *replica, signal syscall.Signal) {
		if err := r.process.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		time.Sleep(checkInterval)
		c.balancer.shut(r)
	}
	time.Sleep(time.Second)
	fault(c.members[0], syscall.SIGSTOP)
	time.Sleep(6 * time.Second)
	_ = c.members[0].process.Process.Signal(syscall.SIGCONT)
	time.Sleep(time.Second)
	c.balancer.add(c.members[0])
	time.Sleep(time.Second)
	fault(c.members[1], syscall.SIGKILL)
	time.Sleep(2 * time.Second)
	cancel()
	clients.Wait()
	slices.Sort(gaps)
	if len(gaps) < 12 {
		t.Fatalf("%d interruptions of %d calls: want at least one per client in two faults", len(gaps), calls)
	}
	p99 = gaps[min(len(gaps)-1, len(gaps)*99/100)]
	t.Logf("%d calls, %d interruptions: median %v, p99 %v; longest call %v",
		calls, len(gaps), gaps[len(gaps)/2], p99, longest)
	return p99, longest
}

// TestClusterLimit measures a rate limit over three replicas on a real Redis server.
func TestClusterLimit(t *testing.T) {
	const rate, burst = 50, 100
	t.Setenv("SLIPWAY_STATE_DIR", t.TempDir())
	c := startReplicas(t, startRedis(t), "--rate-limit", fmt.Sprint(rate), "--rate-burst", fmt.Sprint(burst),
		"../examples/http-reference")
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	admitted, refused := 0, 0
	began := time.Now()
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < 10*time.Second {
		<-tick.C
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, c.balancer.url, bytes.NewReader([]byte(call)))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Protocol-Version", v0728)
		req.Header.Set("Mcp-Method", "tools/list")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			admitted++
		case http.StatusTooManyRequests:
			refused++
		default:
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	want := burst + rate*time.Since(began).Seconds()
	t.Logf("admitted %d, refused %d; one bucket admits %.0f: %.4f", admitted, refused, want, float64(admitted)/want)
	if refused == 0 || float64(admitted) > 1.03*want || float64(admitted) < 0.95*want {
		t.Errorf("admitted %d, want about %.0f", admitted, want)
	}
	checkPs(t, c)
}

// checkPs suspends a replica and lists the cluster as an operator does.
func checkPs(t *testing.T, c *replicas) {
	_ = c.members[1].process.Process.Signal(syscall.SIGSTOP)
	defer func() { _ = c.members[1].process.Process.Signal(syscall.SIGCONT) }()
	var listed struct {
		Clusters []struct {
			Replicas []struct {
				ID, Definitions, Error string
				Self                   bool
				Differs                []string
			}
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "ps", "--cluster", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed.Clusters) != 1 || len(listed.Clusters[0].Replicas) != 3 {
		t.Fatalf("ps --cluster = %+v, want one cluster of three", listed)
	}
	silent, self := 0, 0
	for _, r := range listed.Clusters[0].Replicas {
		if r.ID == "" || r.Definitions == "" || len(r.Differs) > 0 {
			t.Errorf("replica %+v", r)
		}
		if r.Error != "" {
			silent++
		}
		if r.Self {
			self++
		}
	}
	if silent != 1 || self != 1 {
		t.Errorf("ps --cluster = %+v, want one that does not answer, and one that reports", listed)
	}
}
