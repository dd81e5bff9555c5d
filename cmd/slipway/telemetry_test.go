package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestServeTelemetry ensures that the binary sends all three signals before it exits, and
// logs through the collector what it logs on stderr.
func TestServeTelemetry(t *testing.T) {
	var mu sync.Mutex
	received := make(map[string]string)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		received[r.URL.Path] += string(body)
	}))
	defer collector.Close()
	t.Chdir(workplace(t))
	cmd := exec.Command("slipway", "serve", "examples/http-reference", "--addr", "127.0.0.1:0", "--admin-addr",
		"127.0.0.1:0", "--otlp", collector.URL, "--log-level", "info")
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_COMPRESSION=none", "OTEL_SERVICE_NAME=documentation")
	s := newServer(cmd)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.cmd.Process.Kill() }()
	url, err := s.await(regexp.MustCompile(`MCP endpoint  (http://127\.0\.0\.1:\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimPrefix(url, "MCP endpoint  ")
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_status","arguments":{"code":404},` +
		`"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}`
	answer, err := http.Post(url+"/mcp", "application/json", strings.NewReader(body))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("the end: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for path, words := range map[string][]string{
		"/v1/traces":  {"documentation", "tools/call get_status", "execute_tool", "\x0a\xf7\x65\x19\x16\xcd\x43\xdd"},
		"/v1/metrics": {"documentation", "mcp.server.operation.duration", "get_status"},
		"/v1/logs":    {"documentation", "request", "drained"},
	} {
		for _, word := range words {
			if !strings.Contains(received[path], word) {
				t.Errorf("%s does not contain %q", path, word)
			}
		}
	}
}
