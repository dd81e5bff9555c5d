package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

const stdioPong = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"

// For any line, the server sends the right error or none, and the stream continues.
func TestStdioLines(t *testing.T) {
	const limit = 300
	fill := func(n int) string {
		line := `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"fill":""}}`
		return strings.Replace(line, `""`, `"`+strings.Repeat("x", n-len(line))+`"`, 1)
	}
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, c := range []struct {
		name string
		line string
		code mcp.Code // 0: answered with {}
		id   string   // empty: not answered
	}{
		{"empty", "", 0, ""},
		{"white space", " \t \r", 0, ""},
		{"malformed", `{"jsonrpc":"2.0","id":2,`, parse, "null"},
		{"not json at all", "Content-Length: 52", parse, "null"},
		{"two messages", pingRequest + pingRequest, parse, "null"},
		{"invalid utf-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", parse, "null"},
		{"half a surrogate in utf-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xed\xa0\x80\",\"method\":\"ping\"}", parse, "null"},
		{"nul byte", "{\"jsonrpc\":\"2.0\",\"id\":2,\x00\"method\":\"ping\"}", parse, "null"},
		{"control character", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"pi\tng\"}", parse, "null"},
		{"byte order mark", "\ufeff" + pingRequest, parse, "null"},
		{"nested deeply", `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":` + deep + `}}`, 0, "2"},
		{"carriage return", `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\r", 0, "2"},
		{"white space around", "  " + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\t ", 0, "2"},
		{"as long as may be", fill(limit), 0, "2"},
		{"too long by one", fill(limit + 1), invalid, "null"},
		{"too long by far", fill(200_000), invalid, "null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startPipe(t, newDemo(), &server.StdioOptions{MaxLine: limit})
				p.send(c.line)
				got := takeApart(t, 0, nil, []byte(p.received()))
				if got.code != c.code || got.id != c.id {
					t.Errorf("code %d, id %q, want %d, %q\n%s", got.code, got.id, c.code, c.id, got.body)
				}
				p.send(pingRequest)
				if pong := p.received(); pong != stdioPong {
					t.Errorf("a ping behind it is answered with %q", pong)
				}
				if err := p.close(); err != nil {
					t.Errorf("ServeStdio = %v", err)
				}
			})
		})
	}
}

func TestStdioLargeLines(t *testing.T) {
	nested := func(n int) string {
		return `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) +
			`}}`
	}
	for _, c := range []struct {
		name string
		line string
		code mcp.Code
		id   string
	}{
		{"10,000 levels", nested(10_000), parse, "null"},
		{"a million levels, open", strings.Repeat("[", 1_000_000), parse, "null"},
		{"2 megabytes",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":%q}}`, strings.Repeat("x", 2<<20)), 0, "2"},
		{"5 megabytes",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":%q}}`, strings.Repeat("x", 5<<20)), invalid,
			"null"},
		{"an id of a megabyte", `{"jsonrpc":"2.0","method":"ping","id":"` + strings.Repeat("9", 1<<20) + `"}`, 0,
			`"` + strings.Repeat("9", 1<<20) + `"`},
		{"a number of a megabyte", `{"jsonrpc":"2.0","method":"ping","id":` + strings.Repeat("9", 1<<20) + `}`, 0,
			strings.Repeat("9", 1<<20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := server.New(newDemo(), nil).ServeStdio(t.Context(), strings.NewReader(c.line+"\n"+pingRequest), &out, nil)
			if err != nil {
				t.Fatal(err)
			}
			other, found := strings.CutSuffix(out.String(), stdioPong)
			if !found { // a long line may be overtaken
				other, found = strings.CutPrefix(out.String(), stdioPong)
			}
			if !found || strings.Count(other, "\n") != 1 {
				t.Fatalf("answers: %.200q, want two", out.String())
			}
			if got := takeApart(t, 0, nil, []byte(other)); got.code != c.code || got.id != c.id {
				t.Errorf("code %d, id %.50q, want %d, %.50q", got.code, got.id, c.code, c.id)
			}
		})
	}
}

// call returns a request for a tool in the stateless protocol, which needs no handshake.
func call(id any, tool string) string {
	return strings.Replace(modern("tools/call", fmt.Sprintf(`"name":%q`, tool)), `"id":1`, fmt.Sprintf(`"id":%v`, id), 1)
}

// idsIn returns the ids of the messages in order.
func idsIn(t *testing.T, lines string) (ids []string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in line %q", err, line)
		}
		ids = append(ids, string(m.ID))
	}
	return ids
}

func wantIDs(t *testing.T, lines string, want ...string) {
	t.Helper()
	if got := idsIn(t, lines); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("answers to %v, want %v\n%s", got, want, lines)
	}
}

// When the input or the context ends, the requests in flight may finish.
func TestStdioDrains(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(p *stdioPipe, cancel func())
	}{
		{"end of input", func(p *stdioPipe, _ func()) { p.in.Close() }},
		{"end of context", func(_ *stdioPipe, cancel func()) { cancel() }},
	} {
		for _, before := range []struct{ name, handshake, call string }{
			{"2025-06-18", initRequest, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`},
			{"2026-07-28", "", call(7, "wait")},
		} {
			t.Run(c.name+" "+before.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDemo()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					p := startPipeUnder(ctx, t, d, nil)
					p.send(before.handshake)
					p.send(before.call)
					p.received()
					start := time.Now()
					c.end(p, cancel)
					synctest.Wait()
					if len(p.end) > 0 {
						t.Fatal("ServeStdio returned with a request in flight")
					}
					close(d.release)
					if err := <-p.end; err != nil {
						t.Errorf("ServeStdio = %v", err)
					}
					wantIDs(t, p.received(), "7")
					if waited := time.Since(start); waited > 0 {
						t.Errorf("waited %v too long", waited)
					}
					p.in.Close()
				})
			})
		}
	}
}

func TestStdioDrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserver()
		p := startPipe(t, o, &server.StdioOptions{DrainTimeout: time.Minute})
		p.send(call(7, "wait"))
		ctx := <-o.contexts
		start := time.Now()
		if err := p.close(); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
		if waited := time.Since(start).Round(time.Millisecond); waited != time.Minute {
			t.Errorf("waited %v, want a minute", waited)
		}
		if ctx.Err() != context.Canceled {
			t.Errorf("the context of the call: %v, want %v", ctx.Err(), context.Canceled)
		}
		if got := p.received(); got != "" {
			t.Errorf("a cancelled request is answered: %s", got)
		}
	})
}

// brokenPipe fails after some writes.
type brokenPipe struct{ good int }

var errBroken = errors.New("broken pipe")

func (w *brokenPipe) Write(b []byte) (int, error) {
	if w.good--; w.good < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

func TestStdioWriteFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserver()
		in, w := io.Pipe()
		end := make(chan error, 1)
		go func() { end <- server.New(o, nil).ServeStdio(t.Context(), in, &brokenPipe{good: 1}, nil) }()
		start := time.Now()
		for _, line := range []string{call(1, "wait"), pingRequest} {
			io.WriteString(w, line+"\n")
			synctest.Wait()
		}
		if len(end) > 0 {
			t.Fatal("ended although nothing has failed yet")
		}
		io.WriteString(w, pingRequest+"\n")
		if err := <-end; !errors.Is(err, errBroken) {
			t.Errorf("ServeStdio = %v, want %v", err, errBroken)
		}
		if ctx := <-o.contexts; ctx.Err() == nil {
			t.Error("the request in flight was not cancelled")
		}
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("waited %v for a client that has gone", waited)
		}
		w.Close()
	})
}

func TestStdioReadFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, newDemo(), nil)
		p.send(pingRequest)
		p.in.CloseWithError(errBroken)
		if err := <-p.end; !errors.Is(err, errBroken) {
			t.Errorf("ServeStdio = %v, want %v", err, errBroken)
		}
		wantIDs(t, p.received(), "1")
	})
}

// A slow request blocks neither a ping after it nor its cancellation.
func TestStdioSlowCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		p := startPipe(t, d, nil)
		start := time.Now()
		p.send(call(`"slow"`, "wait"))
		p.send(pingRequest)
		wantIDs(t, p.received(), "1")
		if waited := time.Since(start); waited > time.Millisecond {
			t.Errorf("the ping waited %v", waited)
		}

		p.send(call(`"slow"`, "stored"))
		if got := takeApart(t, 0, nil, []byte(p.received())); got.code != invalid || got.id != `"slow"` {
			t.Errorf("an id in flight used again: code %d, id %s, want %d", got.code, got.id, invalid)
		}
		for _, other := range []string{`"fast"`, `slow`, `1`, `null`} {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + other + `}}`)
		}
		p.received() // one of them is not JSON
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`)
		if got := p.received(); got != "" {
			t.Errorf("a cancelled request is answered: %s", got)
		}
		p.send(call(`"slow"`, "stored"))
		wantIDs(t, p.received(), `"slow"`)
		if n := d.calls.Load(); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
		if err := p.close(); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	})
}

func TestStdioSlowCallsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20
		d := newDemo()
		p := startPipe(t, d, nil)
		for i := range n {
			p.send(call(i, "wait"))
		}
		synctest.Wait()
		if entered := len(d.entered); entered != n {
			t.Fatalf("%d calls run at once, want %d", entered, n)
		}
		p.send(pingRequest)
		wantIDs(t, p.received(), "1")
		close(d.release)
		if got := idsIn(t, p.received()); len(got) != n {
			t.Errorf("%d answers, want %d", len(got), n)
		}
		if err := p.close(); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	})
}

func TestStdioMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		p := startPipe(t, d, &server.StdioOptions{MaxInFlight: 2})
		go func() {
			for i := range 5 {
				p.send(call(i, "wait"))
			}
			p.send(pingRequest)
		}()
		time.Sleep(time.Second) // longer than patience
		synctest.Wait()
		if entered := len(d.entered); entered != 3 { // two that have exceeded patience, and the leader's own
			t.Errorf("%d calls run, want 3", entered)
		}
		if got := p.received(); got != "" {
			t.Errorf("answered %q, want reading to wait", got)
		}
		close(d.release)
		if got := idsIn(t, p.received()); len(got) != 6 {
			t.Errorf("answers to %v, want six", got)
		}
		if err := p.close(); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	})
}

// Answers are sent together while more requests are available, but none waits for a
// request that has not arrived yet.
func TestStdioGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		p := startPipe(t, d, nil)
		p.send(strings.Repeat(pingRequest+"\n", 49) + pingRequest)
		if got := idsIn(t, p.received()); len(got) != 50 {
			t.Errorf("%d answers, want 50", len(got))
		}
		if p.out.writes > 5 {
			t.Errorf("%d writes for 50 answers", p.out.writes)
		}

		io.WriteString(p.in, pingRequest+"\n"+pingRequest[:20])
		wantIDs(t, p.received(), "1")
		p.send(pingRequest[20:])
		wantIDs(t, p.received(), "1")

		// A slow request does not delay earlier answers.
		p.send(pingRequest + "\n" + call(2, "wait"))
		time.Sleep(time.Millisecond)
		wantIDs(t, p.received(), "1")
		close(d.release)
		wantIDs(t, p.received(), "2")
		if err := p.close(); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	})
}

func TestStdioListChanged(t *testing.T) {
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, c := range []struct {
		name string
		say  []string
		want string
	}{
		{"before the handshake", nil, ""},
		{"initialized without a handshake", []string{initialized}, ""},
		{"before it is done", []string{initRequest}, ""},
		{"after it", []string{initRequest, initialized}, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}
`},
		{"stateless", []string{call(1, "stored")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDemo()
				p := startPipe(t, d, nil)
				for _, line := range c.say {
					p.send(line)
				}
				p.received()
				d.changed(mcp.Change{Tools: true, Prompts: true})
				if got := p.received(); got != c.want {
					t.Errorf("told %q, want %q", got, c.want)
				}
				if err := p.close(); err != nil {
					t.Errorf("ServeStdio = %v", err)
				}
			})
		})
	}
}

// busy is a source in which every tenth call takes longer than a leader's patience.
type busy struct{ *demo }

func (b busy) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if b.calls.Add(1)%10 == 0 {
		for start := time.Now(); time.Since(start) < 300*time.Microsecond; {
			runtime.Gosched()
		}
	}
	return text("x"), nil
}

// Under load, in real time: every request is answered exactly once, regardless of the
// leader, and no goroutines are left.
func TestStdioPipelined(t *testing.T) {
	const n = 2000
	before := runtime.NumGoroutine()
	in, w := io.Pipe()
	r, out := io.Pipe()
	end := make(chan error, 1)
	go func() {
		end <- server.New(busy{newDemo()}, nil).ServeStdio(context.Background(), in, out, nil)
		out.Close()
	}()
	go func() {
		for i := range n {
			io.WriteString(w, call(i, "stored")+"\n")
		}
		w.Close()
	}()
	answers, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-end; err != nil {
		t.Errorf("ServeStdio = %v", err)
	}
	seen := make(map[string]int)
	for _, id := range idsIn(t, string(answers)) {
		seen[id]++
	}
	for i := range n {
		if times := seen[fmt.Sprint(i)]; times != 1 {
			t.Errorf("request %d is answered %d times", i, times)
		}
	}
	for i := 0; runtime.NumGoroutine() > before; i++ {
		if i == 1000 {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
		runtime.Gosched() // goroutines that have ended may still be counted
	}
}
