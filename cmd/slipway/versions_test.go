package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// upstreamOf is a server of one version over one transport.
type upstreamOf struct {
	name    string
	version mcp.Version
	entry   string // in a definitions file
}

func upstreamsOfAllKinds(t *testing.T) []upstreamOf {
	t.Helper()
	var all []upstreamOf
	for _, v := range mcp.Versions() {
		name := "stdio" + strings.ReplaceAll(v.String(), "-", "")
		all = append(all, upstreamOf{name, v, fmt.Sprintf(`{"command":"upstream","args":[%q,%q]}`, name, v)})
	}
	for i, path := range []string{"/mcp", "/mcp", "/mcp", "/mcp", "/sse"} {
		v := mcp.Versions()[i]
		name := "http" + strings.ReplaceAll(v.String(), "-", "")
		if path == "/sse" {
			name = "sse"
		}
		web, server := upstreamWeb(name, v)
		host := httptest.NewServer(web)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = server.Shutdown(ctx)
			host.CloseClientConnections()
			host.Close()
		})
		all = append(all, upstreamOf{name, v, fmt.Sprintf(`{"transport":"http","url":%q}`, host.URL+path)})
	}
	return all
}

// serveAll runs slipway serve on a file with all of them, and an additional WebSocket. It
// returns its URL.
func serveAll(t *testing.T, all []upstreamOf) *url.URL {
	t.Helper()
	web, server := upstreamWeb("ws", mcp.Version20251125)
	host := httptest.NewServer(web)
	t.Cleanup(func() { _ = server.Shutdown(context.Background()); host.CloseClientConnections(); host.Close() })
	at, _ := serveProcess(t, all, "ws"+strings.TrimPrefix(host.URL, "http")+"/ws")
	return at
}

// serveProcess runs slipway serve on a file of servers, and additional sources. It
// returns its URL and process id.
func serveProcess(t *testing.T, all []upstreamOf, more ...string) (at *url.URL, pid int) {
	t.Helper()
	entries := make([]string, 0, len(all))
	for _, u := range all {
		entries = append(entries, fmt.Sprintf("%q:%s", u.name, u.entry))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "all.json")
	if err := os.WriteFile(file, []byte(`{"servers":{`+strings.Join(entries, ",")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--start-wait", "30s", file}, more...)
	s := newServer(exec.Command("slipway", args...))
	s.cmd.Env = append(os.Environ(), "GORACE="+raceOptions, "SLIPWAY_STATE_DIR="+dir)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		if err := <-s.done; err != nil {
			text, _ := s.log.read()
			t.Errorf("slipway serve ends with %v; stderr:\n%s", err, text)
		}
	})
	found, err := s.await(regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`))
	if err != nil {
		t.Fatal(err)
	}
	if at, err = url.Parse(strings.TrimSuffix(found, "/mcp")); err != nil {
		t.Fatal(err)
	}
	return at, s.cmd.Process.Pid
}

func answerAnything(method string, _ json.RawMessage) (any, error) {
	if method == "elicitation/create" {
		return map[string]any{"action": "decline"}, nil
	}
	return map[string]any{"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "yo"}}, nil
}

// TestAnyClientToAnyServer ensures that one process of the real program, connected to
// servers of each version over each transport, serves clients of each version.
func TestAnyClientToAnyServer(t *testing.T) {
	all := upstreamsOfAllKinds(t)
	at := serveAll(t, all)
	all = append(all, upstreamOf{name: "ws", version: mcp.Version20251125})
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.FlushInterval = -1
	for _, v := range mcp.Versions() {
		c := mcptest.ConnectHTTP(t, proxy, v, &mcptest.ConnectOptions{Answer: answerAnything})
		for _, u := range all {
			t.Run(fmt.Sprintf("%v client/%s", v, u.name), func(t *testing.T) { tryUpstream(t, c, u) })
		}
	}
	t.Run("changes", func(t *testing.T) { tryChanges(t, at, proxy, all) })
}

func tryUpstream(t *testing.T, c *mcptest.Client, u upstreamOf) {
	t.Helper()
	call := func(tool string) string {
		t.Helper()
		return string(c.Call("tools/call", map[string]any{"name": u.name + "_" + tool,
			"_meta": map[string]any{"progressToken": u.name + tool, "io.modelcontextprotocol/logLevel": "error"}}))
	}
	if got, want := call("say"), `"content":[{"type":"text",`+
		`"text":"`+u.version.String()+`"}],"structuredContent":{"n":12345678901234567890},`+
		`"x":[1e400]`; !strings.Contains(got, want) {
		t.Errorf("say = %s, want %s", got, want)
	}
	if got := call("sample"); !strings.Contains(got, `"text":"yo"`) {
		t.Errorf("sample = %s", got)
	}
	if u.version >= mcp.Version20250618 && c.Version() >= mcp.Version20250618 {
		if got := call("ask"); !strings.Contains(got, `"text":"decline"`) {
			t.Errorf("ask = %s", got)
		}
	}
	before := len(c.Notifications())
	call("steps")
	heard := ""
	for _, n := range c.Notifications()[before:] {
		heard += n.Method + " " + string(n.Params) + "\n"
	}
	if !strings.Contains(heard, `"progressToken":"`+u.name+`steps","progress":1,"total":2}`) || !strings.Contains(heard,
		`"data":"`+u.name+`"`) {
		t.Errorf("heard %s", heard)
	}
	_, e := c.Try("tools/call", map[string]any{"name": u.name + "_fail"})
	if e == nil || e.Code != 4711 || e.Message != "it failed" || string(e.Data) != `{"n":1.0}` {
		t.Errorf("fail = %+v", e)
	}
	if r := c.ReadResource(u.name + "://one"); len(r.Contents) != 1 || r.Contents[0].Text != u.name {
		t.Errorf("resource = %+v", r)
	}
	if got := string(c.Call("tools/list", nil)); c.Version() >= mcp.Version20250618 && !strings.Contains(got,
		`{"name":"`+u.name+`_say","inputSchema":{"type":"object"},"x":12345678901234567890}`) {
		t.Errorf("tools/list = %s", got)
	}
}

// hears reads an event stream until a message contains part.
func hears(t *testing.T, stream *bufio.Scanner, part string) {
	t.Helper()
	for stream.Scan() {
		if strings.Contains(stream.Text(), part) {
			return
		}
	}
	t.Fatalf("the stream ended without %s: %v", part, stream.Err())
}

// tryChanges makes each server announce a change, and expects clients of both eras to be
// notified.
func tryChanges(t *testing.T, at *url.URL, proxy http.Handler, all []upstreamOf) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	open := func(method, body string, header ...string) *bufio.Scanner {
		r, err := http.NewRequestWithContext(ctx, method, at.String()+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s", method, body, resp.Status)
		}
		return bufio.NewScanner(resp.Body)
	}
	// A client that does not send its session id, and one of 2026-07-28.
	old := open("GET", "", "Mcp-Protocol-Version", "2025-06-18")
	listen := open("POST",
		`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+
			`"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	hears(t, listen, "acknowledged")
	c := mcptest.ConnectHTTP(t, proxy, mcp.Version20251125, nil)
	for _, u := range all {
		c.Call("tools/call", map[string]any{"name": u.name + "_grow"})
		hears(t, old, "notifications/tools/list_changed")
		hears(t, listen, "notifications/tools/list_changed")
		if got := string(c.Call("tools/list", nil)); !strings.Contains(got, u.name+"_grown") {
			t.Errorf("%s: the list is %s", u.name, got)
		}
	}
}

// TestServeOutlivesItsServers repeatedly kills the servers of slipway serve: the next
// call is always answered, and no resources leak.
func TestServeOutlivesItsServers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process holds is read from /proc")
	}
	all := []upstreamOf{
		{"old", mcp.Version20241105, `{"command":"upstream","args":["old","2024-11-05"]}`},
		{"new", mcp.LatestVersion, `{"command":"upstream","args":["new","2026-07-28"]}`},
	}
	at, pid := serveProcess(t, all)
	proxy := httputil.NewSingleHostReverseProxy(at)
	c := mcptest.ConnectHTTP(t, proxy, mcp.Version20251125, nil)
	say := func(name string) string {
		return string(c.Call("tools/call", map[string]any{"name": name + "_say"}))
	}
	round := func() {
		for _, child := range serversOf(t, pid) {
			if p, err := os.FindProcess(child); err == nil {
				_ = p.Kill()
			}
			waitDead(t, child)
		}
		for _, u := range all {
			if got := say(u.name); !strings.Contains(got, `"text":"`+u.version.String()+`"`) {
				t.Errorf("say of %s = %s", u.name, got)
			}
		}
	}
	for range 5 {
		round()
	}
	before := openFiles(t, pid)
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		round()
	}
	if after := openFiles(t, pid); after > before+before/2 {
		t.Errorf("after %d kills there are %d open files, before there were %d", rounds*2, after, before)
	}
	if n := len(serversOf(t, pid)); n > 2 {
		t.Errorf("there are %d processes for two servers", n)
	}
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// serversOf returns the child processes of a process, including exited ones that it has
// not waited for.
func serversOf(t *testing.T, pid int) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		t.Skip("this system does not say which children a process has")
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has exited
		}
		for _, field := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, n)
		}
	}
	return pids
}

// waitDead waits until a process has disappeared completely: an exiting thread may still
// read data that is written to it.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); runtime.Gosched() {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			return
		}
	}
	t.Fatalf("process %d does not end", pid)
}
