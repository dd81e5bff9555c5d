//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// saySite is a site with one tool.
var saySite = map[string]string{
	"mcp.json": `{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":[` +
		`{"name":"say","description":"Says a word","inputSchema":{"type":"object","properties":{"word":` +
		`{"type":"string"}},"required":["word"]}}]}}`,
	"tools/say/hello.json": `{"content":[{"type":"text","text":"hello to you"}]}`,
}

// TestReloadUnderLoad changes the configuration file 100 times, also to invalid and
// half-written text, while clients call a tool of a source that each change replaces, and a
// session holds an event stream. Each valid text has other settings, too.
func TestReloadUnderLoad(t *testing.T) {
	race.SkipSlow(t)
	dir := t.TempDir()
	for _, site := range []string{"one", "two", "other"} {
		for name, text := range saySite {
			path := filepath.Join(dir, site, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(dir, "slipway.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	texts := []string{
		"sources: [{source: one, name: a}, {source: other, name: b}]\nserve: {sources: {prefix: always}}\n",
		"sources: [{source: two, name: a}, {source: other, name: b}]\nserve: {sources: {prefix: always}, " +
			"limits: {rate: 1e6, maxInFlight: 1000, maxBody: 1MiB}, logging: {level: error, auditLog: audit.jsonl}}\n",
		"sources: [{source: one, name: a}, {source: nowhere, name: c}]\nserve: {sources: {prefix: always}}\n",
		"sources: [{source: two, name: a}, {source: one, name: d}]\nserve: {sources: {prefix: always}, " +
			"address: {allowedHosts: [a.example.com]}, endpoints: {webSocket: false, metrics: false}}\n",
		"sources: [{source: one, na",
	}
	write(texts[0])
	p := newServer(exec.Command("slipway", "serve", "--addr", "127.0.0.1:0"))
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "GORACE="+raceOptions, "SLIPWAY_STATE_DIR="+dir)
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	t.Cleanup(func() {
		limit.Stop()
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.done
	})
	url, err := p.await(regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`))
	if err != nil {
		t.Fatal(err)
	}
	session := openSession(t, url)
	var calls, failed atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				if answer := callSay(url, "a_say"); !strings.Contains(answer, "hello to you") && failed.Add(1) < 5 {
					t.Errorf("a call failed: %s", answer)
				}
			}
		})
	}
	for i := range 100 {
		write(texts[i%len(texts)])
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	write(strings.Replace(texts[3], "name: d", "name: last", 1)) // noticed without a signal
	for deadline := time.Now().Add(patience); !strings.Contains(callSay(url, "last_say"), "hello to you"); {
		if time.Now().After(deadline) {
			t.Fatal("the last change is not in use")
		}
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	clients.Wait()
	session.alive(t)
	if n := failed.Load(); n > 0 || calls.Load() < 500 {
		t.Errorf("%d of %d calls failed", n, calls.Load())
	}
	if health := get(t, strings.TrimSuffix(url, "/mcp")+"/healthz"); strings.Contains(health, `"failing"`) {
		t.Errorf("health: %s", health)
	}
}

// heldSession is a session with an open event stream.
type heldSession struct {
	url, id string
	ended   chan error // gets the end of the stream
}

// openSession opens a session at url and its event stream, until the test ends.
func openSession(t *testing.T, url string) *heldSession {
	t.Helper()
	s := &heldSession{
		url:   url,
		ended: make(chan error, 1),
	}
	opened := s.send(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+
		`"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	defer opened.Body.Close()
	if s.id = opened.Header.Get("Mcp-Session-Id"); s.id == "" {
		t.Fatalf("initialize: status %s, no session", opened.Status)
	}
	stream := s.send(t, http.MethodGet, "")
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream: status %s", stream.Status)
	}
	t.Cleanup(func() { _ = stream.Body.Close() })
	go func() {
		_, err := io.Copy(io.Discard, stream.Body)
		s.ended <- err
	}()
	return s
}

// alive fails the test if the session or its stream has ended.
func (s *heldSession) alive(t *testing.T) {
	t.Helper()
	select {
	case err := <-s.ended:
		t.Errorf("the stream has ended: %v", err)
	default:
	}
	answer := s.send(t, http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the session: status %s", answer.Status)
	}
}

func (s *heldSession) send(t *testing.T, method, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// callSay returns the response to a call of a tool, or the error.
func callSay(url, tool string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"word":"hello"}}}`,
		tool)
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
