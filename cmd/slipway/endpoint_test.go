package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// endpoint is slipway serve on a free port.
type endpoint struct {
	t        *testing.T
	server   *server
	url      string // without the path
	token    string
	stateDir string
}

// startEndpoint returns the endpoint once it listens. It is killed at the end of the
// test.
func startEndpoint(t *testing.T, args ...string) *endpoint {
	t.Helper()
	cmd := slipwayCommand(t, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	s := &endpoint{t: t, server: newServer(cmd), stateDir: t.TempDir()}
	cmd.Env = append(cmd.Env, "SLIPWAY_STATE_DIR="+s.stateDir)
	if err := s.server.start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // stuck, not slow
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.server.done
		limit.Stop()
	})
	found, err := s.server.await(regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`))
	if err != nil {
		t.Fatal(err)
	}
	s.url = strings.TrimSuffix(found, "/mcp")
	return s
}

func (s *endpoint) get(path string) (status int, text string) {
	s.t.Helper()
	resp, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// post returns the response to a message, or the error. It may be called from any
// goroutine.
func (s *endpoint) post(body, version, method string) string {
	req, err := http.NewRequest(http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", version)
	if method != "" {
		req.Header.Set("Mcp-Method", method)
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// initialize returns the server's identity for a new client.
func (s *endpoint) initialize() (name, capabilities string) {
	s.t.Helper()
	text := s.post(initializeLine, "", "")
	var answer struct {
		Result struct {
			Capabilities json.RawMessage
			ServerInfo   mcp.Implementation
		}
	}
	if i := strings.Index(text, "{"); i < 0 || json.Unmarshal([]byte(text[i:]), &answer) != nil {
		s.t.Fatalf("initialize = %s", text)
	}
	return answer.Result.ServerInfo.Name, string(answer.Result.Capabilities)
}
