package inspect_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/inspect"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
)

const token = "test-token"

// secret is a credential in a known format.
const secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ456789"

// office is a source whose tools do what inspectors find difficult.
type office struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

func newOffice() *office {
	tool := func(name, schema string) mcp.Tool {
		return mcp.Tool{
			Name:        name,
			Description: "Does " + name,
			InputSchema: json.RawMessage(schema),
		}
	}
	return &office{catalog: &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "office",
			Version: "1.0.0",
		},
		Tools: []mcp.Tool{
			tool("ask", `{"type":"object"}`),
			tool("flood", `{"type":"object","properties":{"n":{"type":"integer"}}}`),
			tool("big", `{"type":"object"}`),
			tool("hang", `{"type":"object"}`),
			tool("secret", `{"type":"object"}`),
			tool("denied", `{"type":"object"}`),
			tool("count", `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`),
			tool("essays", `{"type":"object","properties":{"n":{"type":"integer"}}}`),
		},
		Logging: true,
	}}
}

func (o *office) Catalog(context.Context) (*mcp.Catalog, error) { return o.catalog, nil }

func (o *office) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	req := mcp.RequestFrom(ctx)
	text := "done"
	switch p.Name {
	case "ask":
		answer, err := req.Elicit(ctx, &mcp.ElicitParams{
			Message: "Your name?",
			RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"name":{"type":"string","minLength":3}},"required":["name"]}`),
		})
		if err != nil {
			return nil, err
		}
		text = answer.Action + " " + string(answer.Content)
	case "flood":
		n, _ := strconv.Atoi(string(p.Argument("n")))
		for i := range n {
			req.Progress(float64(i+1), float64(n), "working")
			req.Log(mcp.LogInfo, "flood", map[string]int{"line": i})
		}
	case "essays":
		n, _ := strconv.Atoi(string(p.Argument("n")))
		for range n {
			req.Log(mcp.LogInfo, "essays", strings.Repeat("word ", 3000))
		}
	case "big":
		text = strings.Repeat("x", 5<<20)
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "denied":
		return nil, &mcp.Error{
			Code:    -32000,
			Message: "denied",
			Data:    json.RawMessage(`{"password":"hunter2-correct-horse"}`),
		}
	case "secret":
		text = "the token is " + secret + " and the password hunter2-correct-horse"
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

// desk is an inspector behind an HTTP server.
type desk struct {
	t   testing.TB
	url string
	in  *inspect.Inspector
}

func newDesk(t testing.TB, opts *inspect.Options, sources ...*inspect.Source) *desk {
	t.Helper()
	if opts == nil {
		opts = &inspect.Options{}
	}
	opts.Token = token
	if sources == nil {
		sources = []*inspect.Source{inspect.Served("office", newOffice())}
	}
	in := inspect.Handler(sources, opts)
	web := httptest.NewServer(in)
	t.Cleanup(func() {
		_ = in.Close()
		web.Close()
	})
	return &desk{t, web.URL, in}
}

func (d *desk) do(method, path, body string) (int, []byte) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, text
}

// get returns the JSON at a path of the API.
func (d *desk) get(path string, into any) {
	d.t.Helper()
	status, text := d.do("GET", path, "")
	if status != 200 {
		d.t.Fatalf("GET %s: %d %s", path, status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) post(path, body string) []byte {
	d.t.Helper()
	status, text := d.do("POST", path, body)
	if status != 200 {
		d.t.Fatalf("POST %s: %d %s", path, status, text)
	}
	return text
}

// ReadResource returns the user interface of TestApp.
func (o *office) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{
		URI:      p.URI,
		MIMEType: apps.MIMEType,
		Text:     "<!doctype html><title>count</title>",
	}}}, nil
}

// stream reads the lines of the stream.
type stream struct {
	t     testing.TB
	lines *bufio.Scanner
	stop  func()
}

func (d *desk) stream(after int) *stream {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), 30*time.Second)
	r, _ := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/api/stream?after=%d", d.url, after), nil)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		stop()
		_ = resp.Body.Close()
	})
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	return &stream{d.t, lines, stop}
}

// event is a line of the stream.
type event struct {
	Frame *inspect.Frame
	State *inspect.State
	Ask   *struct {
		ID   int
		Call int
		Mode string
		Form *struct{ Kind string }
	}
	Call *struct {
		ID            int
		State         string
		Request       uint64
		Answer        uint64
		Logs          int
		Progress      json.RawMessage
		Error         *inspect.Failure
		Bytes, Tokens int
	}
	Log      *struct{ Call int }
	Progress *struct{ Call int }
	Gap      *struct{ From, To uint64 }
	Catalog  json.RawMessage
	Snapshot *struct {
		Sources []inspect.State
		Running []struct{ ID int }
	}
	Lists *struct {
		Source int `json:"src"`
		Tools  []json.RawMessage
	}
}

// until reads lines until one is as wanted.
func (s *stream) until(what string, wanted func(*event) bool) *event {
	s.t.Helper()
	for s.lines.Scan() {
		var e event
		if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil {
			s.t.Fatalf("%v: %s", err, s.lines.Bytes())
		}
		if wanted(&e) {
			return &e
		}
	}
	s.t.Fatalf("the stream ended without %s: %v", what, s.lines.Err())
	return nil
}

func (d *desk) ready(version string) {
	d.t.Helper()
	for range 600 {
		var state struct{ Sources []inspect.State }
		d.get("/api/state", &state)
		s := state.Sources[0]
		if s.Phase == "ready" && s.ETag != "" && (version == "" || s.Version == version) {
			return
		}
		if s.Phase == "failed" {
			d.t.Fatalf("it has failed: %v", s.Error)
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.t.Fatal("it is not ready")
}

func ended(e *event) bool { return e.Call != nil && e.Call.State != "running" }

// A server asks, the page answers; in both eras of the protocol.
func TestQuestions(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			d := newDesk(t, nil)
			d.ready("")
			d.post("/api/reconnect", `{"source":1,"version":"`+version+`"}`)
			d.ready(version)
			s := d.stream(-1)
			d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"ask"}}`)
			ask := s.until("a question", func(e *event) bool { return e.Ask != nil }).Ask
			if ask.Mode != "form" || ask.Form == nil || ask.Form.Kind != "object" || ask.Call != 1 {
				t.Errorf("the question is %+v", ask)
			}
			var v struct{ Problems []inspect.Problem }
			if err := json.Unmarshal(d.post("/api/check", `{"ask":1,"text":"{\"name\":\"é\"}"}`), &v); err != nil {
				t.Fatal(err)
			}
			if len(v.Problems) != 1 || v.Problems[0].Pointer != "/name" || v.Problems[0].At != [2]int{8, 11} {
				t.Errorf("problems: %+v", v.Problems)
			}
			d.post("/api/answer", `{"ask":1,"action":"accept","content":{"name":"Ann"}}`)
			call := s.until("the end of the call", ended).Call
			if call.State != "done" || call.Answer == 0 {
				t.Fatalf("the call is %+v", call)
			}
			_, body := d.do("GET", fmt.Sprintf("/api/frames/%d", call.Answer), "")
			if !bytes.Contains(body, []byte(`accept {\"name\":\"Ann\"}`)) {
				t.Errorf("the answer is %s", body)
			}
			if status, _ := d.do("POST", "/api/answer", `{"ask":1,"action":"accept"}`); status != 404 {
				t.Errorf("a second answer: status %d", status)
			}
		})
	}
}

// None of 10,000 log lines and as many progress notifications is lost.
func TestFlood(t *testing.T) {
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(-1)
	began := time.Now()
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"flood","arguments":{"n":10000}}}`)
	logs, progress := 0, 0
	call := s.until("the end of the call", func(e *event) bool {
		if e.Log != nil && e.Log.Call == 1 {
			logs++
		}
		if e.Progress != nil && e.Progress.Call == 1 {
			progress++
		}
		return ended(e)
	}).Call
	t.Logf("%v", time.Since(began))
	if logs != 10_000 || call.Logs != 10_000 || progress == 0 {
		t.Errorf("%d log lines and %d of progress in the stream, %d in the call", logs, progress, call.Logs)
	}
	if string(call.Progress) == "" || !bytes.Contains(call.Progress, []byte(`"total":10000`)) {
		t.Errorf("the last progress is %s", call.Progress)
	}
}

// A large result is in a file, its head is small, and any part of it can be read.
func TestLargeResult(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"big"}}`)
	call := s.until("the end of the call", ended).Call
	if call.Bytes < 5<<20 || call.Tokens < 1<<20 {
		t.Errorf("%d bytes, %d tokens", call.Bytes, call.Tokens)
	}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("%s/api/frames/%d", d.url, call.Answer), nil)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Range", "bytes=0-9")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 206 || string(text) != `{"jsonrpc"` {
		t.Errorf("part: %d %s", resp.StatusCode, text)
	}
	if files, _ := filepath.Glob(filepath.Join(temporary, "slipway-inspect-*", "*")); len(files) != 1 {
		t.Errorf("the body is in %q, want one file", files)
	}
	if err := d.in.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temporary); len(left) != 0 {
		t.Errorf("%q is left", left)
	}
}

// A call can be cancelled, and ends after its time.
func TestCancel(t *testing.T) {
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"hang"}}`)
	s.until("the request", func(e *event) bool { return e.Frame != nil && e.Frame.Call == 1 && e.Frame.Cause == "user" })
	d.post("/api/cancel", `{"call":1}`)
	if call := s.until("its end", ended).Call; call.State != "cancelled" {
		t.Errorf("the call is %+v", call)
	}
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"hang"},"timeout":0.05}`)
	if call := s.until("its end", ended).Call; call.State != "timeout" || call.Error == nil {
		t.Errorf("the call is %+v", call)
	}
	d.post("/api/call", `{"source":1,"method":"no/such","params":{"a":1}}`)
	if call := s.until("its end", ended).Call; call.State != "failed" || call.Error.RPC != -32601 {
		t.Errorf("the call is %+v", call)
	}
}

// Credentials are nowhere in what the page can read.
func TestSecrets(t *testing.T) {
	d := newDesk(t, &inspect.Options{
		Environment: []string{"OFFICE_PASSWORD=hunter2-correct-horse"},
	}, &inspect.Source{
		Name:  "office",
		Label: "https://example.com/mcp?key=" + secret,
		Open: func(context.Context, *inspect.Connect) (mcp.Source, error) {
			return newOffice(), nil
		},
	})
	d.ready("")
	s := d.stream(0)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"secret"},"meta":{"x":"`+secret+`"}}`)
	var lines strings.Builder
	call := s.until("its end", func(e *event) bool {
		lines.Write(s.lines.Bytes())
		return ended(e)
	}).Call
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"denied"}}`)
	s.until("the error", func(e *event) bool {
		lines.Write(s.lines.Bytes())
		return ended(e) && e.Call.ID == 2
	})
	for _, path := range []string{
		"/", "/api/state", "/api/catalog", "/api/frames", "/api/record", "/api/search?q=token",
		fmt.Sprintf("/api/frames/%d", call.Answer), fmt.Sprintf("/api/frames/%d", call.Request),
		fmt.Sprintf("/api/frames/%d/copy?as=slipway", call.Request), "/api/commands",
	} {
		_, text := d.do("GET", path, "")
		lines.Write(text)
	}
	if !strings.Contains(lines.String(), "the token is [redacted]") {
		t.Error("the result is missing")
	}
	for _, text := range []string{secret, "hunter2-correct-horse"} {
		if i := strings.Index(lines.String(), text); i >= 0 {
			t.Errorf("%q is in %s", text, lines.String()[max(0, i-200):i+20])
		}
	}
}

// A search that finds only requests has their responses next to them, and every request that has
// one names it.
func TestSearchHasAnswers(t *testing.T) {
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"count","arguments":{"n":3}}}`)
	call := s.until("the end", ended).Call
	var found struct {
		Frames, Answers []inspect.Frame
	}
	d.get("/api/search?q=method:tools/call+kind:request", &found)
	if len(found.Frames) != 1 || len(found.Answers) != 1 {
		t.Fatalf("found %d requests, %d responses", len(found.Frames), len(found.Answers))
	}
	request, answer := found.Frames[0], found.Answers[0]
	if request.Pair != answer.Seq || answer.Pair != request.Seq || answer.Seq != call.Answer {
		t.Errorf("request %d has response %d, response %d has request %d, want response %d",
			request.Seq, request.Pair, answer.Seq, answer.Pair, call.Answer)
	}
	d.get("/api/search?q=call:1", &found)
	if len(found.Answers) != 0 {
		t.Errorf("%d responses are listed twice", len(found.Answers))
	}
}

// TestWrongTokens guards that wrong tokens, which a page of another origin can send too, do not lock the user out.
func TestWrongTokens(t *testing.T) {
	d := newDesk(t, nil)
	try := func(tok string) int {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", d.url+"/api/state", nil)
		r.Header.Set("Authorization", "Bearer "+tok)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for i := range 50 {
		if got := try("wrong"); got != 401 {
			t.Fatalf("try %d: %d", i, got)
		}
	}
	if got := try(token); got != 200 {
		t.Errorf("the right token after 50 wrong ones: %d", got)
	}
}

// Requests are copied in forms that other programs understand.
func TestCopy(t *testing.T) {
	o := newOffice()
	o.catalog = o.catalog.Copy()
	flag := o.catalog.Tools[0]
	flag.Name = "--trace=x"
	o.catalog.Tools = append(o.catalog.Tools, flag)
	d := newDesk(t, nil, &inspect.Source{
		Name:     "office",
		Argument: []string{"--", "office", "--desk=two  spaces and 'quotes'"},
		Open:     func(context.Context, *inspect.Connect) (mcp.Source, error) { return o, nil },
	})
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"count","arguments":{"n":3}}}`)
	call := s.until("the end", ended).Call
	for as, want := range map[string]string{
		"slipway": "slipway call count --json-args " + process.ShellWord(`{"n":3}`) +
			" -- office " + process.ShellWord("--desk=two  spaces and 'quotes'"),
		"gotest": "func TestCount(t *testing.T) {\n\tsrc, err := open.Open(t.Context(), " +
			"open.Command([]string{\"office\", \"--desk=two  spaces and 'quotes'\"}), nil)",
		"frame": `"method":"tools/call"`,
		"call":  `"arguments": {`,
	} {
		var got struct{ Text string }
		d.get(fmt.Sprintf("/api/frames/%d/copy?as=%s", call.Request, as), &got)
		if !strings.Contains(got.Text, want) {
			t.Errorf("as %s: %s\nwant %s", as, got.Text, want)
		}
	}
	if status, text := d.do("GET", fmt.Sprintf("/api/frames/%d/copy?as=curl", call.Request), ""); status != 400 {
		t.Errorf("curl over a pipe: %d %s", status, text)
	}
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"--trace=x","arguments":{}}}`)
	first := call.Request
	call = s.until("the end of the next call", func(e *event) bool { return ended(e) && e.Call.Request > first }).Call
	if status, text := d.do("GET", fmt.Sprintf("/api/frames/%d/copy?as=slipway", call.Request), ""); status != 400 {
		t.Errorf("a command with a flag of the server: %d %s", status, text)
	}
}

// newOfficeWithApp returns an office whose tool show has a user interface.
func newOfficeWithApp() *office {
	o := newOffice()
	o.catalog = o.catalog.Copy()
	show := o.catalog.Tools[5]
	show.Name = "show"
	show.Meta = apps.ToolMeta(apps.ToolUI{ResourceURI: "ui://office/count"})
	o.catalog.Tools = append(o.catalog.Tools, show)
	o.catalog.Resources = []mcp.Resource{{
		Name:     "count",
		URI:      "ui://office/count",
		MIMEType: apps.MIMEType,
	}}
	return o
}

// A user interface has an origin of its own, without the API, and calls only through Go.
func TestApp(t *testing.T) {
	o := newOfficeWithApp()
	hidden := o.catalog.Tools[5]
	hidden.Name = "hidden"
	hidden.Meta = apps.ToolMeta(apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToModel}})
	o.catalog.Tools = append(o.catalog.Tools, hidden)
	d := newDesk(t, nil, inspect.Served("office", o))
	d.ready("")
	s := d.stream(-1)
	var view struct{ ID, ProxyURL string }
	if err := json.Unmarshal(d.post("/api/app", `{"source":1,"tool":"show","mode":"strict"}`), &view); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(view.ProxyURL, ".localhost:") {
		t.Errorf("proxy: %s", view.ProxyURL)
	}
	request := `{"method":"tools/call","params":{"name":"%s","arguments":{"n":1}}}`
	got := string(d.post("/api/app/"+view.ID, fmt.Sprintf(request, "count")))
	if !strings.Contains(got, `"text":"done"`) {
		t.Errorf("a call of the app: %s", got)
	}
	s.until("the call", func(e *event) bool { return e.Frame != nil && e.Frame.Cause == "app" && e.Frame.Call != 0 })
	if got := string(d.post("/api/app/"+view.ID, fmt.Sprintf(request, "hidden"))); !strings.Contains(got, `"error"`) {
		t.Errorf("a call of a tool that only models may call: %s", got)
	}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", d.url+"/api/state", nil)
	r.Host = strings.TrimSuffix(strings.TrimPrefix(view.ProxyURL, "http://"), "/")
	r.Host, _, _ = strings.Cut(r.Host, "/")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode == 200 || bytes.Contains(text, []byte("office")) {
		t.Errorf("the state at the origin of the app: %d %s", resp.StatusCode, text)
	}
	if status, _ := d.do("POST", "/api/app", `{"source":1,"tool":"count"}`); status != 404 {
		t.Errorf("a tool without user interface: %d", status)
	}
}

// User interfaces work where the page is mounted at a path, behind an authentication.
func TestMountedApp(t *testing.T) {
	sources := []*inspect.Source{inspect.Served("office", newOfficeWithApp())}
	in := inspect.Handler(sources, &inspect.Options{
		Base:  "/inspect/",
		Token: token,
	})
	mux := http.NewServeMux()
	mux.Handle("/inspect/", http.StripPrefix("/inspect", in))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if in.Owns(r) {
			in.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	defer web.Close()
	defer in.Close()
	d := &desk{t, web.URL + "/inspect", in}
	d.ready("")
	var view struct{ ProxyURL, FallbackURL string }
	if err := json.Unmarshal(d.post("/api/app", `{"source":1,"tool":"show","mode":"strict"}`), &view); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{view.ProxyURL, view.FallbackURL} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequestWithContext(t.Context(), "GET", web.URL+u.Path, nil) // without credentials
		r.Host = u.Host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d", address, resp.StatusCode)
		}
	}
	for host, path := range map[string]string{
		"app-x.localhost":   "/inspect/api/state",
		"proxy-x.localhost": "/inspect/",
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", web.URL+path, nil)
		r.Host = host
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Errorf("%s%s: the origin of an app reaches the page", host, path)
		}
	}
}

// A stream begins with the state, then the lists, and only then the frames, so that a page shows its
// lists after one request. Lists that stay the same are not sent again.
func TestStreamBegins(t *testing.T) {
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(0)
	var kinds []string
	s.until("frames", func(e *event) bool {
		switch {
		case e.Snapshot != nil:
			kinds = append(kinds, "snapshot")
			if len(e.Snapshot.Sources) != 1 || e.Snapshot.Sources[0].Phase != "ready" {
				t.Errorf("the snapshot has %+v", e.Snapshot.Sources)
			}
		case e.Lists != nil:
			kinds = append(kinds, "lists")
			if e.Lists.Source != 1 || len(e.Lists.Tools) != len(newOffice().catalog.Tools) {
				t.Errorf("lists: source %d, %d tools", e.Lists.Source, len(e.Lists.Tools))
			}
		}
		return e.Frame != nil
	})
	if got := strings.Join(kinds, " "); got != "snapshot lists" {
		t.Errorf("before the frames: %q, want %q", got, "snapshot lists")
	}
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"flood","arguments":{"n":3}}}`)
	s.until("the end", func(e *event) bool {
		if e.Lists != nil || e.Snapshot != nil {
			t.Error("the lists have not changed, and are sent again")
		}
		return ended(e)
	})
}

// pipeResponse is a response that waits until each byte is read.
type pipeResponse struct {
	*io.PipeWriter
	header http.Header
}

func (w *pipeResponse) Header() http.Header { return w.header }
func (w *pipeResponse) WriteHeader(int)     {}
func (w *pipeResponse) Flush()              {}

// pausedStream opens a stream without a connection that buffers: what is not read waits in the inspector.
func (d *desk) pausedStream() *stream {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), time.Minute)
	r := httptest.NewRequestWithContext(ctx, "GET", d.url+"/api/stream", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.in.ServeHTTP(&pipeResponse{in, http.Header{}}, r)
		_ = in.Close()
	}()
	d.t.Cleanup(func() {
		stop()
		_ = out.Close()
		<-done
	})
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(ctx.Err()) })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	return &stream{d.t, lines, stop}
}

// A page that reads too slowly loses lines, and gets a snapshot in their place: then it knows which calls still
// run, and asks how the others have ended. Lines after the snapshot arrive again.
func TestStreamLosesLines(t *testing.T) {
	race.SkipLong(t)
	d := newDesk(t, nil)
	d.ready("")
	s := d.pausedStream()
	s.until("the first snapshot", func(e *event) bool { return e.Snapshot != nil })
	const n = 5000 // of 15 kB, together more than may wait
	d.post("/api/call", fmt.Sprintf(
		`{"source":1,"method":"tools/call","params":{"name":"essays","arguments":{"n":%d}}}`, n))
	var call struct {
		ID    int
		State string
		Logs  int
	}
	for range 3000 {
		if d.get("/api/call/1", &call); call.State != "running" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if call.ID != 1 || call.State != "done" || call.Logs != n {
		t.Fatalf("the call: %+v", call)
	}
	logs := 0
	e := s.until("the second snapshot", func(e *event) bool {
		if e.Log != nil {
			logs++
		}
		if ended(e) {
			t.Error("the end of the call is not lost")
		}
		return e.Snapshot != nil
	})
	if logs == 0 || logs >= n {
		t.Errorf("%d of %d log lines before the snapshot", logs, n)
	}
	if len(e.Snapshot.Running) != 0 || len(e.Snapshot.Sources) != 1 {
		t.Errorf("the snapshot: %+v", e.Snapshot)
	}
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"secret"}}`)
	s.until("the end of the next call", func(e *event) bool {
		if e.Snapshot != nil {
			t.Error("a third snapshot, and no line was lost")
		}
		return ended(e) && e.Call.ID == 2
	})
	for path, want := range map[string]int{"/api/call/3": 404, "/api/call/x": 400} {
		if status, _ := d.do("GET", path, ""); status != want {
			t.Errorf("GET %s: %d, want %d", path, status, want)
		}
	}
}
