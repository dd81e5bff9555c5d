package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// mean is a child with a fault. If the fault must happen only once, the file marker
// records that it has.
func mean(fault string, args []string) int {
	marker := ""
	if len(args) > 0 {
		marker = args[0]
	}
	once := func() bool {
		f, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_ = f.Close()
		}
		return err == nil
	}
	if fault == "grandchildren" { // three, one of which holds our stdout
		for i := range 3 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVariable+"=deaf")
			if i == 0 {
				cmd.Stdout = os.Stdout
			}
			if cmd.Start() != nil {
				return 1
			}
			f, err := os.OpenFile(marker, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return 1
			}
			fmt.Fprintln(f, cmd.Process.Pid)
			_ = f.Close()
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	version := "2025-06-18"
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Method == fault && once() { // kill -9 while it handles this
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			time.Sleep(time.Hour)
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			if fault == "versions" && !once() {
				version = "2024-11-05"
			}
			result = `{"protocolVersion":"` + version +
				`","capabilities":{"tools":{}},"serverInfo":{"name":"mean","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"fine","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"%s %d"}]}`, version, os.Getpid())
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		switch {
		case fault == "one call" && m.Method == "tools/call":
			return 0
		case fault == "no stdout" && m.Method == "tools/list" && once():
			_ = os.Stdout.Close()
		case fault == "no stdin" && m.Method == "tools/list" && once():
			time.Sleep(time.Hour)
		}
	}
	return 0
}

func meanly(t testing.TB, fault string) *client.Command {
	c := command(t, "mean", fault, filepath.Join(t.TempDir(), "marker"))
	c.StopTimeout = 200 * time.Millisecond
	return c
}

// TestKilledInTheHandshake ensures that the process is restarted for the caller that
// waits for the start.
func TestKilledInTheHandshake(t *testing.T) {
	for _, at := range []string{"initialize", "tools/list"} {
		t.Run(at, func(t *testing.T) {
			leaks(t)
			src := open(t, meanly(t, at), &client.Options{Lazy: true})
			_, err := call(t, src, "fine", "")
			if err != nil && !strings.Contains(err.Error(), "signal: killed") {
				t.Errorf("the first call: %v", err)
			}
			mustCall(t, src, "fine", "")
			if st := src.State(); st.Starts != 1 || !strings.Contains(st.Error, "signal: killed") {
				t.Errorf("State = %+v, want one start that worked, and the reason of the other", st)
			}
		})
	}
}

// TestEndsAfterEachCall ensures that a program which serves one call and exits is started
// for each call, without pauses.
func TestEndsAfterEachCall(t *testing.T) {
	leaks(t)
	src := open(t, meanly(t, "one call"), nil)
	const calls = 25
	seen := make(map[string]bool)
	began := time.Now()
	for range calls {
		text := mustCall(t, src, "fine", "")
		seen[text] = true
	}
	if len(seen) != calls {
		t.Errorf("%d processes served %d calls", len(seen), calls)
	}
	// The pauses of that many consecutive failures would add up to minutes.
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestNothingLeaksOverRestarts ensures that descriptors, goroutines and zombies do not
// grow with the number of restarts.
func TestNothingLeaksOverRestarts(t *testing.T) {
	leaks(t)
	restarts := 100
	if race.Short() {
		restarts = 20
	}
	src := open(t, meanly(t, "one call"), nil)
	mustCall(t, src, "fine", "")
	files, goroutines, highest := openFiles(t), runtime.NumGoroutine(), [2]int{}
	for range restarts {
		mustCall(t, src, "fine", "")
		highest[0], highest[1] = max(highest[0], openFiles(t)), max(highest[1], runtime.NumGoroutine())
	}
	// The previous process may still be exiting while the next one runs.
	if highest[0] > files+12 || highest[1] > goroutines+24 {
		t.Errorf("at the most there are %d files and %d goroutines, after %d and %d",
			highest[0], highest[1], files, goroutines)
	}
	if st := src.State(); st.Starts < restarts {
		t.Errorf("State = %+v, want %d starts", st, restarts)
	}
	_ = src.Close()
	if dead := zombies(t); len(dead) > 0 {
		t.Errorf("%d dead processes have not been reaped: %v", len(dead), dead)
	}
}

// zombies returns our exited children that have not been reaped.
func zombies(t *testing.T) (pids []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if strings.HasPrefix(rest, fmt.Sprintf("Z %d ", os.Getpid())) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// TestClosesItsStdout ensures that a process which closes its stdout is replaced.
func TestClosesItsStdout(t *testing.T) {
	leaks(t)
	src := open(t, meanly(t, "no stdout"), nil)
	first := src.State().PID
	text, err := call(t, src, "fine", "")
	if err != nil {
		if !strings.Contains(err.Error(), "lost") {
			t.Errorf("the call in flight: %v", err)
		}
		text = mustCall(t, src, "fine", "")
	}
	if first != 0 && strings.HasSuffix(text, fmt.Sprint(" ", first)) {
		t.Error("the process without a stdout has answered")
	}
	if first != 0 {
		waitGone(t, first)
	}
}

// TestDoesNotRead ensures that calls larger than a pipe time out, that the process is
// then replaced, and that writers are not blocked.
func TestDoesNotRead(t *testing.T) {
	leaks(t)
	src := open(t, meanly(t, "no stdin"), &client.Options{Timeouts: client.Timeouts{Ping: 100 * time.Millisecond}})
	first := src.State().PID
	large := fmt.Appendf(nil, `{"x":"%s"}`, strings.Repeat("x", 1<<20))
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // before the ping that follows
	defer cancel()
	for range 4 {
		all.Go(func() {
			if _, err := src.CallTool(ctx, &mcp.CallToolParams{
				Name:      "fine",
				Arguments: large,
			}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call that is not read ends with %v", err)
			}
		})
	}
	all.Wait()
	mustCall(t, src, "fine", string(large))
	if src.State().PID == first {
		t.Error("the process that does not read is there still")
	}
	waitGone(t, first)
}

// TestGrandchildrenGo ensures that the descendants of a process are stopped with it.
func TestGrandchildrenGo(t *testing.T) {
	leaks(t)
	c := meanly(t, "grandchildren")
	src := open(t, c, nil)
	mustCall(t, src, "fine", "")
	pid := src.State().PID
	killProcess(t, pid)
	waitReaped(t, pid)
	mustCall(t, src, "fine", "") // of a second process, with three more
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.Args[len(c.Args)-1])
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(text))
	if len(pids) != 6 {
		t.Errorf("there were %d grandchildren, want 6", len(pids))
	}
	for _, pid := range pids {
		var n int
		if _, err := fmt.Sscan(pid, &n); err != nil {
			t.Fatal(err)
		}
		waitGone(t, n)
	}
}

// TestAnotherVersionAfterRestart ensures that the version is negotiated again after a
// restart.
func TestAnotherVersionAfterRestart(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		src := open(t, meanly(t, "versions"), nil)
		if got := mustCall(t, src, "fine", ""); !strings.HasPrefix(got, "2025-06-18 ") {
			t.Errorf("before: %q", got)
		}
		pid := src.State().PID
		killProcess(t, pid)
		waitReaped(t, pid)
		if got := mustCall(t, src, "fine", ""); !strings.HasPrefix(got, "2024-11-05 ") ||
			src.State().Version != mcp.Version20241105 {
			t.Errorf("after: %q, %v", got, src.State().Version)
		}
	})
	legacy := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") != "" {
				http.Error(w, "what is that?", http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	modern := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w,
					`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"]}}}`)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	t.Run("http", func(t *testing.T) {
		leaks(t)
		u := newUpstream(t, &world{})
		src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true}, nil)
		for i, speaks := range []func(http.Handler) http.Handler{modern, legacy, modern, legacy} {
			u.restart(t, &world{})
			u.serve(speaks(*u.handler.Load()))
			if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
				t.Errorf("echo = %q", got)
			}
			want := mcp.Version20260728
			if i%2 == 1 {
				want = mcp.Version20251125
			}
			if got := src.State().Version; got != want {
				t.Errorf("%d: it is spoken to in %v, want %v", i, got, want)
			}
		}
		starts := src.State().Starts
		if _, err := call(t, src, "fails", ""); err == nil || src.State().Starts != starts {
			t.Errorf("a tool that fails: %v, %d starts after %d", err, src.State().Starts, starts)
		}
	})
}

// TestHalfAnswers ensures that an incomplete answer is an immediate error for calls that
// must not be repeated, and that others are retried.
func TestHalfAnswers(t *testing.T) {
	faults := map[string]func(w http.ResponseWriter){
		"reset": func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"half a body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"jsonrpc":"2.0",`)
		},
		"half an event": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":")
		},
		"no events": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") },
		"nothing":   func(w http.ResponseWriter) {},
		"no JSON": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "<html>")
		},
		"another id": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":"x","result":{}}`)
		},
		"a bad array": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `[{"jsonrpc":`)
		},
		"502": func(w http.ResponseWriter) { http.Error(w, "bad gateway", http.StatusBadGateway) },
		"500": func(w http.ResponseWriter) { http.Error(w, "oops", http.StatusInternalServerError) },
		"429": func(w http.ResponseWriter) { http.Error(w, "slow down", http.StatusTooManyRequests) },
	}
	for name, fault := range faults {
		for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
			t.Run(name+"/"+v.String(), func(t *testing.T) {
				leaks(t)
				u := newUpstream(t, &world{})
				src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true}, &client.Options{Version: v})
				inner := *u.handler.Load()
				var once atomic.Bool
				u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost && once.CompareAndSwap(false, true) {
						fault(w)
						return
					}
					inner.ServeHTTP(w, r)
				}))
				began := time.Now()
				_, err := call(t, src, "echo", `{"text":"hi"}`)
				if err == nil || time.Since(began) > 5*time.Second {
					t.Errorf("the call ends with %v after %v", err, time.Since(began))
				}
				if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
					t.Errorf("the next one = %q", got)
				}
			})
		}
	}
}

// TestExpiredToken ensures that an expired token is renewed, once for all waiting
// requests.
func TestExpiredToken(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		t.Run(v.String(), func(t *testing.T) {
			u := newUpstream(t, &world{})
			inner := *u.handler.Load()
			var good atomic.Pointer[string]
			set := func(token string) { good.Store(&token) }
			set("Bearer one")
			u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != *good.Load() {
					http.Error(w, "expired", http.StatusUnauthorized)
					return
				}
				inner.ServeHTTP(w, r)
			}))
			var asked atomic.Int32
			src := open(t, &client.Endpoint{URL: u.URL + "/mcp", Header: http.Header{"Authorization": {"Bearer one"}},
				Renew: func(context.Context) (http.Header, error) {
					asked.Add(1)
					return http.Header{"authorization": {*good.Load()}}, nil
				}}, &client.Options{Version: v})
			mustCall(t, src, "echo", `{"text":"hi"}`)
			if asked.Load() != 0 {
				t.Error("another token was looked for though the first is good")
			}
			set("Bearer two")
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if got, err := call(t, src, "echo", `{"text":"hi"}`); got != "hi" {
						t.Errorf("echo = %q, %v", got, err)
					}
				})
			}
			all.Wait()
			if n := asked.Load(); n != 1 {
				t.Errorf("it was looked for %d times, want once", n)
			}
			if st := src.State(); st.Starts != 1 {
				t.Errorf("State = %+v, want the same session", st)
			}
		})
	}
}

// TestTokenThatIsGone ensures that calls fail with the reason if there is no other token,
// and that Renew is not called for each of them.
func TestTokenThatIsGone(t *testing.T) {
	u := newUpstream(t, &world{})
	inner := *u.handler.Load()
	var asked atomic.Int32
	src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true, Renew: func(context.Context) (http.Header,
		error) {
		asked.Add(1)
		return nil, errors.New("no")
	}}, nil)
	u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	for range 10 {
		if _, err := call(t, src, "echo", `{"text":"hi"}`); err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("echo: %v", err)
		}
	}
	if n := asked.Load(); n == 0 || n > 5 {
		t.Errorf("it was looked for %d times for ten calls", n)
	}
	u.serve(inner)
	mustCall(t, src, "echo", `{"text":"hi"}`)
}

// stuckClient is a response that the client never reads.
type stuckClient struct {
	header http.Header
	stuck  chan struct{} // closed at the first write
	once   sync.Once
	freed  chan struct{}
	mu     sync.Mutex
	body   strings.Builder
}

func (s *stuckClient) Header() http.Header { return s.header }
func (s *stuckClient) WriteHeader(int)     {}
func (s *stuckClient) Flush()              {}

func (s *stuckClient) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.stuck) })
	<-s.freed
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.body.Write(b)
}

// TestClientThatDoesNotRead ensures that a client which does not read does not delay
// other clients' calls to the same server. It loses excess notifications, but never its
// answer.
func TestClientThatDoesNotRead(t *testing.T) {
	const steps = 20_000
	transport, _ := strange(t, mcp.Version20250618, func(u *upstreamText, m heardMessage) {
		if strings.Contains(string(m.Params), `"chatty"`) {
			var p struct {
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
			_ = json.Unmarshal(m.Params, &p)
			for i := range steps {
				u.send(
					`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,`+
						`"message":"%0200d"}}`,
					p.Meta.ProgressToken, i, i)
			}
		}
		u.result(m, `{"content":[{"type":"text","text":"fine"}]}`)
	})
	src := open(t, transport, nil)
	server := mcpserver.New(src, nil)
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	h := server.HTTPHandler(nil)
	w := &stuckClient{header: make(http.Header), stuck: make(chan struct{}), freed: make(chan struct{})}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"one","arguments":{"chatty":true},`+
			`"_meta":{"progressToken":"p"}}}`))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	var serving sync.WaitGroup
	serving.Go(func() { h.ServeHTTP(w, r) })
	<-w.stuck
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "one"}); err != nil {
		t.Errorf("another client's call: %v", err)
	}
	close(w.freed)
	serving.Wait()
	text := w.body.String()
	got := strings.Count(text, "notifications/progress")
	if got == 0 ||
		got == steps ||
		!strings.Contains(text, `"id":"mine","result":{"content":[{"type":"text","text":"fine"}]`) {
		t.Errorf("the client gets %d of %d steps, and at last %q", got, steps, text[max(0, len(text)-200):])
	}
}

// TestTooManyQuestions ensures that a server which asks endlessly costs a bounded number
// of goroutines, and is still served.
func TestTooManyQuestions(t *testing.T) {
	const questions = 20_000
	transport, u := strange(t, mcp.Version20250618, func(u *upstreamText, m heardMessage) {
		if m.Method != "tools/call" {
			return
		}
		if strings.Contains(string(m.Params), `"curious"`) {
			for i := range questions {
				u.send(`{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`, i)
			}
		}
		u.result(m, `{"content":[{"type":"text","text":"fine"}]}`)
	})
	hold := make(chan struct{})
	src := open(t, transport,
		&client.Options{Questions: client.Questions{Answer: func(ctx context.Context, _ string,
			_ json.RawMessage) (json.RawMessage, error) {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"yo"}}`), nil
		}}})
	before := runtime.NumGoroutine()
	mustCall(t, src, "one", `{"curious":true}`)
	if n := runtime.NumGoroutine() - before; n > 1100 {
		t.Errorf("%d goroutines answer", n)
	}
	close(hold)
	until(t, "the answers", nil, nil, func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		n, refused := 0, 0
		for _, m := range u.heard {
			switch {
			case m.Method == "" && m.Result != nil:
				n++
			case m.Method == "" && m.Error != nil:
				refused++
			}
		}
		return n == 1000 && refused > 0
	})
	if st := src.State(); st.Junk != questions-1000 {
		t.Errorf("State = %+v, want the other questions counted", st)
	}
	mustCall(t, src, "one", "")
}

// TestHugeQuestions ensures that a server which asks with large questions costs a bounded amount of memory, wherever in
// the message their bytes are, that those beyond the limit are refused at once, and that questions are answered again
// once others are.
func TestHugeQuestions(t *testing.T) {
	const size = 33 << 20
	padding := strings.Repeat("x", size)
	for name, test := range map[string]struct {
		form      string // of a question, with its id and a text
		questions int
		open      int // of these
	}{
		"in params": {`{"jsonrpc":"2.0","id":"%s","method":"elicitation/create","params":{"message":"%s"}}`, 3, 1},
		"method":    {`{"jsonrpc":"2.0","id":"%s","params":{},"method":"elicitation/create%s"}`, 3, 1},
		"next to params": {
			`{"jsonrpc":"2.0","id":"%s","method":"elicitation/create","params":{"message":""},"pad":"%s"}`, 6, 6,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			transport, u := strange(t, mcp.Version20250618, func(u *upstreamText, m heardMessage) {
				if m.Method != "tools/call" {
					return
				}
				text := padding
				if calls.Add(1) > 1 {
					text = ""
				}
				for i := range test.questions {
					u.send(test.form, fmt.Sprintf("%s-%d", m.ID, i), text)
				}
				u.result(m, `{"content":[{"type":"text","text":"fine"}]}`)
			})
			var asked atomic.Int64
			hold := make(chan struct{})
			answer := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				asked.Add(1)
				select {
				case <-hold:
				case <-ctx.Done():
				}
				return json.RawMessage(`{"action":"decline"}`), nil
			}
			src := open(t, transport, &client.Options{Questions: client.Questions{Answer: answer}})
			heard := func() (answers, refusals int) {
				u.mu.Lock()
				defer u.mu.Unlock()
				for _, m := range u.heard {
					switch {
					case m.Method == "" && m.Result != nil:
						answers++
					case m.Method == "" && strings.Contains(string(m.Error), "too many open questions"):
						refusals++
					}
				}
				return answers, refusals
			}
			mustCall(t, src, "one", "")
			until(t, "the questions", nil, nil, func() bool {
				_, refusals := heard()
				return int(asked.Load()) == test.open && refusals == test.questions-test.open
			})
			if st := src.State(); int(st.Junk) != test.questions-test.open {
				t.Errorf("State = %+v, want the other questions counted", st)
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			if limit := uint64(4 * size); m.HeapAlloc > limit {
				t.Errorf("with %d questions, %d MiB are in use", test.open, m.HeapAlloc>>20)
			}
			close(hold)
			until(t, "the answers", nil, nil, func() bool {
				answers, _ := heard()
				return answers == test.open
			})
			mustCall(t, src, "one", "")
			until(t, "the answers to small questions", nil, nil, func() bool {
				answers, _ := heard()
				return answers == test.open+test.questions
			})
		})
	}
}

// TestSubscriptionsWithoutEnd ensures that the subscription to resource number 10,001
// works, and that the server receives an unsubscribe for the oldest.
func TestSubscriptionsWithoutEnd(t *testing.T) {
	transport, u := strange(t, mcp.Version20250618, func(u *upstreamText, m heardMessage) { u.result(m, `{}`) })
	src := open(t, transport, nil)
	subscribe := func(i int) {
		if err := src.Subscribe(t.Context(), fmt.Sprint("r://", i)); err != nil {
			t.Fatalf("subscription %d: %v", i, err)
		}
	}
	for i := range 10_000 {
		subscribe(i)
	}
	subscribe(0) // again, so that it is no longer the oldest
	for i := range 3 {
		subscribe(10_000 + i)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var gone []string
	for _, m := range u.heard {
		if m.Method == "resources/unsubscribe" {
			gone = append(gone, string(m.Params))
		}
	}
	if got, want := strings.Join(gone, " "), `{"uri":"r://1"} {"uri":"r://2"} {"uri":"r://3"}`; got != want {
		t.Errorf("unsubscribed %s, want %s", got, want)
	}
}
