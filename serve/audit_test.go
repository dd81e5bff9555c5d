package serve_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

var auditKey = []byte("0123456789abcdef0123456789abcdef")

func hashed(text string, size int) string {
	h := hmac.New(sha256.New, auditKey)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:size])
}

// auditLines parses the lines of a log, and verifies that each is a JSON object with a
// time.
func auditLines(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(string(text)) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("line %q: %v", line, err)
		}
		at, err := time.Parse("2006-01-02T15:04:05.000Z", l["time"].(string))
		if err != nil || time.Since(at) > time.Hour {
			t.Errorf("line %q: time %v", line, err)
		}
		delete(l, "time")
		all = append(all, l)
	}
	return all
}

// shelf is a source with one of everything that can be audited.
type shelf struct {
	mcp.Unimplemented
	name string
}

func (s shelf) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: s.name, Version: "1"},
		Tools:     []mcp.Tool{{Name: s.name + "_tool"}, {Name: s.name + "_fails"}},
		Templates: []mcp.ResourceTemplate{{URITemplate: s.name + "://{+rest}", Name: "any"}},
		Prompts:   []mcp.Prompt{{Name: s.name + "_prompt", Arguments: []mcp.PromptArgument{{Name: "who"}}}},
	}, nil
}

func (s shelf) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{
		Content: []mcp.Content{mcp.Text("the result")},
		IsError: strings.HasSuffix(p.Name, "fails"),
	}, nil
}

func (s shelf) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if !strings.HasPrefix(p.URI, s.name) {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "the result"}}}, nil
}

func (s shelf) GetPrompt(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser,
		Content: mcp.Text("the result")}}}, nil
}

func TestAudit(t *testing.T) {
	src, err := compose.Union(t.Context(),
		[]compose.Named{{Name: "left", Source: shelf{name: "l"}}, {Name: "right", Source: shelf{name: "r"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit, err := serve.OpenAudit(path, &serve.AuditOptions{Key: auditKey})
	if err != nil {
		t.Fatal(err)
	}
	h := serve.NewHandler(src, &serve.Options{Reporting: serve.Reporting{Audit: audit}, Auth: testAuth(t)})
	bearer := []string{"Authorization", "Bearer " + readerToken}
	id := exchange(h, "POST", "/mcp", initialize, bearer...).Header().Get("Mcp-Session-Id")
	in := append([]string{"Mcp-Session-Id", id, "Traceparent",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		bearer...)
	request := func(method, params string) {
		exchange(h, "POST", "/mcp", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`, in...)
	}
	request("tools/list", `{}`)
	request("ping", `{}`)
	request("tools/call", `{"name":"r_tool","arguments":{"city": "hunter22"}}`)
	request("tools/call", `{"name":"r_fails"}`)
	request("tools/call", `{"name":"hidden_tool","arguments":{"city":"hunter22"}}`)
	request("resources/read", `{"uri":"l://ann:hunter22@host/way?key=hunter22#hunter22"}`)
	request("resources/read", `{"uri":"other://x"}`)
	request("prompts/get", `{"name":"r_prompt","arguments":{"who":"hunter22"}}`)
	exchange(h, "POST", "/mcp",
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"l_tool",
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientCapabilities":{},
		"io.modelcontextprotocol/clientInfo":{"name":"new \u0041","version":"3"}}}}`,
		append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "l_tool"},
			bearer...)...)
	exchange(h, "POST", "/mcp", list, "Authorization", "Bearer hunter22hunter22hunter22")
	exchange(h, "POST", "/mcp", list, append([]string{"Mcp-Session-Id", "hunter22"}, bearer...)...)
	exchange(h, "POST", "/mcp", list, append([]string{"Origin", "https://evil.example.com"}, bearer...)...)
	exchange(h, "DELETE", "/mcp", "", in...)
	audit.Server(&serve.AuditServer{
		Name:    "left",
		Address: "sh -c x",
		Origin:  "sha256:ab, x@1",
		What:    "lost",
		Reason:  "the server ended: exit status 1",
	})
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter22", "the result", id, readerToken} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the log holds %q:\n%s", secret, text)
		}
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
		}
	}
	got := auditLines(t, text)
	for _, l := range got {
		for _, changing := range []string{"duration_ms", "received", "sent", "pid", "key"} {
			delete(l, changing)
		}
	}
	who := map[string]any{"principal": "reader", "client": "t", "client_version": "1", "session": hashed(id, 8),
		"protocol": "2025-06-18", "transport": "http", "remote": "192.0.2.1:1234"}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	line := func(of map[string]any, members ...any) map[string]any {
		l := map[string]any{"event": "request", "status": 200.0, "outcome": "ok"}
		for name, value := range of {
			l[name] = value
		}
		for i := 0; i < len(members); i += 2 {
			l[members[i].(string)] = members[i+1]
			if members[i+1] == nil {
				delete(l, members[i].(string))
			}
		}
		return l
	}
	want := []map[string]any{
		{"event": "log", "what": "opened"},
		line(who, "method", "initialize"),
		line(who, "method", "tools/call", "name", "r_tool", "server", "right",
			"trace_id", trace, "arguments", hashed(`{"city": "hunter22"}`, 32)),
		line(who, "method", "tools/call", "name", "r_fails", "server", "right", "trace_id", trace, "outcome",
			"tool_error"),
		line(who, "method", "tools/call", "name", "hidden_tool", "trace_id", trace, "outcome",
			"error", "code", -32602.0, "arguments", hashed(`{"city":"hunter22"}`, 32)),
		line(who, "method", "resources/read", "uri", "l://host/way", "server", "left", "trace_id", trace),
		line(who, "method", "resources/read", "uri", "other://x", "server",
			"right", "trace_id", trace, "outcome", "error", "code", -32002.0),
		line(who, "method", "prompts/get", "name", "r_prompt", "server", "right",
			"trace_id", trace, "arguments", hashed(`{"who":"hunter22"}`, 32)),
		line(who, "method", "tools/call", "name", "l_tool", "server", "left", "client",
			"new A", "client_version", "3", "session", nil, "protocol", "2026-07-28"),
		{"event": "refused", "status": 401.0, "reason": "the token is not valid", "remote": "192.0.2.1:1234"},
		{"event": "refused", "method": "tools/list", "status": 404.0, "code": -32600.0,
			"principal": "reader", "protocol": "2025-03-26", "transport": "http", "remote": "192.0.2.1:1234"},
		{"event": "refused", "status": 403.0, "code": -32600.0, "protocol": "2026-07-28", "transport": "http"},
		line(map[string]any{
			"client":         "t",
			"client_version": "1",
			"session":        hashed(id, 8),
			"protocol":       "2025-06-18",
			"transport":      "http",
		},
			"event", "session_end", "outcome", nil, "status", nil),
		{"event": "server", "what": "lost", "server": "left", "address": "sh -c x", "origin": "sha256:ab, x@1",
			"reason": "the server ended: exit status 1"},
		{"event": "log", "what": "closed"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s\n%s", diff, text)
	}
}

// Text of clients and servers in the log must not affect the terminal of its reader.
func TestAuditIsPrintable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit, err := serve.OpenAudit(path, &serve.AuditOptions{Key: auditKey})
	if err != nil {
		t.Fatal(err)
	}
	h := serve.NewHandler(shelf{name: "l"}, &serve.Options{Reporting: serve.Reporting{Audit: audit}})
	const hostile = "a\u009b31m\u202eb\u2028\x7f\u2066\ufeffc"
	post := func(body string) { exchange(h, "POST", "/mcp", body) }
	post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"` + hostile + `","version":"` + hostile + `"}}}`)
	post(`{"jsonrpc":"2.0","id":2,"method":"` + hostile + `"}`)
	post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + hostile + `"}}`)
	post(`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"` + hostile + `"}}`)
	post(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"l://` + hostile + `"}}`)
	audit.Server(&serve.AuditServer{Name: hostile, Address: hostile, Origin: hostile, What: "lost", Reason: hostile})
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("line %d: %q", i+1, line)
		}
	}
	named := 0
	for _, line := range auditLines(t, text) {
		for _, member := range []string{"client", "method", "name", "reason"} {
			if line[member] == hostile {
				named++
			}
		}
	}
	if named < 5 {
		t.Errorf("what was written is found %d times, want it as it was at least 5 times:\n%s", named, text)
	}
}

func TestAuditOfStdio(t *testing.T) {
	var out bytes.Buffer
	audit, err := serve.NewAudit(&out, &serve.AuditOptions{Required: true})
	if err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader(initialize + "\n" + toolCall("l_tool") + "\n")
	opts := &serve.Options{Reporting: serve.Reporting{Audit: audit}}
	if err := serve.Stdio(t.Context(), shelf{name: "l"}, in, &bytes.Buffer{}, opts); err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, l := range auditLines(t, out.Bytes()) { // all lines are written before Close
		events = append(events, fmt.Sprint(l["event"], " ", l["method"], " ", l["transport"]))
	}
	want := []string{
		"log <nil> <nil>", "begin initialize stdio", "request initialize stdio",
		"begin tools/call stdio", "request tools/call stdio", "session_end <nil> stdio",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// disk is a writer that can be full, or accept only a part of a write.
type disk struct {
	mu   sync.Mutex
	text []byte
	room int // -1: unlimited
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(p)
	if d.room >= 0 {
		n = min(n, d.room)
		d.room -= n
	}
	d.text = append(d.text, p[:n]...)
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (d *disk) set(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// TestAuditOnAFullDisk verifies that calls continue, and that lines are kept, then
// counted, and written again once there is room, each on its own line.
func TestAuditOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: 300} // the first line, and a part of the next
		audit, err := serve.NewAudit(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := serve.NewHandler(shelf{name: "l"}, &serve.Options{Reporting: serve.Reporting{Audit: audit}})
		const calls = 8000 // more than a MiB of lines
		for range calls {
			if got := exchange(h, "POST", "/mcp", toolCall("l_tool")); got.Code != 200 ||
				!strings.Contains(got.Body.String(), "the result") {
				t.Fatalf("a call = %d %s", got.Code, got.Body)
			}
		}
		time.Sleep(3 * time.Second)
		lost := scrape(t, h)["slipway_audit_lost_total"]
		if lost == 0 || lost > calls-2000 {
			t.Errorf("%v lines are lost, want some, but not what fits into memory", lost)
		}
		d.set(-1)
		time.Sleep(3 * time.Second)
		if got := exchange(h, "POST", "/mcp", toolCall("l_fails")); got.Code != 200 {
			t.Errorf("a call = %d", got.Code)
		}
		if err := audit.Close(); err != nil {
			t.Fatal(err)
		}
		requests, said, torn := 0, 0.0, 0
		for line := range strings.Lines(string(d.text)) {
			var l map[string]any
			if json.Unmarshal([]byte(line), &l) != nil {
				torn++
				continue
			}
			if l["event"] == "request" {
				requests++
			}
			if l["what"] == "lost" {
				said += l["lines"].(float64)
			}
		}
		if torn != 1 || said != lost || requests != calls+1-int(lost) {
			t.Errorf("%d torn lines, %v said to be lost, %d requests; want 1, %v, %d",
				torn, said, requests, lost, calls+1-int(lost))
		}
		if got := scrape(t, h); got["slipway_audit_lost_total"] != lost ||
			got["slipway_audit_lines_total"] != float64(requests+3) {
			t.Errorf("metrics: %v", got["slipway_audit_lines_total"])
		}
	})
}

func TestAuditRequired(t *testing.T) {
	d := &disk{room: -1}
	audit, err := serve.NewAudit(d, &serve.AuditOptions{Required: true})
	if err != nil {
		t.Fatal(err)
	}
	src := newSource()
	h := serve.NewHandler(src, &serve.Options{Reporting: serve.Reporting{Audit: audit}})
	done := make(chan int)
	go func() { done <- exchange(h, "POST", "/mcp", call).Code }()
	<-src.entered
	d.mu.Lock()
	if !strings.Contains(string(d.text), `"event":"begin","method":"tools/call","name":"slow"`) {
		t.Errorf("when the tool runs, the log is %q", d.text)
	}
	d.mu.Unlock()
	src.release <- struct{}{}
	if code := <-done; code != 200 || !strings.Contains(string(d.text), `"outcome":"ok"`) {
		t.Errorf("a call = %d, the log is %q", code, d.text)
	}
	d.set(0)
	got := exchange(h, "POST", "/mcp", call)
	if got.Code != 503 || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "audit") {
		t.Errorf("a call that cannot be recorded = %d %v %s, want 503", got.Code, got.Header(), got.Body)
	}
	if len(src.entered) > 0 {
		t.Error("it has reached the source")
	}
	if got := exchange(h, "POST", "/mcp", list); got.Code != 200 {
		t.Errorf("a list = %d, want 200: it is not recorded", got.Code)
	}
	d.set(-1)
	src.release <- struct{}{}
	if got := exchange(h, "POST", "/mcp", call); got.Code != 200 {
		t.Errorf("a call once there is room = %d %s", got.Code, got.Body)
	}
	if err := audit.Close(); err != nil {
		t.Error(err)
	}
}

func TestAuditRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "audit.jsonl")
		audit, err := serve.OpenAudit(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, rotate := range []func() error{
			func() error { time.Sleep(2 * time.Second); return nil },
			audit.Reopen, // earlier lines are in the old file
		} {
			before, after := fmt.Sprint("before ", i), fmt.Sprint("after ", i)
			audit.Server(&serve.AuditServer{Name: before, What: "started"})
			if i == 0 {
				time.Sleep(time.Second) // until it is written
			}
			old := fmt.Sprintf("%s.%d", path, i)
			if err := errors.Join(os.Rename(path, old), rotate()); err != nil {
				t.Fatal(err)
			}
			audit.Server(&serve.AuditServer{Name: after, What: "started"})
			time.Sleep(time.Second)
			gone, err1 := os.ReadFile(old)
			now, err2 := os.ReadFile(path)
			if err1 != nil ||
				err2 != nil ||
				bytes.Contains(gone, []byte(after)) ||
				!bytes.Contains(gone, []byte(before)) ||
				!bytes.Contains(now, []byte(after)) ||
				bytes.Contains(now, []byte(before)) {
				t.Errorf("%d: the old file is %q, %v, the new one %q, %v", i, gone, err1, now, err2)
			}
		}
		if err := audit.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAuditOfSeveral verifies that several logs in one file keep their lines whole.
func TestAuditOfSeveral(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			audit, err := serve.OpenAudit(path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for range 500 {
				audit.Server(&serve.AuditServer{Name: fmt.Sprint("server ", i), Address: strings.Repeat("x", 300),
					What: "started"})
			}
			if err := audit.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(auditLines(t, text)); n != 4*502 {
		t.Errorf("%d lines, want %d", n, 4*502)
	}
}

func TestAuditOptionsWithoutSense(t *testing.T) {
	if _, err := serve.OpenAudit(filepath.Join(t.TempDir(), "no", "file"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenAudit = %v, want that there is no such folder", err)
	}
	if _, err := serve.NewAudit(&bytes.Buffer{}, &serve.AuditOptions{Key: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
}
