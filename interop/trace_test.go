package interop_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// With SLIPWAY_INTEROP_TRACE=DIR, every byte between a client and slipway is recorded:
// one file per stdio process and one per HTTP server, named after the test. It is off by
// default, so that the tests use a direct connection, as users do.
const traceVariable = "SLIPWAY_INTEROP_TRACE"

// tapVariable makes the test binary act as a tap on a stdio server: it runs its arguments
// as a command and copies the traffic to the named file.
const tapVariable = "SLIPWAY_INTEROP_TAP"

// traceFile returns the file for t's traffic, or "" if tracing is off.
func traceFile(t *testing.T) string {
	dir := os.Getenv(traceVariable)
	if dir == "" {
		return ""
	}
	name := strings.NewReplacer("/", "_", " ", "_", ":", "_").Replace(t.Name())
	f, err := os.CreateTemp(dir, name+"-*.trace")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return f.Name()
}

// traced returns the command and the environment entries that run argv, through the tap
// if tracing is on.
func traced(t *testing.T, argv []string) (command, env []string) {
	file := traceFile(t)
	if file == "" {
		return argv, nil
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self}, argv...), []string{tapVariable + "=" + file}
}

// traceHTTP inserts a recording proxy before endpoint if tracing is on.
func traceHTTP(t *testing.T, endpoint string) string {
	file := traceFile(t)
	if file == "" {
		return endpoint
	}
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	log := openTrace(file)
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     recorder{log},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host
		},
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() { front.Close(); log.Close() })
	return front.URL + to.Path
}

// A recorder is a round tripper that records the traffic.
type recorder struct{ log *trace }

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, _ := httputil.DumpRequestOut(req, true)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.log.write("error", []byte(err.Error()))
		return nil, err
	}
	head, _ := httputil.DumpResponse(res, false)
	r.log.write("exchange", append(append(sent, "\n-- answered by --\n"...), head...))
	if res.StatusCode == http.StatusSwitchingProtocols {
		return res, nil // its body is the connection, and frames are not readable text
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(res.Body, r.log.side("body of "+req.Method+" "+req.Header.Get("Mcp-Method"))), res.Body}
	return res, nil
}

// A trace is a file to which several goroutines append labelled blocks.
type trace struct {
	mu sync.Mutex
	f  *os.File
}

func openTrace(path string) *trace {
	f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return &trace{f: f}
}

func (t *trace) write(label string, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.f, "==== %s\n%s\n", label, data)
}

func (t *trace) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.f.Close()
}

// side returns a writer whose blocks carry label.
func (t *trace) side(label string) io.Writer { return traceSide{t, label} }

type traceSide struct {
	*trace
	label string
}

func (s traceSide) Write(p []byte) (int, error) {
	s.write(s.label, p)
	return len(p), nil
}

// runTap runs argv between its own stdin and stdout, and returns its exit code.
func runTap(path string, argv []string) int {
	log := openTrace(path)
	defer log.Close()
	os.Unsetenv(tapVariable)
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	cmd.Stdout = io.MultiWriter(os.Stdout, log.side("from slipway"))
	cmd.Stderr = io.MultiWriter(os.Stderr, log.side("stderr of slipway"))
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		_, _ = io.Copy(io.MultiWriter(in, log.side("to slipway")), os.Stdin)
		in.Close()
	}()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
