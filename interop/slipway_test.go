package interop_test

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience limits each wait in a test. It is far above the time that anything here takes,
// so reaching it means stuck, not slow.
const patience = 20 * time.Second

// A target is one source served by slipway: over HTTP by a server that runs
// until the test ends, and over stdio by a process per client.
type target struct {
	source   []string
	endpoint string
}

// command returns the arguments that serve the target over stdio.
func (s target) command() []string {
	return append([]string{slipway, "serve", "--stdio"}, s.source...)
}

var endpointLine = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// serve starts slipway over HTTP on a free port. When the test ends, the server is
// stopped, and must drain and exit with code 0 in time.
func serve(t *testing.T, source ...string) target {
	t.Helper()
	endpoint := start(t, slipway, append([]string{"serve", "--addr", "127.0.0.1:0"}, source...)...)
	return target{source: source, endpoint: traceHTTP(t, endpoint)}
}

// start is serve for any server, and returns the endpoint that the server prints.
func start(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := new(lockedBuffer)
	found := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		findEndpoint(io.TeeReader(stderr, log), found)
	}()
	t.Cleanup(func() { stop(t, cmd, drained, log) })
	select {
	case endpoint := <-found:
		return endpoint
	case <-drained:
		t.Fatalf("%q ended before it said where it serves; stderr:\n%s", cmd.Args, log)
	case <-time.After(patience):
		t.Fatalf("%q did not say where it serves; stderr:\n%s", cmd.Args, log)
	}
	return ""
}

// findEndpoint sends the first endpoint in r, and then reads to the end so that the
// server never blocks on its log.
func findEndpoint(r io.Reader, found chan<- string) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := endpointLine.FindString(lines.Text()); m != "" {
			select {
			case found <- m:
			default:
			}
		}
	}
	_, _ = io.Copy(io.Discard, r)
}

func stop(t *testing.T, cmd *exec.Cmd, drained <-chan struct{}, log *lockedBuffer) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("slipway was gone before it was stopped: %v; stderr:\n%s", err, log)
	}
	select {
	case <-drained:
	case <-time.After(patience):
		t.Errorf("slipway did not end within %v of SIGTERM; stderr:\n%s", patience, log)
		_ = cmd.Process.Kill()
		<-drained
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("slipway after SIGTERM: %v, want exit code 0; stderr:\n%s", err, log)
	}
	if t.Failed() {
		t.Logf("stderr of slipway:\n%s", log)
	}
}

// A lockedBuffer is a buffer that one goroutine fills while another prints it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// stderrOf returns a writer that logs a stdio server's messages, but only if the test
// fails.
func stderrOf(t *testing.T) io.Writer {
	log := new(lockedBuffer)
	t.Cleanup(func() {
		if t.Failed() && log.String() != "" {
			t.Logf("stderr of slipway:\n%s", log)
		}
	})
	return log
}
