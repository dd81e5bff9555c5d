//go:build unix

package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// A replicas is a cluster of three slipway processes on a Redis server, behind a load balancer
// that sends each request to the next one.
type replicas struct {
	balancer  string
	endpoints []string // of each replica
	processes []*exec.Cmd
	served    []atomic.Int64
	out       atomic.Int64 // the index of a replica out of rotation, plus 1
}

// startReplicas starts a cluster that serves source until the test ends.
func startReplicas(t *testing.T, source ...string) *replicas {
	t.Helper()
	engine := startRedis(t)
	c := &replicas{served: make([]atomic.Int64, 3)}
	proxies := make([]*httputil.ReverseProxy, 3)
	for i := range proxies {
		cmd := exec.Command(slipway, append([]string{"serve", "--addr", "127.0.0.1:0", "--cluster", engine}, source...)...)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		log := new(lockedBuffer)
		found := make(chan string, 1)
		go findEndpoint(io.TeeReader(stderr, log), found)
		select {
		case endpoint := <-found:
			c.endpoints = append(c.endpoints, endpoint)
		case <-time.After(patience):
			t.Fatalf("replica %d did not start:\n%s", i, log)
		}
		c.processes = append(c.processes, cmd)
		base, _ := url.Parse(strings.TrimSuffix(c.endpoints[i], "/mcp"))
		proxies[i] = &httputil.ReverseProxy{
			FlushInterval: -1,
			Transport:     &http.Transport{MaxIdleConnsPerHost: 100},
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
			ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		}
	}
	var next atomic.Int64
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(next.Add(1) % 3)
		if int(c.out.Load()) == i+1 {
			i = (i + 1) % 3
		}
		c.served[i].Add(1)
		_ = http.NewResponseController(w).EnableFullDuplex() // see forward in package serve
		proxies[i].ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		balancer.CloseClientConnections()
		balancer.Close()
	})
	c.balancer = balancer.URL + "/mcp"
	return c
}

// startRedis starts a Redis server and returns its URL.
func startRedis(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return "redis://" + addr
		}
	}
	t.Fatal("Redis did not start")
	return ""
}

// mustSpread fails if a replica served nothing.
func (c *replicas) mustSpread(t *testing.T) {
	t.Helper()
	for i := range c.served {
		if c.served[i].Load() == 0 {
			t.Errorf("replica %d served nothing", i)
		}
	}
}

// TestClusterClients lets every client read a whole site from three replicas, with every
// version and no sticky sessions.
func TestClusterClients(t *testing.T) {
	s, wrong := referenceSite(t)
	c := startReplicas(t, s.dir)
	for _, kind := range sdks() {
		for _, version := range versions() {
			t.Run(kind.name+"/"+version, func(t *testing.T) {
				client := kind.connect(t, "http", target{endpoint: c.balancer}, version)
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
					Endpoint: c.balancer,
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
func TestClusterQuestions(t *testing.T) {
	b := stdioServer(t, "go-sdk")
	c := startReplicas(t, append(b.before, b.after...)...)
	for _, version := range []string{v0618, v1125} {
		t.Run(version, func(t *testing.T) {
			askAndProgress(t, c.balancer, version, 4)
		})
	}
	t.Run("resume", func(t *testing.T) { checkResume(t, c) })
}

// checkResume reads a stream at one replica and the rest of it again at another.
func checkResume(t *testing.T, c *replicas) {
	s := &rawSession{endpoint: c.endpoints[0]}
	if status := s.start(t); status != http.StatusOK {
		t.Fatalf("initialize: %d", status)
	}
	_, body := s.at(c.endpoints[1]).post(t, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"steps",`+
		`"arguments":{},"_meta":{"progressToken":"p"}}}`)
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
	req, err := http.NewRequestWithContext(limited(t), http.MethodGet, c.endpoints[2], nil)
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
type rawSession struct{ endpoint, id string }

func (s *rawSession) at(endpoint string) *rawSession { return &rawSession{endpoint, s.id} }

func (s *rawSession) headers(req *http.Request) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if req.Method == http.MethodGet {
		req.Header.Set("Accept", "text/event-stream")
	}
	req.Header.Set("Mcp-Protocol-Version", v0618)
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
	text, _ := io.ReadAll(resp.Body)
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

// TestClusterFailover suspends one replica and kills another while clients call. Every call
// ends within three seconds, no answer is wrong, and 99 of 100 interruptions last less than
// a second, including the new session.
func TestClusterFailover(t *testing.T) {
	c := startReplicas(t, "../examples/http-reference")
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var gaps []time.Duration
	var longest time.Duration
	calls := 0
	var clients sync.WaitGroup
	for i := range 12 {
		clients.Go(func() {
			s := &rawSession{endpoint: c.balancer}
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
	fault := func(i int, signal syscall.Signal) {
		c.out.Store(int64(i + 1)) // as the check of a load balancer would
		if err := c.processes[i].Process.Signal(signal); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(time.Second)
	fault(0, syscall.SIGSTOP)
	time.Sleep(6 * time.Second)
	_ = c.processes[0].Process.Signal(syscall.SIGCONT)
	time.Sleep(time.Second)
	c.out.Store(0)
	time.Sleep(time.Second)
	fault(1, syscall.SIGKILL)
	time.Sleep(2 * time.Second)
	cancel()
	clients.Wait()
	slices.Sort(gaps)
	if len(gaps) < 4 {
		t.Fatalf("%d interruptions of %d calls: the faults interrupted no client", len(gaps), calls)
	}
	p99 := gaps[min(len(gaps)-1, len(gaps)*99/100)]
	t.Logf("%d calls, %d interruptions: median %v, p99 %v; longest call %v",
		calls, len(gaps), gaps[len(gaps)/2], p99, longest)
	if p99 > time.Second {
		t.Errorf("failover p99 %v, want at most 1s", p99)
	}
	if longest > 3*time.Second {
		t.Errorf("longest call %v, want at most 3s", longest)
	}
}

// TestClusterLimit measures a rate limit over three replicas on a real Redis server.
func TestClusterLimit(t *testing.T) {
	const rate, burst = 50, 100
	t.Setenv("SLIPWAY_STATE_DIR", t.TempDir())
	c := startReplicas(t, "--rate-limit", fmt.Sprint(rate), "--rate-burst", fmt.Sprint(burst),
		"../examples/http-reference")
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	admitted, refused := 0, 0
	began := time.Now()
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < 10*time.Second {
		<-tick.C
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, c.balancer, bytes.NewReader([]byte(call)))
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
	_ = c.processes[1].Process.Signal(syscall.SIGSTOP)
	defer func() { _ = c.processes[1].Process.Signal(syscall.SIGCONT) }()
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
