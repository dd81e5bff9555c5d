package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// recorded implements [mcpserver.SessionRecords] and is a stateless source.
type recorded struct {
	mcp.Unimplemented

	mu     sync.Mutex
	events []string
	fail   error
}

func (*recorded) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "recorded", Version: "1"},
		Tools:     []mcp.Tool{{Name: "client"}, {Name: "ask"}, {Name: "progress"}},
		Resources: []mcp.Resource{{URI: "test://a", Name: "a"}},
		Subscribe: true,
		Logging:   true,
		Stateless: true,
	}, nil
}

func (*recorded) Watch(func(mcp.Change)) (stop func()) { return func() {} }

func (*recorded) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	rc := mcp.RequestFrom(ctx)
	switch p.Name {
	case "progress":
		rc.Log(mcp.LogAlert, "", "half way")
		rc.Log(mcp.LogAlert, "", "almost")
	case "ask":
		_, err := rc.Ask(ctx, &mcp.ListRootsParams{})
		return nil, err
	}
	s := rc.Session()
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(
		fmt.Sprintf("%s %s %s", s.ClientInfo(), s.ClientCapabilities(), s.LogLevel()))}}, nil
}

func (r *recorded) note(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
	return r.fail
}

func (r *recorded) Started(string)                        { _ = r.note("started") }
func (r *recorded) Ended(string)                          { _ = r.note("ended") }
func (r *recorded) Changed(context.Context, string) error { return r.note("changed") }
func (r *recorded) Forget(context.Context, string) error  { return r.note("forget") }

// sender sends a message for a session, or DELETE if it is empty, and returns the status, the new
// session id and the answer.
type sender func(ctx context.Context, session, body string) (status int, id, answer string)

// recordedSource is a source that learns of its sessions.
type recordedSource interface {
	mcp.Source
	mcpserver.SessionRecords
}

// recordedServer returns a server that shares its keys with the others, and a function that sends a
// message to it with a principal.
func recordedServer(r recordedSource) (*mcpserver.Server, sender) {
	s := mcpserver.New(r, &mcpserver.Options{
		StateKeys: [][]byte{[]byte(strings.Repeat("k", 32))},
		Sessions:  r,
	})
	h := s.HTTPHandler(nil)
	return s, func(ctx context.Context, session, body string) (int, string, string) {
		w := httptest.NewRecorder()
		method := http.MethodPost
		if body == "" {
			method = http.MethodDelete
		}
		req := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
			req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		}
		h.ServeHTTP(w, req)
		return w.Code, w.Header().Get("Mcp-Session-Id"), w.Body.String()
	}
}

// TestSessionRecord guards what another server continues of a session, and who may use it there.
func TestSessionRecord(t *testing.T) {
	records := &recorded{}
	a, postA := recordedServer(records)
	b, postB := recordedServer(&recorded{})
	ctx := mcp.WithPrincipal(t.Context(), &mcp.Principal{Name: "alice"})
	_, id, _ := postA(ctx, "", initialize)
	const subscribe = `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://a"}}`
	const level = `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`
	const call = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"client"}}`
	for _, body := range []string{level, subscribe} {
		if status, _, answer := postA(ctx, id, body); status != http.StatusOK {
			t.Fatalf("%s: %d %s", body, status, answer)
		}
	}
	record, ok := a.SessionRecord(id)
	if !ok || strings.Contains(string(record), "alice") {
		t.Fatalf("the record is missing or not sealed: %q", record)
	}
	other, _ := a.SessionRecord("unknown")
	_, otherID, _ := postA(ctx, "", initialize)
	for name, err := range map[string]error{
		"none":               b.RestoreSession(id, other),
		"of another session": b.RestoreSession(otherID, record),
		"changed":            b.RestoreSession(id, append([]byte{record[0] ^ 1}, record[1:]...)),
	} {
		if err == nil {
			t.Errorf("a record was accepted that is %s", name)
		}
	}
	guest, err := b.GuestContext(ctx, id, record)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"an-ordinary-client", "sampling", "alert"}
	check := func(where string, status int, answer string) {
		t.Helper()
		for _, part := range want {
			if status != http.StatusOK || !strings.Contains(answer, part) {
				t.Errorf("%s: %d %s, want %s", where, status, answer, part)
			}
		}
	}
	status, _, answer := postB(guest, id, call)
	check("as a guest", status, answer)
	for _, body := range []string{level, subscribe, strings.Replace(call, "client", "ask", 1)} {
		if _, _, answer := postB(guest, id, body); !strings.Contains(answer, "try again") {
			t.Errorf("a guest: %s got %s, want an error", body, answer)
		}
	}
	streams := map[string]bool{}
	for range 2 {
		again, err := b.GuestContext(ctx, id, record)
		if err != nil {
			t.Fatal(err)
		}
		_, _, events := postB(again, id, strings.Replace(call, "client", "progress", 1))
		_, event, _ := strings.Cut(events, "id: ")
		stream, _, _ := strings.Cut(event, "-")
		if n, err := strconv.Atoi(stream); err != nil || n < 1<<30 || streams[stream] {
			t.Errorf("events of a guest: %s, want a stream that no server resumes", events)
		}
		streams[stream] = true
	}
	if kept := b.Stats().KeptBytes; kept != 0 || b.Stats().Sessions != 0 {
		t.Errorf("%d bytes of guests are kept", kept)
	}
	mallory := mcp.WithPrincipal(guest, &mcp.Principal{Name: "mallory"})
	if status, _, _ := postB(mallory, id, call); status != http.StatusNotFound {
		t.Errorf("the session of another caller as a guest: %d, want 404", status)
	}
	if status, _, _ := postB(guest, otherID, call); status != http.StatusNotFound {
		t.Errorf("another session as a guest: %d, want 404", status)
	}
	if err := b.RestoreSession(id, record); err != nil {
		t.Fatal(err)
	}
	status, _, answer = postB(ctx, id, call)
	check("continued", status, answer)
	if kept := b.Stats().Kept; b.Stats().Sessions != 1 || kept[3].Count != 1 {
		t.Errorf("%d sessions, %d subscriptions, want one each", b.Stats().Sessions, kept[3].Count)
	}
	if status, _, _ := postB(mcp.WithPrincipal(t.Context(), &mcp.Principal{Name: "mallory"}), id, call); status !=
		http.StatusNotFound {
		t.Errorf("the session of another caller: %d, want 404", status)
	}
	if !a.ReleaseSession(t.Context(), id) || a.HasSession(id) {
		t.Error("the session was not released")
	}
	if got := fmt.Sprint(records.events); got != "[started changed changed started]" {
		t.Errorf("events %s: a release is no end", got)
	}
}

// TestUnrecordedChange guards that a change of a session that cannot be stored does not take place.
func TestUnrecordedChange(t *testing.T) {
	records := &recorded{}
	s, post := recordedServer(records)
	ctx := t.Context()
	_, id, _ := post(ctx, "", initialize)
	records.fail = context.DeadlineExceeded
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://a"}}`,
		"",
	} {
		if status, _, answer := post(ctx, id, body); status != http.StatusServiceUnavailable {
			t.Errorf("%q: %d %s, want 503", body, status, answer)
		}
	}
	_, _, answer := post(ctx, id, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"client"}}`)
	if !strings.Contains(answer, "info") {
		t.Errorf("the level has changed: %s", answer)
	}
	if n := s.Stats().Kept[3].Count; n != 0 {
		t.Errorf("%d subscriptions, want none", n)
	}
	records.fail = nil
	if status, _, _ := post(ctx, id, ""); status != http.StatusNoContent || s.HasSession(id) {
		t.Errorf("DELETE: %d", status)
	}
	if got := fmt.Sprint(records.events); got != "[started changed changed forget forget ended]" {
		t.Errorf("events %s", got)
	}
}
