package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// leaks fails the test if it ends with more goroutines or open files than at the time of
// this call, which must precede every other one.
func leaks(t *testing.T) {
	t.Helper()
	warm.Do(func() { // descriptors that the runtime opens once, for processes and polling
		src, err := client.Open(t.Context(), command(t, "server"), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = src.Close()
	})
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		for range 200 {
			if runtime.NumGoroutine() <= goroutines && openFiles(t) <= files {
				return
			}
			time.Sleep(10 * time.Millisecond) // there is no signal for the end of asynchronous cleanup
		}
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines and %d files, want %d and %d\n%s", runtime.NumGoroutine(), openFiles(t), goroutines, files,
			stacks[:runtime.Stack(stacks, true)])
	})
}

var warm sync.Once

// openFiles returns the number of descriptors, if the system reports it.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

func pidOf(t *testing.T, src mcp.Source) int {
	t.Helper()
	pid, err := strconv.Atoi(mustCall(t, src, "pid", ""))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func killProcess(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Kill(), p.Release()); err != nil {
		t.Fatal(err)
	}
}

// startCall calls the tool block, which creates the file marker.
func startCall(src *client.Source, ctx context.Context, marker string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "block", Arguments: object(fmt.Sprintf(`{"text":%q}`, marker))})
		ended <- err
	}()
	return ended
}

// inFlight starts a call that waits until it is cancelled. It returns when the server
// handles the call, so that losing the server fails it: State counts a call before it is
// sent, and one that the server never read would be retried, and wait again.
func inFlight(t *testing.T, src *client.Source, ctx context.Context) <-chan error {
	t.Helper()
	marker := filepath.Join(t.TempDir(), "called")
	ended := startCall(src, ctx, marker)
	for {
		if _, err := os.Stat(marker); err == nil {
			return ended
		}
		select {
		case err := <-ended:
			t.Fatalf("the call ends with %v before the server handles it", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestKill ensures that calls in flight fail immediately with the reason, whichever
// process is killed, and that the next one works.
func TestKill(t *testing.T) {
	for _, role := range []string{"server", "wrapper"} {
		t.Run(role, func(t *testing.T) {
			leaks(t)
			src := open(t, command(t, role), nil)
			for range 3 {
				ended := inFlight(t, src, t.Context())
				// The id of the grandchild, if there is a wrapper. When it answers, it
				// has read the other call, which would otherwise be retried.
				pid := pidOf(t, src)
				began := time.Now()
				killProcess(t, pid)
				err := <-ended
				if err == nil || !strings.Contains(err.Error(), "the server was lost") {
					t.Errorf("the call in flight ends with %v", err)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("the call in flight has failed only after %v", took)
				}
				if next := pidOf(t, src); next == pid {
					t.Errorf("process %d answers still", next)
				}
			}
			if st := src.State(); st.Starts != 4 || st.InFlight != 0 {
				t.Errorf("State = %+v, want 4 starts and nothing in flight", st)
			}
		})
	}
}

// TestNextCallWorks ensures that a call works even if the exit of the process has not
// been noticed yet.
func TestNextCallWorks(t *testing.T) {
	t.Parallel()
	src := open(t, command(t, "server"), nil)
	for range 20 {
		pid := src.State().PID
		killProcess(t, pid)
		waitReaped(t, pid)
		if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
			t.Errorf("echo = %q", got)
		}
	}
}

// waitReaped waits until a process has been reaped, so that its pipes are closed.
func waitReaped(t *testing.T, pid int) {
	t.Helper()
	for t.Context().Err() == nil {
		p, err := os.FindProcess(pid)
		if err != nil {
			return
		}
		gone := errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
		if _ = p.Release(); gone {
			return
		}
		runtime.Gosched()
	}
}

// waitGone waits until a process has exited, whether or not it has been reaped.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for t.Context().Err() == nil {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		runtime.Gosched()
	}
}

func TestManyCallsSurvive(t *testing.T) {
	leaks(t)
	src := open(t, command(t, "server"), nil)
	var wrong, failed, right int
	var mu sync.Mutex
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				want := fmt.Sprintf("%d/%d", worker, i)
				got, err := call(t, src, "echo", `{"text":"`+want+`"}`)
				mu.Lock()
				switch {
				case err != nil:
					failed++
				case got != want:
					wrong++
				default:
					right++
				}
				mu.Unlock()
			}
		})
	}
	killProcess(t, pidOf(t, src))
	all.Wait()
	if wrong > 0 || failed > 8 || right < 8*200-8 {
		t.Errorf("%d wrong, %d failed, %d right; want none, at most one for each worker, and all others",
			wrong, failed, right)
	}
}

func TestHang(t *testing.T) {
	leaks(t)
	c := command(t, "stuck")
	c.StopTimeout = time.Minute // must not apply, because it does not notice the end of its stdin
	src := open(t, c, &client.Options{Timeouts: client.Timeouts{Ping: 100 * time.Millisecond}})
	first := src.State().PID
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call that hangs ends with %v", err)
	}
	began := time.Now()
	if got := mustCall(t, src, "fine", ""); got != "fine" {
		t.Errorf("fine = %q", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the next call took %v", took)
	}
	if src.State().PID == first {
		t.Error("the process that hangs is there still")
	}
}

// TestHangOfCallLeftAlone has a client of 2025-06-18 that closes its connection after
// waiting, without cancelling, so that the call continues. Later callers must be served.
func TestHangOfCallLeftAlone(t *testing.T) {
	leaks(t)
	c := command(t, "stuck")
	c.StopTimeout = 100 * time.Millisecond
	src := open(t, c, &client.Options{Timeouts: client.Timeouts{Ping: 100 * time.Millisecond}})
	front := httptest.NewServer(mcpserver.New(src, nil).HTTPHandler(nil))
	defer front.Close()
	call := func(ctx context.Context, tool string) (string, error) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("MCP-Protocol-Version", "2025-06-18")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	}
	patience, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if text, err := call(patience, "hang"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the call that hangs ends with %q, %v", text, err)
	}
	until(t, "another call is answered", nil, nil, func() bool {
		again, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		text, err := call(again, "fine")
		return err == nil && strings.Contains(text, `"fine"`)
	})
}

func TestSlowIsNotHung(t *testing.T) {
	src := open(t, command(t, "server"), &client.Options{Timeouts: client.Timeouts{Ping: 5 * time.Second}})
	first := pidOf(t, src)
	ctx, cancel := context.WithCancel(t.Context())
	ended := inFlight(t, src, ctx)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call ends with %v", err)
	}
	if got := pidOf(t, src); got != first {
		t.Error("a server that answers pings was replaced")
	}
}

func TestGarbageOnStdout(t *testing.T) {
	src := open(t, command(t, "server"), nil)
	if got := mustCall(t, src, "junk", ""); got != "done" {
		t.Errorf("junk = %q", got)
	}
	if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
		t.Errorf("echo = %q", got)
	}
	if st := src.State(); st.Starts != 1 || st.Junk == 0 {
		t.Errorf("State = %+v, want one start and junk", st)
	}
}

func TestHugeAnswers(t *testing.T) {
	race.SkipSlow(t)
	leaks(t)
	c := command(t, "server")
	c.MaxMessage = 128 << 20
	src := open(t, c, nil)
	size := 100 << 20
	if race.Enabled {
		size = 10 << 20 // the detector checks every byte
	}
	r, err := src.CallTool(t.Context(), &mcp.CallToolParams{
		Name:      "big",
		Arguments: fmt.Appendf(nil, `{"text":"%d"}`, size),
	})
	if err != nil || len(r.Raw.Bytes()) < size {
		t.Fatalf("an answer of %d bytes: %v", size, err)
	}
	small := command(t, "server")
	small.MaxMessage = 1 << 20
	limited := open(t, small, nil)
	if _, err := call(t, limited, "big", `{"text":"2000000"}`); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("an answer over the limit: %v", err)
	}
	mustCall(t, limited, "pid", "")
	u := newUpstream(t, &world{})
	web := open(t, &client.Endpoint{URL: u.URL + "/mcp", MaxMessage: 1 << 20}, nil)
	if _, err := call(t, web, "big", `{"text":"2000000"}`); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("an answer over the limit: %v", err)
	}
	mustCall(t, web, "pid", "")
}

// TestSlowLoris ensures that a server which drips its answer costs only the caller's own
// time limit, and recovers.
func TestSlowLoris(t *testing.T) {
	leaks(t)
	u := newUpstream(t, &world{})
	src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true},
		&client.Options{Timeouts: client.Timeouts{Ping: 100 * time.Millisecond}})
	inner := *u.handler.Load()
	release := make(chan struct{})
	u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":`)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "pid"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call that drips ends with %v", err)
	}
	close(release)
	u.serve(inner)
	mustCall(t, src, "pid", "")
}

// TestUpstreamAway refuses connections for a while, and then starts a new server that
// knows no sessions.
func TestUpstreamAway(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		t.Run(v.String(), func(t *testing.T) {
			leaks(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := l.Addr().String()
			serve := func(l net.Listener) *http.Server {
				server := mcpserver.New(&world{}, nil)
				web := &http.Server{Handler: server.HTTPHandler(nil)}
				t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
				go func() { _ = web.Serve(l) }()
				return web
			}
			web := serve(l)
			src := open(t, &client.Endpoint{URL: "http://" + address + "/mcp"}, &client.Options{
				Version:  v,
				Timeouts: client.Timeouts{Wait: 50 * time.Millisecond},
			})
			mustCall(t, src, "pid", "")
			_ = web.Close()
			if _, err := call(t, src, "pid", ""); err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("a call while no server is there: %v", err)
			}
			if l, err = net.Listen("tcp", address); err != nil {
				t.Fatal(err)
			}
			web = serve(l)
			defer web.Close()
			for {
				if _, err = call(t, src, "pid", ""); err == nil || t.Context().Err() != nil {
					break
				}
				time.Sleep(10 * time.Millisecond) // until its pause has passed
			}
			if st := src.State(); st.Phase != client.Ready || st.Failures > 0 && st.Error == "" {
				t.Errorf("State = %+v", st)
			}
		})
	}
}

func TestLazyStartAndIdleStop(t *testing.T) {
	leaks(t)
	src := open(t, command(t, "server"),
		&client.Options{Lazy: true, Timeouts: client.Timeouts{Idle: 50 * time.Millisecond}})
	if st := src.State(); st.Phase != client.Stopped || st.Starts != 0 {
		t.Errorf("before the first request: %+v", st)
	}
	first := pidOf(t, src)
	for src.State().Phase != client.Stopped {
		runtime.Gosched()
	}
	if _, err := src.Catalog(t.Context()); err != nil || src.State().Starts != 1 {
		t.Errorf("the catalog is not kept: %v, %+v", err, src.State())
	}
	if pidOf(t, src) == first {
		t.Error("the idle process was not stopped")
	}
}

func TestOptional(t *testing.T) {
	leaks(t)
	marker := t.TempDir() + "/ready"
	c := command(t, "late", marker)
	src := open(t, c, &client.Options{Optional: true})
	cat, err := src.Catalog(t.Context())
	if err != nil || len(cat.Tools) != 0 {
		t.Fatalf("the catalog before the first start: %v, %v", cat, err)
	}
	news := make(chan mcp.Change, 10)
	defer src.Watch(func(c mcp.Change) { news <- c })()
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-news
	if cat, err = src.Catalog(t.Context()); err != nil || cat.Tool("echo") == nil {
		t.Errorf("the catalog after the start: %v", err)
	}
}

func TestLazyAndMissing(t *testing.T) {
	src := open(t, &client.Command{Path: "no-such-program"}, &client.Options{Lazy: true})
	for range 2 {
		_, err := call(t, src, "pid", "")
		var e *mcp.Error
		if !errors.As(err, &e) || e.Code != mcp.CodeToolUnavailable || !strings.Contains(e.Message, "not found on the PATH") {
			t.Errorf("call = %v, want CodeToolUnavailable with the reason", err)
		}
	}
	st := src.State()
	if st.Phase != client.Waiting || st.Failures == 0 || st.Next.IsZero() {
		t.Errorf("State = %+v, want the next attempt", st)
	}
	if encoded, err := json.Marshal(st); err != nil || !strings.Contains(string(encoded), `"phase":"waiting"`) {
		t.Errorf("as JSON: %s, %v", encoded, err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	for _, name := range []string{"stdio", "http"} {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			var transport client.Transport = command(t, "server")
			if name == "http" {
				transport = &client.Endpoint{URL: newUpstream(t, &world{}).URL + "/mcp"}
			}
			src := open(t, transport, nil)
			ended := inFlight(t, src, t.Context())
			if err := src.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil {
				t.Error("the call succeeds")
			}
			if st := src.State(); st.Phase != client.Closed {
				t.Errorf("State = %+v", st)
			}
		})
	}
}
